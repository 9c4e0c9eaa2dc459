// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.rdma;

import io.mooncake.natives.CompletionStatus;
import io.mooncake.transfer.TransferStatus;
import io.mooncake.transfer.internal.TransferBatch;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.locks.LockSupport;

/**
 * The connections that work on one batch together.
 *
 * <p>One that breaks is destroyed at once, and its slices go over those that are left; so a device that dies costs a batch nothing but the
 * time until that is known. When {@link #dismiss} has been called the device has left the batch's memory: the connections are idle or
 * destroyed. Reused for one batch after the other, by one thread; allocates only when something breaks.
 */
final class RdmaTeam {
    private static final int SPINS = 200;
    private static final long PAUSE_NANOS = 20_000;

    private final List<RdmaConnection> sound = new ArrayList<>();
    private final List<RdmaConnection> broken = new ArrayList<>();
    private long movedBytes;
    private int retriedSlices;
    private boolean silent;

    /** Takes connections; see {@link RdmaLink#checkOut}. Who calls it owes a {@link #dismiss}. */
    void gather(RdmaLink link, int wanted, boolean demanded, TransferBatch batch) throws RdmaFailure {
        sound.clear();
        broken.clear();
        movedBytes = 0;
        retriedSlices = 0;
        silent = false;
        link.checkOut(wanted, batch.rdmaRails(), demanded, batch.deadlineNanos(), batch.deadlineStatus(), sound);
    }

    /** Gives the connections back; the owner hears of those that are destroyed. */
    void dismiss(RdmaLink link) {
        for (int i = 0; i < sound.size(); i++) {
            movedBytes += sound.get(i).end();
            link.checkIn(sound.get(i), true);
        }
        for (int i = 0; i < broken.size(); i++) {
            link.checkIn(broken.get(i), false);
        }
        if (!broken.isEmpty()) {
            link.control().tell(RdmaOwner.HANG_UP, RdmaFrameDescriptor.encodeHangUp(brokenIds()));
        }
        sound.clear();
        broken.clear();
    }

    /** Bytes that arrived, over sound connections and over those that broke; complete after {@link #dismiss}. */
    long movedBytes() {
        return movedBytes;
    }

    /** Slices that have to be moved again. */
    int retriedSlices() {
        return retriedSlices;
    }

    /** Whether a connection broke because the other device said nothing. */
    boolean silent() {
        return silent;
    }

    /** Whether a connection is left. */
    boolean isSound() {
        return !sound.isEmpty();
    }

    long[] soundIds() {
        return ids(sound);
    }

    long[] brokenIds() {
        return ids(broken);
    }

    private static long[] ids(List<RdmaConnection> connections) {
        return connections.stream().mapToLong(RdmaConnection::id).toArray();
    }

    /** Destroys every connection; nothing of the batch is on its way any more. */
    void breakAll(TransferBatch batch) {
        for (RdmaConnection one : sound) {
            movedBytes += one.end();
            retriedSlices += one.discard(batch);
        }
        broken.addAll(sound);
        sound.clear();
    }

    /**
     * Posts and polls until there is nothing left to take or no connection is left.
     *
     * @throws RdmaFailure at the deadline, when interrupted, when the connections are cut; slices may be under way then
     */
    void drive(RdmaLink link, TransferBatch batch, RdmaReach reach) throws RdmaFailure {
        double fastest = 0;
        for (int i = 0; i < sound.size(); i++) {
            fastest = Math.max(fastest, sound.get(i).path().speed());
        }
        for (int i = 0; i < sound.size(); i++) {
            sound.get(i).begin(fastest);
        }
        int idleTurns = 0;
        while (!sound.isEmpty()) {
            if (Thread.currentThread().isInterrupted()) {
                throw new RdmaFailure(TransferStatus.CANCELED);
            }
            if (System.nanoTime() - batch.deadlineNanos() >= 0) {
                throw new RdmaFailure(batch.deadlineStatus());
            }
            boolean happened = false;
            boolean idle = true;
            for (int i = sound.size() - 1; i >= 0; i--) {
                RdmaConnection one = sound.get(i);
                happened |= one.turn(batch, reach);
                if (one.wasCut()) {
                    throw new RdmaFailure(TransferStatus.PEER_UNREACHABLE);
                }
                if (one.failure() != null) {
                    dropBroken(link, i, batch);
                } else {
                    idle &= one.idle();
                }
            }
            if (idle && (!happened || batch.done())) {
                return;
            }
            if (happened) {
                idleTurns = 0;
            } else if (++idleTurns < SPINS) {
                Thread.onSpinWait();
            } else {
                LockSupport.parkNanos(PAUSE_NANOS);
            }
        }
    }

    /** The slices of a broken connection go over those that are left. */
    private void dropBroken(RdmaLink link, int index, TransferBatch batch) {
        RdmaConnection one = sound.remove(index);
        CompletionStatus failure = one.failure();
        movedBytes += one.end();
        retriedSlices += one.discard(batch);
        broken.add(one);
        silent |= failure == CompletionStatus.RETRIES_EXCEEDED || failure == CompletionStatus.RESPONSE_TIMEOUT;
        if (failure != CompletionStatus.REMOTE_ACCESS && failure != CompletionStatus.LOCAL_PROTECTION) {
            link.failed(one.path());
        }
    }
}
