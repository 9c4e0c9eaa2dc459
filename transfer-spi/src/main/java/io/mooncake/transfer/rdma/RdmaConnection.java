// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.rdma;

import io.mooncake.base.MooncakeException;
import io.mooncake.natives.CompletionStatus;
import io.mooncake.natives.VerbsQueuePair;
import io.mooncake.transfer.TransferStatus;
import io.mooncake.transfer.internal.Counters;
import io.mooncake.transfer.internal.MovingView;
import io.mooncake.transfer.internal.TransferBatch;
import io.mooncake.transfer.internal.TransferBatch.Slice;
import io.mooncake.transfer.topology.RailNumber;
import java.util.zip.CRC32C;
import org.jspecify.annotations.Nullable;

/**
 * The asking end of a queue pair, used by one batch at a time.
 *
 * <p>A slice takes a slot from its first posted piece to its last completion. A piece is what one request of the device moves: at most
 * {@link #PIECE_BYTES}, within one registration on both sides. The id of a request holds its slot and its length. Steady state allocates
 * nothing but what the batch does.
 */
final class RdmaConnection {
    /** Slices under way; with the peer's limit of outstanding reads more would only wait in the device. */
    private static final int SLOTS = 8;

    private static final int PIECE_BYTES = 1 << 20;
    private static final int SLOT_BITS = 8;

    private final VerbsQueuePair pair;
    private final long id;
    private final RdmaPath path;
    private final int peerRail;
    private final RdmaRegions registrations;
    private final Counters counters;
    private final CRC32C crc = new CRC32C();
    private final MovingView view = new MovingView();
    private final Slot[] slots = new Slot[SLOTS];
    private final long[] descriptors = new long[VerbsQueuePair.MAX_BATCH * VerbsQueuePair.POST_LONGS];
    private final long[] completions = new long[VerbsQueuePair.MAX_BATCH * VerbsQueuePair.COMPLETION_LONGS];
    private int described;
    private int outstanding;
    private int window = SLOTS;
    private long roundBytes;
    private long firstPostNanos;
    private long lastArrivalNanos;
    private @Nullable CompletionStatus failure;
    /** Written by any thread, read by the batch's. */
    private volatile boolean cut;

    private static final class Slot {
        final Slice slice = new Slice();
        boolean used;
        int posted;
        int arrived;
    }

    RdmaConnection(
            VerbsQueuePair pair, long id, RdmaPath path, int peerRail, RdmaRegions registrations, Counters counters) {
        this.pair = pair;
        this.id = id;
        this.path = path;
        this.peerRail = peerRail;
        this.registrations = registrations;
        this.counters = counters;
        for (int i = 0; i < SLOTS; i++) {
            slots[i] = new Slot();
        }
    }

    /** The owner's name for it. */
    long id() {
        return id;
    }

    /** Number of its queue pair. */
    int number() {
        return pair.number();
    }

    RdmaPath path() {
        return path;
    }

    /** A batch takes it, which has paths of which the fastest moves {@code fastest} bytes a nanosecond and connection; 0: not known. */
    void begin(double fastest) {
        double own = path.speed();
        window = own == 0 || fastest == 0
                ? SLOTS
                : (int) Math.max(1, Math.min(SLOTS, Math.round(SLOTS * own / fastest)));
        roundBytes = 0;
        firstPostNanos = 0;
        lastArrivalNanos = 0;
    }

    /** The batch is done with it; how many bytes it has moved. */
    long end() {
        long bytes = roundBytes;
        path.measured(bytes, lastArrivalNanos - firstPostNanos);
        roundBytes = 0;
        return bytes;
    }

    /** What broke it, or null. */
    @Nullable
    CompletionStatus failure() {
        return failure;
    }

    /** Whether its batch is to end. */
    boolean wasCut() {
        return cut;
    }

    /** Whether nothing is under way. */
    boolean idle() {
        for (Slot slot : slots) {
            if (slot.used) {
                return false;
            }
        }
        return true;
    }

    /** Takes slices while there are slots, posts what the queue takes, and handles what has completed. Whether anything happened. */
    boolean turn(TransferBatch batch, RdmaReach reach) {
        boolean moved = false;
        try {
            for (int i = 0; i < SLOTS; i++) {
                Slot slot = slots[i];
                if (!slot.used && i < window && batch.awaitBuffer(false) && reach.take(batch, slot.slice)) {
                    slot.slice.goesBy(RailNumber.ofRdma(path.port().index()));
                    slot.used = true;
                    slot.posted = 0;
                    slot.arrived = 0;
                }
                if (slot.used && slot.posted < slot.slice.length()) {
                    moved |= post(batch, reach, i);
                }
            }
            moved |= flush();
            return complete(batch, reach) || moved;
        } catch (MooncakeException e) {
            // The device refused, or the pair was closed under us: as broken as by a completion.
            failure = CompletionStatus.GENERAL;
            return true;
        }
    }

