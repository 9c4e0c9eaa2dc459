// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.tcp;

import io.mooncake.transfer.TransferStatus;
import java.io.IOException;

/** A handshake that did not come to an end, and what that means for the requests that waited for it. */
public final class HandshakeException extends IOException {
    private static final long serialVersionUID = 1L;
    private final TransferStatus status;

    public HandshakeException(TransferStatus status, String message) {
        super(message);
        this.status = status;
    }

    public TransferStatus status() {
        return status;
    }
}
