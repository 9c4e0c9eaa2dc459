// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.rdma;

import io.mooncake.base.MooncakeException;
import io.mooncake.transfer.RemoteHandle;
import io.mooncake.transfer.TransferStatus;
import io.mooncake.transfer.internal.TransferBatch;
import io.mooncake.transfer.internal.TransferBatch.Slice;
import io.mooncake.transfer.rdma.RdmaFrameDescriptor.Grant;
import io.mooncake.transfer.rdma.RdmaFrameDescriptor.Open;
import io.mooncake.transfer.rdma.RdmaFrameDescriptor.Opened;
import java.util.Arrays;
import java.util.BitSet;
import java.util.List;

/** The requests of a batch that one access covers: some that have no status yet, in order. One thread. */
final class RdmaAccess implements RdmaReach {
    /** A grant's status when all checks hold, but the owner's device does not have the region. */
    static final TransferStatus NOT_THIS_WAY = TransferStatus.PEER_UNREACHABLE;

    private final long number;
    private final int[] requests;
    private Grant[] grants = new Grant[0];
    private int[] rails = new int[0];

    private final BitSet accused;

    private RdmaAccess(long number, int[] requests, BitSet accused) {
        this.number = number;
        this.requests = requests;
        this.accused = accused;
    }

    /** Over the first requests without a status; {@code accused} is the batch's own, for all its accesses. */
    static RdmaAccess ofOpen(long number, TransferBatch batch, BitSet accused) {
        int[] open = new int[Math.min(batch.requests(), RdmaFrameDescriptor.MAX_REQUESTS)];
        int count = 0;
        for (int i = 0; i < batch.requests() && count < open.length; i++) {
            if (batch.status(i) == null) {
                open[count++] = i;
            }
        }
        return new RdmaAccess(number, Arrays.copyOf(open, count), accused);
    }

    /** Only the first time: a key may have ended because of another range that it was for. */
    @Override
    public boolean accuse(Slice slice) {
        boolean first = !accused.get(slice.request());
        accused.set(slice.request());
        return first;
    }

    @Override
    public void arrived(Slice slice, boolean asExpected) {
        // The owner confirms and counts it.
    }

    long number() {
        return number;
    }

    Open open(TransferBatch batch, long[] connections) {
        RemoteHandle[] handles = new RemoteHandle[requests.length];
        long[] sizes = new long[requests.length];
        for (int i = 0; i < requests.length; i++) {
            handles[i] = batch.handle(requests[i]);
            sizes[i] = batch.size(requests[i]);
        }
        return new Open(number, batch.write(), connections, handles, sizes);
    }

    /** Takes the owner's answer; what it refused has its status now. False when the answer does not fit the question. */
    boolean granted(TransferBatch batch, Opened answer) {
        if (answer.grants().size() != requests.length) {
            return false;
        }
        rails = answer.rails();
        grants = answer.grants().toArray(Grant[]::new);
        for (int i = 0; i < requests.length; i++) {
            if (grants[i].status() != TransferStatus.COMPLETED) {
                batch.revoke(requests[i], grants[i].status());
            } else if (!coversAll(grants[i], batch.size(requests[i]))) {
                return false;
            }
        }
        return true;
    }

    private boolean coversAll(Grant grant, long size) {
        return size - grant.firstPieceBytes() <= (grant.keys().length / rails.length - 1) * grant.pieceBytes();
    }

    private Grant grant(Slice slice) {
        return grants[Arrays.binarySearch(requests, slice.request())];
    }

    @Override
    public long address(Slice slice, long at) {
        return grant(slice).address() + at;
    }

    @Override
    public long bytesInPiece(Slice slice, long at) {
        Grant grant = grant(slice);
        long beyondFirst = at - grant.firstPieceBytes();
        return beyondFirst < 0 ? -beyondFirst : grant.pieceBytes() - beyondFirst % grant.pieceBytes();
    }

    /** Adds the requests that the owner would grant, but not over its devices. */
    void notThisWay(List<Integer> to) {
        for (int i = 0; i < grants.length; i++) {
            if (grants[i].status() == NOT_THIS_WAY) {
                to.add(requests[i]);
            }
        }
    }

    @Override
    public int key(Slice slice, long at, int rail) {
        Grant grant = grant(slice);
        long beyondFirst = at - grant.firstPieceBytes();
        int piece = beyondFirst < 0 ? 0 : 1 + (int) (beyondFirst / grant.pieceBytes());
        for (int i = 0; i < rails.length; i++) {
            if (rails[i] == rail) {
                return grant.keys()[grant.keys().length / rails.length * i + piece];
            }
        }
        throw new MooncakeException(
                MooncakeException.Code.CORRUPT, "rail: " + rail + " (expected: one of " + Arrays.toString(rails) + ")");
    }

    @Override
    public boolean take(TransferBatch batch, Slice slice) {
        return batch.nextBelow(requests[requests.length - 1] + 1, slice);
    }

    /** Which requests have all their bytes here, as far as this side knows. */
    boolean[] moved(TransferBatch batch) {
        boolean[] moved = new boolean[requests.length];
        for (int i = 0; i < moved.length; i++) {
            moved[i] = batch.status(requests[i]) == TransferStatus.COMPLETED;
        }
        return moved;
    }

    /** Takes the owner's confirmation: what it does not confirm is not completed. */
    void confirmed(TransferBatch batch, boolean[] moved, TransferStatus[] confirmation) {
        for (int i = 0; i < moved.length; i++) {
            if (moved[i]) {
                // No answer for it: the owner had ended the access before the copy was confirmed.
                TransferStatus status = i < confirmation.length ? confirmation[i] : TransferStatus.LEASE_EXPIRED;
                if (status != TransferStatus.COMPLETED) {
                    batch.revoke(requests[i], status);
                }
            }
        }
    }

    /** The owner's confirmation is not to be had. */
    void unconfirmed(TransferBatch batch, boolean[] moved, TransferStatus status) {
        for (int i = 0; i < moved.length; i++) {
            if (moved[i]) {
                batch.revoke(requests[i], status);
            }
        }
    }
}
