// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.rdma;

import io.mooncake.transfer.TransferStatus;

/** What ends a batch here: the status of all its requests that have none, or that they may go another way. */
final class RdmaFailure extends Exception {
    private static final long serialVersionUID = 1L;
    private final TransferStatus status;
    private final boolean noWay;

    RdmaFailure(TransferStatus status) {
        this(status, status.name(), false);
    }

    /** A path does not carry anything; another may. */
    static RdmaFailure path(String reason) {
        return new RdmaFailure(TransferStatus.PEER_UNREACHABLE, reason, false);
    }

    private RdmaFailure(TransferStatus status, String reason, boolean noWay) {
        super(reason, null, false, false);
        this.status = status;
        this.noWay = noWay;
    }

    /** There is no connection to be had, so nothing was moved. */
    static RdmaFailure noWay(String reason) {
        return new RdmaFailure(TransferStatus.PEER_UNREACHABLE, reason, true);
    }

    /** Whether the peer can't be reached over RDMA at all, for a reason that is RDMA's own. */
    boolean isNoWay() {
        return noWay;
    }

    TransferStatus status() {
        return status;
    }
}
