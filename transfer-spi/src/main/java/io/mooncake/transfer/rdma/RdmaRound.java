// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.rdma;

import io.mooncake.base.MooncakeException;
import io.mooncake.natives.CompletionStatus;
import io.mooncake.transfer.TransferStatus;
import io.mooncake.transfer.internal.TransferBatch;
import io.mooncake.transfer.rdma.RdmaFrameDescriptor.Close;
import io.mooncake.transfer.rdma.RdmaFrameDescriptor.Opened;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * One access from open to close, over connections that are checked out for it.
 *
 * <p>A connection that breaks is destroyed at once, and its slices go over those that are left; so a device that dies costs a batch nothing
 * but the time until that is known. Only when none is left the round ends early. However it ends, the device has left the batch's memory:
 * the connections are idle or destroyed. One thread.
 */
final class RdmaRound {
    private static final int SPINS = 200;
    private static final long PAUSE_NANOS = 20_000;

    private final RdmaLink link;
    private final RdmaControl questions;
    private final TransferBatch batch;
    private final RdmaAccess access;
    private final List<RdmaConnection> connections;
    private final List<RdmaConnection> broken = new ArrayList<>();
    private long movedBytes;
    private int retriedSlices;
    private boolean silent;

    RdmaRound(
            RdmaLink link,
            RdmaControl questions,
            TransferBatch batch,
            RdmaAccess access,
            List<RdmaConnection> connections) {
        this.link = link;
        this.questions = questions;
        this.batch = batch;
        this.access = access;
        this.connections = new ArrayList<>(connections);
    }

    /** Bytes that arrived, over sound connections and over those that broke. */
    long movedBytes() {
        return movedBytes;
    }

    /** Slices that had to be moved again. */
    int retriedSlices() {
        return retriedSlices;
    }

    /** Whether a connection broke because the other device said nothing. */
    boolean silent() {
        return silent;
    }

    /** Runs it and gives the connections back; false when the owner did not know them, or none was left. */
    boolean run() throws RdmaFailure {
        boolean ended = false;
        try {
            if (!open()) {
                connections.forEach(one -> one.discard(batch));
                broken.addAll(connections);
                connections.clear();
                ended = true;
                return false;
            }
            move();
            ended = true;
            return !connections.isEmpty();
        } finally {
            if (!ended) {
                breakAll();
            }
            connections.forEach(one -> {
                movedBytes += one.end();
                link.checkIn(one, true);
            });
            broken.forEach(one -> link.checkIn(one, false));
            if (!broken.isEmpty()) {
                questions.tell(RdmaOwner.HANG_UP, RdmaFrameDescriptor.encodeHangUp(ids(broken)));
            }
        }
    }

    private static long[] ids(List<RdmaConnection> connections) {
        return connections.stream().mapToLong(RdmaConnection::id).toArray();
    }

    /** False when the owner does not know the connections any more. */
    private boolean open() throws RdmaFailure {
        byte[] question = RdmaFrameDescriptor.encodeOpen(access.open(batch, ids(connections)));
        boolean asked = false;
        try {
            Opened opened =
                    decoded(questions.ask(RdmaOwner.OPEN, question, batch.deadlineNanos(), batch.deadlineStatus()));
            asked = true;
            if (opened == null) {
                return false;
            }
            if (!access.granted(batch, opened)) {
                throw new RdmaFailure(TransferStatus.PEER_UNREACHABLE);
            }
            return true;
        } finally {
            if (!asked) {
                // Whether it was opened is not known.
                abandon();
            }
        }
    }

    private static @Nullable Opened decoded(byte[] reply) throws RdmaFailure {
        try {
            return RdmaFrameDescriptor.decodeOpened(reply);
        } catch (MooncakeException e) {
            throw new RdmaFailure(TransferStatus.PEER_UNREACHABLE);
        }
    }

    private void abandon() {
        List<RdmaConnection> both = new ArrayList<>(connections);
        both.addAll(broken);
        questions.tell(
                RdmaOwner.CLOSE,
                RdmaFrameDescriptor.encodeClose(new Close(access.number(), ids(both), new boolean[0])));
    }

    /** Moves what was granted and has it confirmed. */
    private void move() throws RdmaFailure {
        try {
            drive();
        } catch (RdmaFailure e) {
            // Before the owner hears of it: nothing of ours is on its way any more.
            breakAll();
            access.unconfirmed(batch, access.moved(batch), e.status());
            abandon();
            throw e;
        }
        boolean[] moved = access.moved(batch);
        try {
            byte[] reply = questions.ask(
                    RdmaOwner.CLOSE,
                    RdmaFrameDescriptor.encodeClose(new Close(access.number(), ids(broken), moved)),
                    batch.deadlineNanos(),
                    batch.deadlineStatus());
            access.confirmed(batch, moved, RdmaFrameDescriptor.decodeClosed(reply));
        } catch (RdmaFailure e) {
            access.unconfirmed(batch, moved, e.status());
            throw e;
        } catch (MooncakeException e) {
            access.unconfirmed(batch, moved, TransferStatus.PEER_UNREACHABLE);
            throw new RdmaFailure(TransferStatus.PEER_UNREACHABLE);
        }
    }

    private void breakAll() {
        connections.forEach(one -> {
            movedBytes += one.end();
            retriedSlices += one.discard(batch);
        });
        broken.addAll(connections);
        connections.clear();
    }

    /** Posts and polls until all is done or no connection is left. */
    private void drive() throws RdmaFailure {
        double fastest = 0;
        for (RdmaConnection one : connections) {
            fastest = Math.max(fastest, one.path().speed());
        }
        for (RdmaConnection one : connections) {
            one.begin(fastest);
        }
        int idleTurns = 0;
        while (!connections.isEmpty()) {
            boolean happened = false;
            boolean idle = true;
            for (int i = connections.size() - 1; i >= 0; i--) {
                RdmaConnection one = connections.get(i);
                happened |= one.turn(batch, access);
                if (one.wasCut()) {
                    throw new RdmaFailure(TransferStatus.PEER_UNREACHABLE);
                }
                if (one.failure() != null) {
                    dropBroken(i);
                } else {
                    idle &= one.idle();
                }
            }
            if (idle && !happened) {
                return;
            }
            if (Thread.currentThread().isInterrupted()) {
                throw new RdmaFailure(TransferStatus.CANCELED);
            }
            if (System.nanoTime() - batch.deadlineNanos() >= 0) {
                throw new RdmaFailure(batch.deadlineStatus());
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
    private void dropBroken(int index) {
        RdmaConnection one = connections.remove(index);
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
