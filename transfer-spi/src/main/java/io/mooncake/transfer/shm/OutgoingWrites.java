// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.shm;

import io.mooncake.transfer.RemoteHandle;
import io.mooncake.transfer.internal.Capabilities;
import io.mooncake.transfer.internal.RawMemory;
import io.mooncake.transfer.internal.TransferBatch;
import io.mooncake.transfer.internal.TransferBatch.Slice;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;

/**
 * Asks a peer to copy ranges of this engine's shared memory into its own, see {@link MailboxDescriptor}.
 *
 * <p>Each of the mailbox's requests belongs to the thread that took its bit of {@code free}, until the peer has answered, or serves no more,
 * or is dead. Who gives up earlier leaves the bit in {@code abandoned}, and no write to the peer starts, on any path, before that request
 * is answered: so what a stopped peer still copies when it goes on can't overwrite what was written after it.
 *
 * <p>Data plane: allocates nothing, logs nothing.
 */
final class OutgoingWrites {
    /** How a request ended. */
    enum Outcome {
        /** The statuses are there. */
        ANSWERED,
        /** Not by this way: the peer serves no more, or all of this has ended. */
        NOT_SERVED,
        /** Deadline, interrupt or a batch that has ended meanwhile. */
        OVER
    }

    private static final int SPINS = 200;
    private static final long SLEEP_NANOS = 20_000_000;
    private static final long GRACE_NANOS = 20_000_000;
    private static final long PAUSE_NANOS = 20_000;

    private final SharedPage own;
    private final MappedPage theirs;
    private final long ownOffset;
    private final long theirOffset;
    private final long asks;
    private final long answers;
    private final AtomicInteger free = new AtomicInteger((1 << MailboxDescriptor.REQUESTS) - 1);
    private final AtomicInteger abandoned = new AtomicInteger();
    /** The latest of each request; whoever has its bit writes it. */
    private final long[] sequences = new long[MailboxDescriptor.REQUESTS];

    private final Uses uses;

    /**
     * @param own this engine's page, of which this takes over one use, and in it the mailbox that becomes free at the end
     * @param theirs the peer's page, of which this takes over one use, and in it the mailbox for this engine
     */
    OutgoingWrites(SharedPage own, int ownMailbox, MappedPage theirs, int theirMailbox) {
        this.own = own;
        this.theirs = theirs;
        this.ownOffset = SharedPageDescriptor.mailbox(ownMailbox);
        this.theirOffset = SharedPageDescriptor.mailbox(theirMailbox);
        this.asks = own.file().address() + ownOffset;
        this.answers = theirs.file().address() + theirOffset;
        for (int i = 0; i < sequences.length; i++) {
            sequences[i] = ThreadLocalRandom.current().nextLong(1L << 40, 1L << 60);
        }
        RawMemory.putLongVolatile(asks + MailboxDescriptor.BOUND, theirMailbox);
        this.uses = new Uses(() -> {
            own.free(ownMailbox);
            own.uses().release();
            theirs.uses().release();
        });
    }

    /** Who has a use keeps the mailbox and both pages. */
    Uses uses() {
        return uses;
    }

    /** No new requests; those under way end soon. */
    void end() {
        uses.end();
    }

    /** Whether the peer copies for this engine now. */
    boolean served() {
        if (!uses.acquire()) {
            return false;
        }
        try {
            return serves();
        } finally {
            uses.release();
        }
    }

    /** The mailbox may have become another peer's: whom it names is looked at as well. */
    private boolean serves() {
        long self = own.file().address() + SharedPageDescriptor.INCARNATION;
        return RawMemory.getLongVolatile(answers + MailboxDescriptor.SERVED) == 1
                && RawMemory.getLongVolatile(answers + MailboxDescriptor.PEER) == RawMemory.getLongVolatile(self)
                && RawMemory.getLongVolatile(answers + MailboxDescriptor.PEER + 8)
                        == RawMemory.getLongVolatile(self + 8);
    }

    /** Waits until nothing that was given up is under way at the peer; false when the batch is over before. */
    boolean awaitQuiet(TransferBatch batch) {
        while (abandoned.get() != 0) {
            if (!uses.acquire()) {
                return true;
            }
            try {
                settle();
            } finally {
                uses.release();
            }
            if (abandoned.get() != 0) {
                if (over(batch)) {
                    return false;
                }
                LockSupport.parkNanos(PAUSE_NANOS);
            }
        }
        return true;
    }

    /** Frees what was given up and is quiet. One thread at a time: so what looks quiet is no later request. */
    private synchronized void settle() {
        for (int i = 0; i < MailboxDescriptor.REQUESTS; i++) {
            int bit = 1 << i;
            boolean givenUp = (abandoned.get() & bit) != 0;
            if (givenUp && (answered(i) || !serves() || !theirs.file().ownerAlive())) {
                abandoned.getAndUpdate(mask -> mask & ~bit);
                give(bit);
            }
        }
    }

    /** Whether nobody waits for the batch any more. */
    static boolean over(TransferBatch batch) {
        return System.nanoTime() - batch.deadlineNanos() >= 0
                || Thread.currentThread().isInterrupted()
                || batch.done();
    }

    /** Has the peer write {@code out} and waits for its answer. */
    Outcome send(Outgoing out, TransferBatch batch) {
        if (!uses.acquire()) {
            return Outcome.NOT_SERVED;
        }
        try {
            int request = take(batch);
            if (request < 0) {
                return serves() && !uses.ended() ? Outcome.OVER : Outcome.NOT_SERVED;
            }
            put(request, out);
            ring();
            return await(request, out, batch);
        } finally {
            uses.release();
        }
    }

