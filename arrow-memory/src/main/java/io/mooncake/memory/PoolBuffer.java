// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory;

import io.mooncake.base.Deadline;
import io.mooncake.base.MooncakeException;
import io.mooncake.base.MooncakeException.Code;
import io.mooncake.memory.block.BlockArena;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import org.apache.arrow.memory.ArrowBuf;
import org.jspecify.annotations.Nullable;

/**
 * A buffer of a {@link MemoryPool}: first its owner fills it, then it is sealed and anybody may lease it for reading, while the pool may move
 * it to another tier.
 *
 * <p>Locks: the owner of a buffer that is being filled holds its write lock; {@link #seal} gives it up, {@link #reopen} takes it again. A
 * lease is a read lock. Neither blocks a thread unless it brings a deadline.
 *
 * <p>Ownership: whoever allocated owes one {@link #close} or {@link MemoryPool#deallocate}; both are refused while leases are open.
 * Threading: safe for all threads.
 */
public final class PoolBuffer implements AutoCloseable {
    static final String KIND = "buffer";

    private static final long FIRST_PAUSE_NANOS = 20_000;
    private static final long LONGEST_PAUSE_NANOS = 1_000_000;
    /** Looks at a block that is leaving or may stay: far more than it takes to free one. */
    private static final int MAX_LOOKS = 1000;
    /** For calls without a deadline: a move within the tier takes milliseconds, one to a slow device may be waited for in vain. */
    private static final long PATIENCE_MILLIS = 1_000;

    /**
     * Where the buffer lies: what readers follow. Exchanged by one volatile store when it has moved.
     *
     * @param checksum CRC32C of its bytes when they last passed memory of the host on their way here, or one of the constants
     */
    record Place(TierSpace space, long token, long checksum) {
        /** In DRAM, or filled where it lies. */
        static final long NO_CHECKSUM = -1;

        private static final long LOST = -2;

        Place(TierSpace space, long token) {
            this(space, token, NO_CHECKSUM);
        }

        /** DRAM keeps none: it is taken when the buffer leaves. */
        Place withChecksum(long sum) {
            return new Place(space, token, space.tier == MemoryTier.DRAM ? NO_CHECKSUM : sum);
        }

        boolean hasChecksum() {
            return checksum >= 0;
        }

        /** The same, with bytes that are not the buffer's any more. */
        Place lost() {
            return new Place(space, token, LOST);
        }

        boolean isLost() {
            return checksum == LOST;
        }

        /** The same under the write lock's token. Nobody can write where there is no address, so there the bytes are the same. */
        Place reopened(long newToken) {
            return new Place(space, newToken, space.tier == MemoryTier.SSD ? checksum : NO_CHECKSUM);
        }

        BlockArena arena() {
            return space.arena;
        }
    }

    private final MemoryPool pool;
    private final long id;
    private final long size;
    /** Null when deallocated. Written by the owner of the write lock, by the mover, and by who deallocates: the block's state lets in one. */
    private volatile @Nullable Place place;
    /** Odd while the pool moves the buffer within its tier, to make room: its owner can't know of that, and is not refused for it. */
    private final AtomicInteger moves = new AtomicInteger();

    PoolBuffer(MemoryPool pool, long id, long size, Place place) {
        this.pool = pool;
        this.id = id;
        this.size = size;
        this.place = place;
    }

    /** Bytes that were asked for. */
    public long size() {
        return size;
    }

    /** The tier it is in now; a lease keeps the tier it was taken in. */
    public MemoryTier tier() {
        return requirePlace().space.tier;
    }

    /**
     * Address while it is being filled, in memory of the tier: of the host, or of the GPU.
     *
     * @throws MooncakeException ILLEGAL_STATE when it is not being filled, or lies in the SSD tier
     */
    public long address() {
        Place at = requireFilling();
        return at.arena().address(at.token);
    }

