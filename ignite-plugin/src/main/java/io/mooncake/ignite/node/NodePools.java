// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.node;

import io.mooncake.ignite.config.MooncakeSettings;
import io.mooncake.ignite.config.SsdPlace;
import io.mooncake.ignite.feed.FeedService;
import io.mooncake.ignite.feed.PoolBlocks;
import io.mooncake.ignite.pool.ClusterKvPool;
import io.mooncake.ignite.pool.FetchListener;
import io.mooncake.ignite.pool.LocalPools;
import io.mooncake.memory.LocalKvPool;
import io.mooncake.memory.SsdTier;
import io.mooncake.transfer.TransferEngine;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.Future;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * The node's pools: their memory, the SSDs below them, and their views of the cluster. Empty on nodes without memory for pools.
 *
 * <p>Threading: {@link #start} and {@link #close} by the node's starting and stopping threads; the rest by all.
 */
final class NodePools implements AutoCloseable {
    private final MooncakeSettings settings;
    private final String ownName;
    private final ClusterIndexes indexes;
    private final LongSupplier nanoClock;
    private final List<FetchListener> fetchListeners = new CopyOnWriteArrayList<>();

    private volatile @Nullable LocalPools local;
    private volatile @Nullable Future<?> reclaims;
    private volatile Map<String, ClusterKvPool> inCluster = Map.of();

    /** @param ownName what the node is called after a restart, too: records on its SSD bear it */
    NodePools(MooncakeSettings settings, String ownName, ClusterIndexes indexes, LongSupplier nanoClock) {
        this.settings = settings;
        this.ownName = ownName;
        this.indexes = indexes;
        this.nanoClock = nanoClock;
    }

    /**
     * Makes the pools, fills them from their SSDs, and serves them to peers.
     *
     * @param fenced whether this node may not grant leases just now
     * @param scheduler on which space is reclaimed each second
     */
    void start(
            TransferEngine engine,
            FeedService feed,
            boolean announces,
            BooleanSupplier fenced,
            ScheduledExecutorService scheduler) {
        LocalPools pools = new LocalPools(
                settings.dramBytes(),
                settings.sharedMemory(),
                settings.hugePages(),
                settings.evictionPolicy(),
                settings.pools());
        pools.fencedBy(fenced);
        local = pools;
        SsdPlace ssd = settings.ssd();
        // Before the SSD tells what it has: the feed would keep a copy of it all on the heap.
        pools.byName().forEach((name, pool) -> feed.held(name, new PoolBlocks(pool, null)));
        pools.listen(
                feed::poolListener, ssd == null ? null : ssd.path(), ownName, ssd == null ? 0 : ssd.capacityBytes());
        Map<String, ClusterKvPool> views = new LinkedHashMap<>();
        for (LocalKvPool pool : pools.byName().values()) {
            indexes.define(pool.name(), pool.identity());
            feed.held(pool.name(), new PoolBlocks(pool, pools.tiers().get(pool.name())));
            views.put(
                    pool.name(),
                    ClusterKvPool.of(
                            pool,
                            pools.tiers().get(pool.name()),
                            indexes.holders(pool.name()),
                            engine,
                            settings.leaseTerm(),
                            settings.fetchTimeout(),
                            nanoClock,
                            this::tellFetched));
        }
        inCluster = views;
        pools.serve(engine, announces);
        reclaims = scheduler.scheduleWithFixedDelay(this::reclaimAbandoned, 1, 1, TimeUnit.SECONDS);
    }

    /** Space that writers left behind whose threads have ended. */
    private void reclaimAbandoned() {
        byName().values().forEach(pool -> pool.reclaimAbandoned(settings.leaseTerm()));
    }

    private void tellFetched(UUID holder, long bytes, long nanos) {
        for (FetchListener listener : fetchListeners) {
            listener.onFetched(holder, bytes, nanos);
        }
    }

    void addFetchListener(FetchListener listener) {
        fetchListeners.add(listener);
    }

    /** By name. */
    Map<String, LocalKvPool> byName() {
        LocalPools pools = local;
        return pools == null ? Map.of() : pools.byName();
    }

    /** The SSDs below them, by the pool's name. */
    Map<String, SsdTier> tiers() {
        LocalPools pools = local;
        return pools == null ? Map.of() : pools.tiers();
    }

    /** Their views of the cluster, by name. */
    Map<String, ClusterKvPool> inCluster() {
        return inCluster;
    }

    @Override
    public void close() {
        LocalPools pools = local;
        local = null;
        Future<?> reclaiming = reclaims;
        if (reclaiming != null) {
            reclaiming.cancel(false);
        }
        if (pools != null) {
            pools.close();
        }
    }
}
