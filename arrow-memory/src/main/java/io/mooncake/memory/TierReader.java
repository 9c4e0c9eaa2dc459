// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory;

import io.mooncake.base.Deadline;
import io.mooncake.memory.ssd.SsdOutcome;
import io.mooncake.memory.ssd.SsdStore;
import java.util.ArrayDeque;
import java.util.List;
import java.util.concurrent.atomic.LongAdder;
import org.jspecify.annotations.Nullable;

/**
 * Reads blocks from the SSD into the pool, several at a time, in order.
 *
 * <p>Threading: safe for all threads. No call lasts longer than its deadline, whatever the device does: a read that is not over then keeps
 * its memory until it is.
 */
final class TierReader {
    /** Reads under way for one caller: what a device needs to be busy. */
    private static final int WINDOW = 16;

    private final LocalKvPool pool;
    private final SsdStore ssd;
    private final TierCatalog catalog;
    final LongAdder blocks = new LongAdder();
    final LongAdder damaged = new LongAdder();
    final LongAdder failed = new LongAdder();
    final LongAdder late = new LongAdder();

    TierReader(LocalKvPool pool, SsdStore ssd, TierCatalog catalog) {
        this.pool = pool;
        this.ssd = ssd;
        this.catalog = catalog;
    }

    /** A read and the block it is for. */
    private record Flight(BlockKey key, TierLoad load, TierTransits.Transit transit) {}

    /**
     * Reads {@code wanted} in its order until one can't be had.
     *
     * @param tenant name of the tenant they are for
     * @param arrived gets the blocks that arrived, which the caller owes a close; they are in the pool, and stay, until then
     * @return NONE when all did, else why not
     */
    MissReason read(List<BlockKey> wanted, String tenant, Deadline deadline, List<IncomingBlock> arrived) {
        ArrayDeque<Flight> flying = new ArrayDeque<>(WINDOW);
        MissReason noMore = MissReason.NONE;
        TenantAccount account = pool.store().accounts.of(tenant);
        int next = 0;
        try {
            while (true) {
                while (noMore == MissReason.NONE && next < wanted.size() && flying.size() < WINDOW) {
                    noMore = begin(wanted.get(next++), account, deadline, flying);
                }
                Flight first = flying.poll();
                if (first == null) {
                    return noMore;
                }
                MissReason reason = end(first, deadline, arrived);
                if (reason != MissReason.NONE) {
                    return reason;
                }
            }
        } finally {
            for (Flight flight : flying) {
                flight.load.giveUp();
                catalog.end(flight.transit);
            }
        }
    }

    /** Adds a flight for {@code key}; NONE, or why there is none. */
    private MissReason begin(BlockKey key, TenantAccount account, Deadline deadline, ArrayDeque<Flight> flying) {
        TierTransits.Transit transit = catalog.up(key);
        if (transit == null) {
            return MissReason.NOT_CACHED;
        }
        Flight flight = null;
        try {
            flight = begin(key, transit, account, deadline);
        } finally {
            if (flight == null) {
                catalog.end(transit);
            }
        }
        if (flight == null) {
            return MissReason.NO_MEMORY;
        }
        flying.add(flight);
        return MissReason.NONE;
    }

    /** Null when there is no memory for it. */
    private @Nullable Flight begin(
            BlockKey key, TierTransits.Transit transit, TenantAccount account, Deadline deadline) {
        pool.handles().enter(); // evicting reads headers
        TierLoad load;
        try {
            // Whoever stored it pays for it, also when a peer wants it.
            String owner = catalog.tenant(key);
            int slot = pool.store()
                    .allocate(owner.isEmpty() ? account : pool.store().accounts.of(owner), null);
            if (slot < 0) {
                return null;
            }
            try {
                load = new TierLoad(pool, slot);
            } catch (RuntimeException e) {
                pool.store().abandon(slot);
                throw e;
            }
        } finally {
            pool.handles().leave();
        }
        ssd.load(key, load.recordAddress(), load, deadline);
        return new Flight(key, load, transit);
    }

    private MissReason end(Flight flight, Deadline deadline, List<IncomingBlock> arrived) {
        try {
            return arrive(flight, deadline, arrived);
        } finally {
            catalog.end(flight.transit);
        }
    }

    private MissReason arrive(Flight flight, Deadline deadline, List<IncomingBlock> arrived) {
        SsdOutcome outcome = flight.load.await(deadline);
        if (outcome != SsdOutcome.LOADED) {
            flight.load.giveUp();
            return reason(outcome, flight.key);
        }
        IncomingBlock.Outcome taken = flight.load.take(flight.key, flight.transit, arrived);
        if (flight.transit.removed()) {
            // While it was read: it was not stored, or went with what the removal found in memory.
            return MissReason.NOT_CACHED;
        }
        MissReason reason =
                switch (taken) {
                    case STORED, KEPT_EXISTING -> MissReason.NONE;
                    case WRONG_IDENTITY -> MissReason.IDENTITY;
                    case WRONG_CHECKSUM -> MissReason.CHECKSUM;
                    case INDEX_FULL -> MissReason.NO_MEMORY;
                };
        if (reason == MissReason.NONE) {
            blocks.increment();
        } else if (reason != MissReason.NO_MEMORY) {
            // Sound as a record, wrong as a block: it was written wrong, and would be read again and again.
            damaged.increment();
            catalog.gone(flight.key, () -> {
                ssd.remove(flight.key);
                return true;
            });
        }
        return reason;
    }

    private MissReason reason(SsdOutcome outcome, BlockKey key) {
        switch (outcome) {
            case MISS, REMOVED -> {
                catalog.gone(key, () -> !ssd.contains(key)); // it may have been written again
                return MissReason.NOT_CACHED;
            }
            case DAMAGED -> {
                damaged.increment();
                catalog.gone(key, () -> !ssd.contains(key)); // it may have been written again
                return MissReason.CHECKSUM;
            }
            case PENDING, BUSY -> {
                late.increment();
                return MissReason.DEADLINE;
            }
            case DISABLED -> {
                failed.increment();
                catalog.allGone();
                return MissReason.SSD_FAILED;
            }
            case FAILED, CLOSED, STORED, SYNCED, PRESENT, LOADED, FULL, PAUSED -> {
                failed.increment();
                return MissReason.SSD_FAILED;
            }
        }
        throw new AssertionError(outcome);
    }
}