    private boolean post(TransferBatch batch, RdmaReach reach, int index) {
        Slot slot = slots[index];
        Slice slice = slot.slice;
        boolean moved = false;
        while (slot.posted < slice.length() && outstanding + described < RdmaPort.DEPTH) {
            long local = slice.localAddress() + slot.posted;
            long inHandle = slice.offset() + slot.posted;
            long leftRemote = reach.bytesInPiece(slice, inHandle);
            RdmaRegions.Registered region = registrations.require(local);
            long leftLocal = registrations.bytesInPiece(region, local);
            int length = (int)
                    Math.min(Math.min(PIECE_BYTES, slice.length() - slot.posted), Math.min(leftLocal, leftRemote));
            if (described == VerbsQueuePair.MAX_BATCH && !flush()) {
                return moved;
            }
            VerbsQueuePair.describe(
                    descriptors,
                    described++,
                    (long) length << SLOT_BITS | index,
                    batch.write(),
                    local,
                    length,
                    registrations.localKey(path.port().index(), region, local),
                    reach.address(slice, inHandle),
                    reach.key(slice, inHandle, peerRail));
            slot.posted += length;
            moved = true;
        }
        return moved;
    }

    /** Posts what is described; false when the queue takes nothing now. */
    private boolean flush() {
        if (described == 0) {
            return false;
        }
        if (firstPostNanos == 0) {
            firstPostNanos = System.nanoTime();
        }
        int posted = pair.post(descriptors, described);
        outstanding += posted;
        if (posted < described) {
            System.arraycopy(
                    descriptors,
                    posted * VerbsQueuePair.POST_LONGS,
                    descriptors,
                    0,
                    (described - posted) * VerbsQueuePair.POST_LONGS);
        }
        described -= posted;
        return posted > 0;
    }

    private boolean complete(TransferBatch batch, RdmaReach reach) {
        int taken = pair.poll(completions);
        if (taken > 0) {
            lastArrivalNanos = System.nanoTime();
        }
        for (int i = 0; i < taken; i++) {
            long request = completions[i * VerbsQueuePair.COMPLETION_LONGS];
            CompletionStatus status = CompletionStatus.of(completions[i * VerbsQueuePair.COMPLETION_LONGS + 1]);
            Slot slot = slots[(int) (request & ((1 << SLOT_BITS) - 1))];
            outstanding--;
            if (failure != null) {
                continue;
            }
            if (status != CompletionStatus.SUCCESS) {
                fail(batch, reach, slot, status);
                continue;
            }
            int length = (int) (request >>> SLOT_BITS);
            (batch.write() ? counters.writtenRdma : counters.readRdma).add(length);
            slot.arrived += length;
            roundBytes += length;
            path.port().moved(length);
            if (slot.arrived == slot.slice.length()) {
                slot.used = false;
                reach.arrived(slot.slice, batch.arrived(slot.slice, crc, view));
            }
        }
        return taken > 0;
    }

    /**
     * The first failure is its request's own; what is flushed after it is innocent. A key may have ended because of another range that it
     * was for, so what the device refuses is not believed at once.
     */
    private void fail(TransferBatch batch, RdmaReach reach, Slot slot, CompletionStatus status) {
        failure = status;
        TransferStatus outcome = outcome(status);
        if (outcome == TransferStatus.REFUSED && reach.accuse(slot.slice)) {
            slot.used = false;
            batch.setAside(slot.slice);
        } else if (outcome != null) {
            slot.used = false;
            batch.failed(slot.slice, outcome);
        }
    }

    /** What a completion says about its request; null: nothing, it may be tried again. */
    static @Nullable TransferStatus outcome(CompletionStatus status) {
        return switch (status) {
            case SUCCESS,
                    FLUSHED,
                    RETRIES_EXCEEDED,
                    RECEIVER_NOT_READY,
                    RESPONSE_TIMEOUT,
                    REMOTE_ABORTED,
                    LOCAL_QUEUE_PAIR_OPERATION,
                    LOCAL_PROTECTION,
                    FATAL,
                    GENERAL -> null;
            case REMOTE_ACCESS, REMOTE_INVALID_REQUEST, REMOTE_OPERATION -> TransferStatus.REFUSED;
            case LOCAL_LENGTH,
                    LOCAL_CONTEXT_OPERATION,
                    MEMORY_WINDOW_BIND,
                    BAD_RESPONSE,
                    LOCAL_ACCESS,
                    LOCAL_DOMAIN_VIOLATION,
                    REMOTE_INVALID_DATAGRAM,
                    INVALID_CONTEXT_NUMBER,
                    INVALID_CONTEXT_STATE -> TransferStatus.PEER_UNREACHABLE;
        };
    }

    /**
     * Destroys the queue pair, after which the device has left all memory of the batch, and gives the slices under way back.
     *
     * @return how many were given back
     */
    int discard(TransferBatch batch) {
        pair.close();
        int back = 0;
        for (Slot slot : slots) {
            if (slot.used) {
                slot.used = false;
                batch.giveBack(slot.slice);
                back++;
            }
        }
        return back;
    }

    /** Destroys the queue pair from any thread; the batch that uses it goes on over others. */
    void breakOff() {
        pair.close();
    }

    /** As {@link #breakOff}, and the batch that uses it ends. */
    void cut() {
        cut = true;
        pair.close();
    }
}
