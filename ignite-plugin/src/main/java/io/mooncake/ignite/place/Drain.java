// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.place;

import io.mooncake.base.Deadline;
import io.mooncake.ignite.DrainResult;
import io.mooncake.ignite.internal.NodeServices;
import io.mooncake.ignite.place.Copies.Copied;
import io.mooncake.memory.BlockKey;
import io.mooncake.memory.LocalKvPool;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Gives what only this node has to others before it leaves. From the first moment on routers send it nothing more and it takes no copies; what is stored
 * meanwhile by requests that still run is found by the next pass. It ends when nothing is left, when nobody takes more, or with the deadline.
 *
 * <p>What is used most goes first, in case the time ends, and parents before children, because a chain is of use only from its start. What was never used again goes only
 * while the others have free blocks: it is not worth what would be evicted for it.
 *
 * <p>Threading: one drain at a time, others wait for it within their deadlines; {@link #run} blocks. One that the node's stop asks for ends the others in its time.
 */
final class Drain {
    /** Blocks that one pass gives away: more of them are not in the heap. */
    private static final int PASS_BLOCKS = 16_384;

    /** Blocks that are sorted into batches at a time. */
    private static final int WINDOW_BLOCKS = 256;

    /** What the SSD did not bring up is asked for again after it. */
    private static final Duration SSD_PAUSE = Duration.ofMillis(500);
    /** Others that drain at the same time hear of this node's drain within it, and this node of theirs: neither counts on what the other has. */
    private static final Duration HEARD = Duration.ofMillis(300);
    /** The index hears of what was taken within it. */
    private static final Duration SETTLE = Duration.ofSeconds(2);

    private static final long SETTLE_LOOK_NANOS = 20_000_000;

    private static final Logger LOG = LoggerFactory.getLogger(Drain.class);

    private final NodeServices services;
    private final StoreReports reports;
    private final Copies copies;
    private final ReentrantLock lock = new ReentrantLock();
    private volatile @Nullable Deadline stop;

    Drain(NodeServices services, StoreReports reports, Copies copies) {
        this.services = services;
        this.reports = reports;
        this.copies = copies;
    }

    /** As the node stops: every drain ends with {@code deadline}. */
    DrainResult runBeforeStop(Deadline deadline) throws InterruptedException {
        stop = deadline;
        return run(deadline);
    }

    /** Drains. The node stays as it is then: {@link StoreReports#draining(boolean)} takes it back. */
    DrainResult run(Deadline deadline) throws InterruptedException {
        long start = services.nanoClock().getAsLong();
        reports.draining(true);
        if (!lock.tryLock(deadline.remainingMillis(), TimeUnit.MILLISECONDS)) {
            return new DrainResult(
                    0, left(), 0, Duration.ofNanos(services.nanoClock().getAsLong() - start));
        }
        try {
            return drain(start, deadline);
        } finally {
            lock.unlock();
        }
    }

    private DrainResult drain(long start, Deadline deadline) throws InterruptedException {
        long moved = 0;
        long bytes = 0;
        if (services.localPools().keySet().stream().anyMatch(pool -> copies.possible(pool, Set.of()))) {
            services.waits().pause(within(deadline).atMost(HEARD).remainingNanos());
        }
        for (Map.Entry<String, LocalKvPool> pool : services.localPools().entrySet()) {
            Set<BlockKey> gone = new HashSet<>();
            boolean more = copies.possible(pool.getKey(), Set.of());
            while (more && !within(deadline).expired()) {
                List<Held> sole = sole(pool.getKey(), gone);
                more = !sole.isEmpty() && pass(pool.getKey(), sole, gone, deadline);
            }
            moved += gone.size();
            bytes += (long) gone.size() * pool.getValue().layout().payloadBytes();
        }
        long left = moved == 0 ? left() : leftAfterSettling();
        Duration took = Duration.ofNanos(services.nanoClock().getAsLong() - start);
        if (left > 0) {
            LOG.warn("Drained: {} blocks given to others, {} not, in {} ms", moved, left, took.toMillis());
        } else if (moved > 0) {
            LOG.info("Drained: {} blocks given to others in {} ms, nothing is left", moved, took.toMillis());
        }
        return new DrainResult(moved, left, bytes, took);
    }

    /** The deadline, or the stop's where that is nearer. */
    private Deadline within(Deadline deadline) {
        Deadline stopping = stop;
        return stopping == null ? deadline : deadline.atMost(Duration.ofNanos(Math.max(0, stopping.remainingNanos())));
    }

    /** @return whether another pass may bring more */
    private boolean pass(String pool, List<Held> sole, Set<BlockKey> gone, Deadline deadline)
            throws InterruptedException {
        int before = gone.size();
        int later = 0;
        for (int from = 0; from < sole.size() && !within(deadline).expired(); from += WINDOW_BLOCKS) {
            if (sole.get(from).hits() == 0 && !copies.roomSomewhere(pool)) {
                break;
            }
            Map<String, List<BlockKey>> byTenant = new TreeMap<>();
            Set<BlockKey> window = new HashSet<>();
            for (Held held : sole.subList(from, Math.min(sole.size(), from + WINDOW_BLOCKS))) {
                // A walk may show a block twice, which moves between memory and SSD.
                if (window.add(held.key())) {
                    byTenant.computeIfAbsent(held.tenant(), name -> new ArrayList<>())
                            .add(held.key());
                }
            }
            for (Map.Entry<String, List<BlockKey>> tenant : byTenant.entrySet()) {
                List<BlockKey> keys = tenant.getValue();
                Copied copied = copies.copy(pool, tenant.getKey(), keys, Set.of(), within(deadline));
                later += copied.later();
                for (int i = 0; i < keys.size(); i++) {
                    if (copied.nodes()[i] != null) {
                        gone.add(keys.get(i));
                    }
                }
            }
        }
        if (gone.size() == before && later > 0) {
            services.waits().pause(within(deadline).atMost(SSD_PAUSE).remainingNanos());
            return true;
        }
        return gone.size() > before;
    }

    /** Blocks of this node that no node which stays has, the most used of them, in the order in which they should go. */
    private List<Held> sole(String name, Set<BlockKey> gone) {
        MostUsed found = new MostUsed(PASS_BLOCKS);
        Held.forEach(services, name, held -> {
            if (!gone.contains(held.key()) && !elsewhere(name, held.key())) {
                found.add(held);
            }
        });
        return found.sorted();
    }

    private boolean elsewhere(String pool, BlockKey key) {
        return services.index().holders(pool, key).stream().anyMatch(node -> !reports.draining(node));
    }

    /** Counted by what the others announce: what one of them took and lost again is left, too. */
    private long leftAfterSettling() throws InterruptedException {
        Deadline settle = services.waits().deadline(SETTLE);
        long left = left();
        // A look walks over everything: a large pool is looked at less often.
        long took = 0;
        while (left > 0 && !settle.expired()) {
            services.waits().pause(Math.max(SETTLE_LOOK_NANOS, 4 * took));
            long before = services.nanoClock().getAsLong();
            left = left();
            took = services.nanoClock().getAsLong() - before;
        }
        return left;
    }

    private long left() {
        return services.localPools().keySet().stream().mapToLong(this::left).sum();
    }

    private long left(String pool) {
        long[] left = new long[1];
        Held.forEach(services, pool, held -> {
            if (!elsewhere(pool, held.key())) {
                left[0]++;
            }
        });
        return left[0];
    }
}
