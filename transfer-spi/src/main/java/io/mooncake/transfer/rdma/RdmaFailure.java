// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.rdma;

import io.mooncake.transfer.TransferStatus;

/** What ends a batch: the status of all its requests that have none. */
final class RdmaFailure extends Exception {
    private static final long serialVersionUID = 1L;
    private final TransferStatus status;

    RdmaFailure(TransferStatus status) {
        super(status.name(), null, false, false);
        this.status = status;
    }

    TransferStatus status() {
        return status;
    }
}
