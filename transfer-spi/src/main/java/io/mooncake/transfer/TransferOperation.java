// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer;

import io.mooncake.base.Deadline;
import io.mooncake.base.MooncakeException;

/**
 * One request of an asynchronous batch. Requests of a batch may have different peers, directions and deadlines.
 *
 * @param write whether bytes go to the peer
 * @param peer who issued the handle
 * @param localAddress inside registered memory; target of a read, source of a write
 * @param handle the peer's range
 * @param size bytes, at most the handle's
 * @param deadline by when it has ended, with whatever status
 */
public record TransferOperation(
        boolean write, PeerAddress peer, long localAddress, RemoteHandle handle, long size, Deadline deadline) {
    public TransferOperation {
        if (size < 1 || size > handle.length()) {
            throw MooncakeException.invalid("size", size, "1.." + handle.length());
        }
    }

    /** A read of the start of {@code handle}'s range. */
    public static TransferOperation read(
            PeerAddress peer, long localAddress, RemoteHandle handle, long size, Deadline deadline) {
        return new TransferOperation(false, peer, localAddress, handle, size, deadline);
    }

    /** A write to the start of the writable {@code handle}'s range. */
    public static TransferOperation write(
            PeerAddress peer, long localAddress, RemoteHandle handle, long size, Deadline deadline) {
        return new TransferOperation(true, peer, localAddress, handle, size, deadline);
    }
}