    /** A request for this thread, or -1 when there was none in time. */
    private int take(TransferBatch batch) {
        while (serves() && !uses.ended()) {
            int now = free.get();
            int bit = Integer.lowestOneBit(now);
            if (bit == 0) {
                if (over(batch)) {
                    return -1;
                }
                LockSupport.parkNanos(PAUSE_NANOS);
            } else if (free.compareAndSet(now, now & ~bit)) {
                return Integer.numberOfTrailingZeros(bit);
            }
        }
        return -1;
    }

    private void give(int bit) {
        while (true) {
            int now = free.get();
            if (free.compareAndSet(now, now | bit)) {
                return;
            }
        }
    }

    private void put(int request, Outgoing out) {
        long at = asks + MailboxDescriptor.request(request);
        for (int i = 0; i < out.count; i++) {
            long entry = at + MailboxDescriptor.entry(i);
            Slice slice = out.slice(i);
            RemoteHandle handle = slice.handle();
            RawMemory.putLong(
                    entry + MailboxDescriptor.ENTRY_REGIONS,
                    (handle.region() & 0xffff_ffffL) | (long) out.regions[i] << Integer.SIZE);
            RawMemory.putLong(entry + MailboxDescriptor.ENTRY_GENERATION, handle.generation());
            RawMemory.putLong(entry + MailboxDescriptor.ENTRY_HANDLE_OFFSET, handle.offset());
            RawMemory.putLong(entry + MailboxDescriptor.ENTRY_HANDLE_BYTES, handle.length());
            RawMemory.putLong(entry + MailboxDescriptor.ENTRY_EXPIRY, handle.expiresAtNanos());
            RawMemory.putLong(entry + MailboxDescriptor.ENTRY_OFFSET, slice.offset());
            RawMemory.putLong(entry + MailboxDescriptor.ENTRY_BYTES, slice.length());
            RawMemory.putLong(entry + MailboxDescriptor.ENTRY_SOURCE_OFFSET, out.offsets[i]);
            RawMemory.putLong(entry + MailboxDescriptor.ENTRY_RIGHTS, handle.writable() ? 1 : 0);
            byte[] capability = handle.capability();
            if (capability.length == Capabilities.BYTES) {
                RawMemory.put(entry + MailboxDescriptor.ENTRY_CAPABILITY, capability);
            } else {
                // None of ours: the peer refuses zeros.
                for (int word = 0; word < Capabilities.BYTES; word += Long.BYTES) {
                    RawMemory.putLong(entry + MailboxDescriptor.ENTRY_CAPABILITY + word, 0);
                }
            }
        }
        RawMemory.putLong(at + MailboxDescriptor.REQUEST_ENTRIES, out.count);
        RawMemory.putLongVolatile(at + MailboxDescriptor.REQUEST_SEQUENCE, ++sequences[request]);
    }

    private void ring() {
        RawMemory.increment(asks + MailboxDescriptor.DOORBELL);
        own.file().wake(ownOffset + MailboxDescriptor.DOORBELL);
    }

    private boolean answered(int request) {
        return RawMemory.getLongVolatile(answers + MailboxDescriptor.answer(request)) == sequences[request];
    }

    private Outcome await(int request, Outgoing out, TransferBatch batch) {
        int alarm = MailboxDescriptor.answer(request) + MailboxDescriptor.ANSWER_ALARM;
        for (int turn = 0; ; turn++) {
            int seen = RawMemory.getIntVolatile(answers + alarm);
            boolean serves = serves();
            if (answered(request)) {
                RawMemory.get(
                        answers + MailboxDescriptor.answer(request) + MailboxDescriptor.ANSWER_STATUSES, out.statuses);
                give(1 << request);
                return Outcome.ANSWERED;
            }
            // It answers before it says that it serves no more: so it reads nothing any more, and has not finished.
            // What it has not begun is withdrawn all the same, for it may serve anew in a moment.
            if (serves && turn < SPINS) {
                Thread.onSpinWait();
                continue;
            }
            if (!serves || uses.ended() || over(batch)) {
                // While the peer may still read the source the range goes no other way, which might overtake it.
                boolean quiet = withdraw(request);
                return quiet && !over(batch) ? Outcome.NOT_SERVED : Outcome.OVER;
            }
            long left = batch.deadlineNanos() - System.nanoTime();
            theirs.file().awaitChange(theirOffset + alarm, seen, Math.min(SLEEP_NANOS, left));
            if (RawMemory.getIntVolatile(answers + alarm) == seen
                    && !theirs.file().ownerAlive()) {
                give(1 << request);
                return Outcome.NOT_SERVED;
            }
        }
    }

    /** Gives a request up: waits a moment until the peer says that it is off the source; whether it has. */
    private boolean withdraw(int request) {
        RawMemory.putLongVolatile(
                asks + MailboxDescriptor.request(request) + MailboxDescriptor.REQUEST_SEQUENCE, -sequences[request]);
        ring();
        long until = System.nanoTime() + GRACE_NANOS;
        int alarm = MailboxDescriptor.answer(request) + MailboxDescriptor.ANSWER_ALARM;
        while (true) {
            int seen = RawMemory.getIntVolatile(answers + alarm);
            boolean serves = serves();
            long left = until - System.nanoTime();
            if (answered(request) || !serves || (left <= 0 && !theirs.file().ownerAlive())) {
                give(1 << request);
                return true;
            }
            if (left <= 0) {
                break;
            }
            theirs.file().awaitChange(theirOffset + alarm, seen, left);
        }
        while (true) {
            int now = abandoned.get();
            if (abandoned.compareAndSet(now, now | 1 << request)) {
                return false;
            }
        }
    }
}
