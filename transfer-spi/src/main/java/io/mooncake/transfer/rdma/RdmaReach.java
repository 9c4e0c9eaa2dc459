// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.rdma;

import io.mooncake.transfer.internal.TransferBatch;
import io.mooncake.transfer.internal.TransferBatch.Slice;

/** Where the remote ends of a batch's requests are for the device, and what becomes of those that go wrong. One thread. */
interface RdmaReach {
    /** Takes the next slice that may be moved now. */
    boolean take(TransferBatch batch, Slice slice);

    /** The owner's address of the byte {@code at} bytes behind the first of the slice's handle. */
    long address(Slice slice, long at);

    /** Bytes from there to the end of the owner's registration. */
    long bytesInPiece(Slice slice, long at);

    /** The owner's key for that byte, on a connection that ends at the owner's device {@code rail}. */
    int key(Slice slice, long at, int rail);

    /** The device has refused the slice's request; whether the owner is to be asked before it is believed. */
    boolean accuse(Slice slice);

    /** The slice is where it belongs, as it was expected or not. */
    void arrived(Slice slice, boolean asExpected);
}
