// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.node;

import io.mooncake.base.Deadline;
import io.mooncake.base.MooncakeException;
import io.mooncake.ignite.Caller;
import io.mooncake.ignite.DrainResult;
import io.mooncake.ignite.Explanation;
import io.mooncake.ignite.KvBlocks;
import io.mooncake.ignite.Mooncake;
import io.mooncake.ignite.NodeExtension;
import io.mooncake.ignite.NodeStatistics;
import io.mooncake.ignite.Role;
import io.mooncake.ignite.Route;
import io.mooncake.ignite.RouteDecision;
import io.mooncake.ignite.RoutedJob;
import io.mooncake.ignite.ScrubReport;
import io.mooncake.ignite.blocks.ClusterBlocks;
import io.mooncake.ignite.internal.Member;
import io.mooncake.ignite.pool.ClusterKvPool;
import io.mooncake.ignite.state.Quotas;
import io.mooncake.memory.KvPool;
import io.mooncake.memory.MissReason;
import io.mooncake.memory.PoolStatistics;
import io.mooncake.memory.SsdTier;
import io.mooncake.memory.SsdTierStatistics;
import io.mooncake.memory.Tenant;
import io.mooncake.memory.TenantQuota;
import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.UUID;
import java.util.concurrent.CompletionStage;
import org.apache.ignite.Ignite;

/** The product on one node, as users see it. Delegates; holds nothing of its own. */
final class MooncakeNode implements Mooncake {
    private final NodeRuntime runtime;

    MooncakeNode(NodeRuntime runtime) {
        this.runtime = runtime;
    }

    /** What it delegates to. */
    NodeRuntime runtime() {
        return runtime;
    }

    @Override
    public Ignite ignite() {
        return runtime.ignite();
    }

    @Override
    public Role role() {
        return runtime.settings().role();
    }

    @Override
    public KvBlocks blocks(String pool, Tenant tenant) {
        return new ClusterBlocks(runtime, inCluster(pool), tenant);
    }

    @Override
    public KvPool pool(String name) {
        return inCluster(name);
    }

    private ClusterKvPool inCluster(String name) {
        ClusterKvPool pool =
                runtime.clusterPools().get(runtime.members().poolNames().called(name));
        if (pool == null) {
            throw new MooncakeException(
                    MooncakeException.Code.NOT_FOUND,
                    "pool: " + name + " (expected: one of "
                            + runtime.clusterPools().keySet() + " on node " + ignite().name() + ")");
        }
        return pool;
    }

    @Override
    public Collection<KvPool> pools() {
        return List.copyOf(runtime.clusterPools().values());
    }

    @Override
    public <T extends NodeExtension> T extension(String name, Class<T> type) {
        return runtime.extensions().find(name, type);
    }

    @Override
    public RouteDecision decide(Route route) {
        return runtime.router().decide(route);
    }

    @Override
    public <R> CompletionStage<R> submit(Route route, RoutedJob<R> job) {
        return runtime.router().submit(route, job);
    }

    @Override
    public Explanation explain(String pool, Tenant tenant, int[] tokens) {
        return runtime.router().explain(pool, tenant, tokens);
    }

    @Override
    public Tenant tenant(String name) {
        return runtime.tenants().named(name);
    }

    @Override
    public Tenant tenantOf(Caller caller) {
        return runtime.tenants().of(caller);
    }

    @Override
    public void requireOperator(Caller caller) {
        runtime.tenants().requireOperator(caller);
    }

    @Override
    public DrainResult drain(Duration timeout) {
        return interruptible("drain", () -> runtime.placement().drain(deadline(timeout)));
    }

    @Override
    public void resume() {
        runtime.placement().resume();
    }

    @Override
    public long warmUp(String pool, int maxBlocks, Duration timeout) {
        return interruptible("warm-up", () -> runtime.placement().warmUp(pool, maxBlocks, deadline(timeout)));
    }

    private static Deadline deadline(Duration timeout) {
        if (timeout.toMillis() < 1) {
            throw MooncakeException.invalid("timeout", timeout, "at least 1 ms");
        }
        return Deadline.of(timeout);
    }

    /** Something that waits. */
    private interface Waiting<T> {
        T run() throws InterruptedException;
    }

    private static <T> T interruptible(String what, Waiting<T> waiting) {
        try {
            return waiting.run();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new MooncakeException(MooncakeException.Code.DEADLINE_EXCEEDED, what + ": interrupted", e);
        }
    }

    @Override
    public ScrubReport scrub(String pool) {
        return new Scrub(inCluster(pool).local()).run();
    }

    @Override
    public void quota(String tenant, TenantQuota quota, Duration timeout) {
        Quotas.set(runtime.state(), tenant, quota, deadline(timeout));
    }

    @Override
    public Map<String, TenantQuota> quotas() {
        return Quotas.all(runtime.state());
    }

    @Override
    public NodeStatistics statistics() {
        Map<String, Long> misses = new TreeMap<>();
        long blocks = 0;
        long capacity = 0;
        long local = 0;
        long remote = 0;
        long missed = 0;
        long evictions = 0;
        long fetched = 0;
        for (ClusterKvPool pool : runtime.clusterPools().values()) {
            PoolStatistics stats = pool.local().stats();
            blocks += stats.blocks();
            capacity += stats.capacityBlocks();
            local += stats.localTokens();
            remote += stats.remoteTokens();
            missed += stats.requestedTokens() - stats.localTokens() - stats.remoteTokens();
            evictions += stats.evicted();
            fetched += pool.fetchedBytes();
            stats.misses().forEach((reason, count) -> {
                if (reason != MissReason.NONE && count > 0) {
                    misses.merge(reason.name(), count, Long::sum);
                }
            });
        }
        List<SsdTierStatistics> tiers =
                runtime.tiers().values().stream().map(SsdTier::statistics).toList();
        return new NodeStatistics(
                runtime.adapter().localNodeId(),
                blocks,
                capacity,
                local,
                remote,
                missed,
                misses,
                fetched,
                runtime.engine().statistics().bytesServed(),
                evictions,
                tiers.stream().mapToLong(SsdTierStatistics::blocks).sum(),
                tiers.stream().mapToLong(SsdTierStatistics::loaded).sum(),
                runtime.index().entries());
    }

    @Override
    public List<UUID> storeNodes() {
        return runtime.members().all().stream()
                .filter(member -> member.role() != Role.OBSERVER)
                .map(Member::nodeId)
                .toList();
    }
}
