// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.place;

import io.mooncake.base.Deadline;
import io.mooncake.ignite.DrainResult;
import io.mooncake.ignite.internal.NodeServices;
import io.mooncake.memory.BlockKey;
import io.mooncake.memory.LocalKvPool;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.UUID;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Gives what only this node has to others before it leaves. From the first moment on routers send it nothing more and it takes no copies; what is stored
 * meanwhile by requests that still run is found by the next pass. It ends when nothing is left, when nobody takes more, or with the deadline.
 *
 * <p>Parents go before children, because a chain is of use only from its start; what is used most goes first, in case the time ends.
 *
 * <p>Threading: one drain at a time; {@link #run} blocks.
 */
final class Drain {
    private static final int BATCH_BLOCKS = 64;
    private static final Logger LOG = LoggerFactory.getLogger(Drain.class);

    private final NodeServices services;
    private final StoreReports reports;
    private final Copies copies;

    Drain(NodeServices services, StoreReports reports, Copies copies) {
        this.services = services;
        this.reports = reports;
        this.copies = copies;
    }

    /** Drains. The node stays as it is then: {@link StoreReports#draining(boolean)} takes it back. */
    synchronized DrainResult run(Deadline deadline) throws InterruptedException {
        long start = services.nanoClock().getAsLong();
        reports.draining(true);
        long moved = 0;
        long bytes = 0;
        long left = 0;
        for (Map.Entry<String, LocalKvPool> pool : services.localPools().entrySet()) {
            Set<BlockKey> gone = new HashSet<>();
            List<Held> sole = sole(pool.getKey(), gone);
            boolean more = copies.possible(pool.getKey(), Set.of());
            while (more && !sole.isEmpty()) {
                int before = gone.size();
                pass(pool.getKey(), sole, gone, deadline);
                more = gone.size() > before && !deadline.expired();
                sole = sole(pool.getKey(), gone);
            }
            moved += gone.size();
            bytes += (long) gone.size() * pool.getValue().layout().payloadBytes();
            left += sole.size();
        }
        Duration took = Duration.ofNanos(services.nanoClock().getAsLong() - start);
        if (left > 0) {
            LOG.warn("Drained: {} blocks given to others, {} not, in {} ms", moved, left, took.toMillis());
        } else if (moved > 0) {
            LOG.info("Drained: {} blocks given to others in {} ms, nothing is left", moved, took.toMillis());
        }
        return new DrainResult(moved, left, bytes, took);
    }

    private void pass(String pool, List<Held> sole, Set<BlockKey> gone, Deadline deadline) throws InterruptedException {
        Map<String, List<BlockKey>> byTenant = new TreeMap<>();
        for (Held view : sole) {
            byTenant.computeIfAbsent(view.tenant(), name -> new ArrayList<>()).add(view.key());
        }
        for (Map.Entry<String, List<BlockKey>> tenant : byTenant.entrySet()) {
            List<BlockKey> keys = tenant.getValue();
            for (int from = 0; from < keys.size() && !deadline.expired(); from += BATCH_BLOCKS) {
                List<BlockKey> batch = keys.subList(from, Math.min(keys.size(), from + BATCH_BLOCKS));
                @Nullable UUID[] taken = copies.copy(pool, tenant.getKey(), batch, Set.of(), deadline);
                for (int i = 0; i < taken.length; i++) {
                    if (taken[i] != null) {
                        gone.add(batch.get(i));
                    }
                }
            }
        }
    }

    /** Blocks of this node that no node which stays has, in the order in which they should go. */
    private List<Held> sole(String name, Set<BlockKey> gone) {
        Map<BlockKey, Held> found = new LinkedHashMap<>();
        Held.forEach(services, name, view -> {
            if (!gone.contains(view.key()) && !held(name, view.key())) {
                found.put(view.key(), view);
            }
        });
        return found.values().stream().sorted(Held.MOST_USED).toList();
    }

    private boolean held(String pool, BlockKey key) {
        return services.index().holders(pool, key).stream().anyMatch(node -> !reports.draining(node));
    }
}