    /** A view to fill it through, for the owner; it refuses access after {@link #seal}. DRAM only. Closing it does nothing. */
    public ArrowBuf arrow() {
        Place at = requireFilling();
        if (at.space.tier != MemoryTier.DRAM) {
            throw refused("tier " + at.space.tier, "DRAM, for a view");
        }
        return new ArrowBuf(new FillingReferences(at), null, size, at.arena().address(at.token));
    }

    private Place requireFilling() {
        Place at = requirePlace();
        if (!at.arena().isFilling(at.token)) {
            throw refused(at.arena().describe(at.token), "being filled; take a lease to read");
        }
        if (at.space.tier == MemoryTier.SSD) {
            throw refused("tier SSD", "a tier with addresses; migrate it first");
        }
        return at;
    }

    /** Ends filling: from now on the bytes do not change. */
    public void seal() {
        Place at = requirePlace();
        at.arena().seal(at.token);
    }

    /**
     * Leases the bytes for reading, where they are now: host memory in DRAM, an address of the device in GPU. The lease keeps that address
     * until it is closed, also when the buffer moves meanwhile.
     *
     * <p>Bytes on a GPU are verified when they leave it, and not before.
     *
     * @throws MooncakeException ILLEGAL_STATE when it is being filled, deallocated, or in the SSD tier; CORRUPT when its bytes are lost
     */
    public BufferLease lease() {
        for (int looks = 0; ; looks++) {
            Place at = requirePlace();
            requireWhole(at);
            if (at.space.tier == MemoryTier.SSD) {
                throw refused("tier SSD", "a tier with addresses; migrate it first");
            }
            if (at.arena().lease(at.token)) {
                return new BufferLease(this, at);
            }
            boolean leaving = at.arena().isEvicting(at.token);
            if (at == place && !(leaving && looks < MAX_LOOKS)) {
                throw refused(at.arena().describe(at.token), "sealed");
            }
            // It has moved, or somebody looks whether it may go: look again.
            if (leaving) {
                LockSupport.parkNanos(FIRST_PAUSE_NANOS);
            }
        }
    }

    /** As {@link #lease()}, waiting until the deadline while it is being filled; DEADLINE_EXCEEDED then. */
    public BufferLease lease(Deadline deadline) {
        for (long pause = FIRST_PAUSE_NANOS; ; pause = nextPause(pause, deadline, "sealed")) {
            Place at = requirePlace();
            if (!at.arena().isFilling(at.token)) {
                return lease();
            }
        }
    }

    /**
     * Takes the write lock of a sealed buffer, waiting until the deadline while it is leased, pinned or moving. What was leased before is
     * another generation, and refused.
     *
     * @throws MooncakeException DEADLINE_EXCEEDED when it was held all the time
     */
    public void reopen(Deadline deadline) {
        for (long pause = FIRST_PAUSE_NANOS; ; pause = nextPause(pause, deadline, "sealed, and held by nobody")) {
            Place at = requirePlace();
            long token = at.arena().reopen(at.token, pool.nanoTime());
            if (token != BlockArena.NONE) {
                // Read anew: whoever moved it meanwhile may have found its bytes lost.
                place = requirePlace().reopened(token);
                return;
            }
        }
    }

    long nextPause(long pause, Deadline deadline, String expected) {
        if (deadline.expired()) {
            Place at = requirePlace();
            throw new MooncakeException(
                    Code.DEADLINE_EXCEEDED,
                    "buffer " + id + ": " + at.arena().describe(at.token) + " (expected: " + expected
                            + " before the deadline)");
        }
        LockSupport.parkNanos(Math.min(pause, deadline.remainingNanos()));
        return Math.min(LONGEST_PAUSE_NANOS, 2 * pause);
    }

    /** Keeps the sealed buffer in its tier until {@link #unpin}; false when it is not sealed, migrating, or has its most pins already. */
    public boolean pin() {
        Deadline patience = patience();
        while (true) {
            int before = moves();
            Place at = requirePlace();
            if (at.arena().pin(at.token)) {
                return true;
            }
            if (!hasMoved(before, at, patience)) {
                return false;
            }
        }
    }

    /** Ends one {@link #pin}. */
    public void unpin() {
        Place at = requirePlace();
        at.arena().unpin(at.token);
    }

    /** As {@link #softPin(Duration, Deadline)}, waiting a second for a move at most. */
    public void softPin(Duration time) {
        softPin(time, patience());
    }

    /**
     * Keeps the sealed buffer for {@code time} from write locks and evictions by policy; longer pins win. It may move to another tier; while
     * it does, this waits.
     *
     * @throws MooncakeException ILLEGAL_STATE when it is not sealed; DEADLINE_EXCEEDED when it was moving all the time
     */
    public void softPin(Duration time, Deadline deadline) {
        if (time.isNegative() || time.isZero() || time.compareTo(Duration.ofDays(1)) > 0) {
            throw MooncakeException.invalid("soft pin", time, "more than zero, at most one day");
        }
        long until = pool.nanoTime() + time.toNanos();
        boolean pinned = false;
        for (long pause = FIRST_PAUSE_NANOS; !pinned; ) {
            Place at = requirePlace();
            if (at.arena().lease(at.token)) {
                try {
                    pinned = at.arena().softPin(at.token, until);
                } finally {
                    at.arena().release(at.token);
                }
            } else if (at == place) {
                throw refused(at.arena().describe(at.token), "sealed");
            }
            if (!pinned) {
                pause = nextPause(pause, deadline, "sealed, and not moving");
            }
        }
    }

    /** {@link MemoryPool#deallocate}; nothing when it is deallocated already. */
    @Override
    public void close() {
        synchronized (this) {
            if (place != null) {
                pool.deallocate(this);
            }
        }
    }

    // ------------------------------------------------------------------------------------------------------- inside

    MemoryPool pool() {
        return pool;
    }

    @Nullable
    Place place() {
        return place;
    }

    Place requirePlace() {
        Place at = place;
        if (at == null) {
            throw refused("deallocated", "open");
        }
        return at;
    }

    void moveTo(@Nullable Place to) {
        place = to;
    }

    /** The pool begins or ends to move the buffer within its tier. One thread at a time. */
    void movesWithin() {
        moves.incrementAndGet();
    }

    /** To be read before the attempt that {@link #hasMoved} is asked about. */
    int moves() {
        return moves.get();
    }

    static Deadline patience() {
        return Deadline.ofMillis(PATIENCE_MILLIS);
    }

    /**
     * Whether what was refused at {@code at} may go now, since the buffer has moved. While the pool moves it within its tier, this waits a
     * moment first.
     */
    boolean hasMoved(int before, Place at, Deadline deadline) {
        int now = moves();
        if (deadline.expired() || (now == before && now % 2 == 0 && at == place)) {
            return false;
        }
        if (now % 2 != 0) {
            LockSupport.parkNanos(FIRST_PAUSE_NANOS);
        }
        return true;
    }

    /** CORRUPT when a tier has lost the bytes. */
    void requireWhole(Place at) {
        if (at.isLost()) {
            throw corrupt(at.space.tier, "other bytes", "those it was filled with; they are lost");
        }
    }

    MooncakeException corrupt(MemoryTier tier, String found, String expected) {
        return new MooncakeException(
                Code.CORRUPT,
                "buffer " + id + " of " + size + " bytes: " + found + " in " + tier + " (expected: " + expected + ")");
    }

    MooncakeException refused(String found, String expected) {
        return new MooncakeException(
                Code.ILLEGAL_STATE,
                "buffer " + id + " of " + size + " bytes: " + found + " (expected: " + expected + ")");
    }

    /** Refuses access once the block is not being filled any more. */
    private static final class FillingReferences extends ViewReferences {
        private final Place at;

        FillingReferences(Place at) {
            this.at = at;
        }

        @Override
        public int getRefCount() {
            return at.arena().isFilling(at.token) ? 1 : 0;
        }

        @Override
        public long getSize() {
            return at.arena().bytes(at.token);
        }

        @Override
        boolean drop(int count) {
            return false;
        }

        @Override
        void add(int count) {}
    }
}
