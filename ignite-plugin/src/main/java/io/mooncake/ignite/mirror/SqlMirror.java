// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.mirror;

import io.mooncake.ignite.Role;
import io.mooncake.ignite.internal.Member;
import io.mooncake.ignite.internal.Members;
import io.mooncake.ignite.internal.NodeComponent;
import io.mooncake.ignite.internal.NodeServices;
import io.mooncake.ignite.state.CacheRegion;
import io.mooncake.memory.LocalKvPool;
import io.mooncake.memory.PoolStatistics;
import io.mooncake.memory.SsdTier;
import io.mooncake.memory.SsdTierStatistics;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.ignite.Ignite;
import org.apache.ignite.cluster.ClusterNode;
import org.apache.ignite.cluster.ClusterState;
import org.apache.ignite.configuration.IgniteConfiguration;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Keeps {@code MOONCAKE.PREFIXES} like this node's pools. Each pass walks over the pools page by page, holding none of their locks, cuts them into runs, compares with what was written
 * before and writes the difference. Nothing is remembered that a pass could not find again, so a failed write, a lost partition or an
 * inactive cluster needs no repair besides the next pass.
 *
 * <p>Passes follow each other after {@value #PASS_MILLIS} ms, or after their own length when the pool is so large that a pass takes
 * longer; most of them end at once, as {@link WalkTimes} says. Every
 * {@value #REWRITE_MILLIS} ms, and after a loss of nodes or a change of the cluster's state, all rows are written again; every
 * {@value #SPOT_CHECK_MILLIS} ms some rows are looked for, so that a cache that somebody emptied is filled at once. While the cache's
 * region is nearly full here, rows are removed and none is written.
 *
 * <p>Threading: passes run one at a time on worker threads; fields marked so are written there only.
 */
public final class SqlMirror implements NodeComponent, Members.Listener {
    private static final long PASS_MILLIS = 200;
    private static final long RETRY_MILLIS = 2_000;
    private static final long SWEEP_MILLIS = 10_000;
    private static final long REWRITE_MILLIS = 60_000;
    private static final long SPOT_CHECK_MILLIS = 2_000;
    private static final int SPOT_CHECK_ROWS = 64;
    private static final int PAGE_BLOCKS = 1_024;
    private static final Logger LOG = LoggerFactory.getLogger(SqlMirror.class);

    private final AtomicLong passes = new AtomicLong();
    private final AtomicLong rowsWritten = new AtomicLong();
    private final AtomicLong rowsRemoved = new AtomicLong();
    private final AtomicLong rowsOverBudget = new AtomicLong();
    private final AtomicLong walks = new AtomicLong();
    private final AtomicLong failures = new AtomicLong();
    private final AtomicLong rewrites = new AtomicLong();
    private volatile int rows;
    private volatile boolean paused = true;
    private volatile boolean full;
    private volatile long blocks;
    private volatile long rewriteMicros;
    private volatile boolean stopped;
    private volatile boolean membersLost;
    // Below: by passes only.
    private final MirrorDiff diff = new MirrorDiff();
    private @Nullable PrefixCache cache;
    private @Nullable ClusterState lastState;
    private boolean distrusted = true;
    private final WalkTimes times = new WalkTimes();
    private long sweptNanos;
    private long rewrittenNanos;
    private long spotCheckedNanos;

    @Override
    public void initExtensions(NodeServices services, IgniteConfiguration config) {
        if (isStore(services) && !config.isClientMode()) {
            region(services).install(config);
        }
    }

    @Override
    public void start(NodeServices services) {
        if (!isStore(services)) {
            return;
        }
        var adapter = services.adapter();
        String registry = "mooncake.mirror";
        adapter.registerMetric(registry, "rows", "Rows of this node in MOONCAKE.PREFIXES.", () -> (long) rows);
        adapter.registerMetric(registry, "rowsWritten", "Rows written since start.", rowsWritten::get);
        adapter.registerMetric(registry, "rowsRemoved", "Rows removed since start.", rowsRemoved::get);
        adapter.registerMetric(
                registry, "rowsOverBudget", "Runs left out of the last pass by the row budget.", rowsOverBudget::get);
        adapter.registerMetric(registry, "passes", "Passes finished since start.", passes::get);
        adapter.registerMetric(registry, "walks", "Passes since start that read the pools.", walks::get);
        adapter.registerMetric(registry, "failures", "Passes that failed and were tried again.", failures::get);
        adapter.registerMetric(
                registry,
                "paused",
                "1 while the cluster takes no writes: inactive or read-only.",
                () -> paused ? 1L : 0L);
        adapter.registerMetric(registry, "blocks", "Blocks that those rows stand for.", () -> blocks);
        adapter.registerMetric(registry, "rewrites", "Passes that wrote all rows.", rewrites::get);
        adapter.registerMetric(
                registry,
                "rewriteMicros",
                "How long the last of these took, from the first look at the pools to the last row written, in microseconds.",
                () -> rewriteMicros);
        adapter.registerMetric(
                registry,
                "full",
                "1 while no rows are written because data region mooncake is nearly full on this node.",
                () -> full ? 1L : 0L);
        services.members().addListener(this);
    }

    @Override
    public void onIgniteStart(NodeServices services) {
        if (!isStore(services)) {
            return;
        }
        if (!services.adapter().sqlAvailable()) {
            LOG.info("No SQL engine on the class path: MOONCAKE.PREFIXES is kept but can be read by scan queries only."
                    + " Add ignite-indexing or ignite-calcite for SQL.");
        }
        cache = new PrefixCache(services.ignite(), services.adapter().localNodeId());
        later(services, 0);
    }

    @Override
    public void onIgniteStop() {
        stopped = true;
    }

    @Override
    public void onLeft(Member member) {
        membersLost = true;
    }

    private static CacheRegion region(NodeServices services) {
        return MirrorRegion.of(services.settings().mirrorRowBudget());
    }

    private static boolean isStore(NodeServices services) {
        return services.settings().role() == Role.STORE;
    }

    private void later(NodeServices services, long millis) {
        if (stopped) {
            return;
        }
        try {
            services.scheduler()
                    .schedule(() -> services.workers().execute(() -> run(services)), millis, TimeUnit.MILLISECONDS);
        } catch (RejectedExecutionException e) {
            LOG.debug("SQL mirror: the node stops");
        }
    }

    private void run(NodeServices services) {
        if (stopped) {
            return;
        }
        long begun = services.nanoClock().getAsLong();
        long next = PASS_MILLIS;
        try {
            pass(services, begun);
            passes.incrementAndGet();
            if (full) {
                next = RETRY_MILLIS;
            }
        } catch (RuntimeException e) {
            next = RETRY_MILLIS;
            distrust();
            if (cache != null) {
                cache.reset();
            }
            if (!stopped && failures.getAndIncrement() == 0) {
                LOG.info(
                        "SQL mirror: a pass failed and will be tried again ({}); see metric mooncake.mirror.failures",
                        e.toString());
            }
        }
        long took = TimeUnit.NANOSECONDS.toMillis(services.nanoClock().getAsLong() - begun);
        later(services, Math.max(next, took));
    }

    private void pass(NodeServices services, long now) {
        PrefixCache open = cache;
        if (open == null || services.fenced() || !writable(services.ignite())) {
            return;
        }
        open.open();
        if (open.findLost()) {
            distrust();
        }
        if (membersLost || now - rewrittenNanos > TimeUnit.MILLISECONDS.toNanos(REWRITE_MILLIS)) {
            // Before the flag is cleared nothing was read; a loss during this pass sets it again.
            boolean lost = membersLost;
            membersLost = false;
            distrust();
            rewrittenNanos = now;
            if (lost) {
                sweptNanos = now - TimeUnit.MILLISECONDS.toNanos(SWEEP_MILLIS) - 1;
            }
        }
        if (now - sweptNanos > TimeUnit.MILLISECONDS.toNanos(SWEEP_MILLIS)) {
            rowsRemoved.addAndGet(open.sweep(alive(services)::contains));
            sweptNanos = now;
        }
        if (now - spotCheckedNanos > TimeUnit.MILLISECONDS.toNanos(SPOT_CHECK_MILLIS)) {
            if (!open.hasAll(diff.sample(SPOT_CHECK_ROWS))) {
                distrust();
            }
            spotCheckedNanos = now;
        }
        long changes = changes(services);
        long uses = uses(services);
        if (!distrusted && !times.due(changes, uses, now)) {
            return;
        }
        walks.incrementAndGet();
        boolean all = distrusted;
        distrusted = !show(wanted(services, open), open, services);
        if (all && !distrusted) {
            rewriteMicros = TimeUnit.NANOSECONDS.toMicros(services.nanoClock().getAsLong() - now);
            rewrites.incrementAndGet();
        }
        // What was counted before the pools were read is shown for certain; what came meanwhile is for the next pass.
        times.read(changes, uses, now);
    }

    /** Makes the cache show {@code wanted}; false where the region had no room for all of it. */
    private boolean show(Map<String, PrefixRow> wanted, PrefixCache open, NodeServices services) {
        List<String> gone = diff.toRemove(wanted);
        open.remove(gone, diff);
        rowsRemoved.addAndGet(gone.size());
        Map<String, PrefixRow> changed = diff.toWrite(wanted);
        CacheRegion region = region(services);
        int written = open.put(changed, diff, () -> !region.full(services.ignite()));
        rowsWritten.addAndGet(written);
        rows = diff.rows();
        blocks = wanted.values().stream().mapToLong(PrefixRow::blocks).sum();
        boolean shown = written == changed.size();
        if (!shown && !full) {
            LOG.warn(
                    "SQL mirror: data region '{}' is used to {} % on this node; no rows are written until there is room"
                            + " (metric mooncake.mirror.full). Give it more memory, or mirrorRowBudget less than {}",
                    region.name(),
                    region.usedPercent(services.ignite()),
                    services.settings().mirrorRowBudget());
        }
        full = !shown;
        return shown;
    }

    /** Changes whenever a pool looks up, and mostly when other nodes' holdings change. */
    private static long uses(NodeServices services) {
        long sum = services.index().entries();
        for (LocalKvPool pool : services.localPools().values()) {
            sum = 31 * sum + pool.stats().lookups();
        }
        return sum;
    }

    /** Changes whenever a block of this node comes, goes or moves. */
    private static long changes(NodeServices services) {
        long sum = 0;
        for (LocalKvPool pool : services.localPools().values()) {
            PoolStatistics stats = pool.stats();
            sum = 31 * sum + stats.stored();
            sum = 31 * sum + stats.evicted();
            sum = 31 * sum + stats.blocks();
        }
        for (SsdTier tier : services.tiers().values()) {
            SsdTierStatistics stats = tier.statistics();
            sum = 31 * sum + stats.written() + stats.recovered();
            sum = 31 * sum + stats.blocks();
        }
        return sum;
    }

    private void distrust() {
        diff.distrust();
        distrusted = true;
    }

    /** Whether the cluster takes writes. A cluster that was switched off has lost the rows of an in-memory cache. */
    private boolean writable(Ignite ignite) {
        ClusterState state = ignite.cluster().state();
        if (state != lastState) {
            lastState = state;
            distrust();
        }
        paused = state != ClusterState.ACTIVE;
        return !paused;
    }

    private static Set<UUID> alive(NodeServices services) {
        Set<UUID> ids = new HashSet<>();
        for (ClusterNode node : services.adapter().aliveNodes()) {
            ids.add(node.id());
        }
        return ids;
    }

    private Map<String, PrefixRow> wanted(NodeServices services, PrefixCache open) {
        List<Map.Entry<String, PrefixRow>> found = new ArrayList<>();
        services.localPools().forEach((name, pool) -> collect(services, open, name, pool, found));
        int budget = services.settings().mirrorRowBudget();
        rowsOverBudget.set(Math.max(0, found.size() - budget));
        return withinBudget(found, budget);
    }

    /** At most {@code budget} of {@code rows}: those reused most. */
    static Map<String, PrefixRow> withinBudget(List<Map.Entry<String, PrefixRow>> rows, int budget) {
        if (rows.size() > budget) {
            rows.sort(Comparator.comparingLong(
                            (Map.Entry<String, PrefixRow> row) -> row.getValue().hits())
                    .reversed()
                    .thenComparing(Map.Entry::getKey));
        }
        Map<String, PrefixRow> kept = new HashMap<>(Math.min(rows.size(), budget) * 2);
        rows.stream().limit(budget).forEach(row -> kept.put(row.getKey(), row.getValue()));
        return kept;
    }

    private static void collect(
            NodeServices services,
            PrefixCache open,
            String name,
            LocalKvPool pool,
            List<Map.Entry<String, PrefixRow>> found) {
        RunBuilder seen = new RunBuilder(pool.layout().payloadBytes());
        SsdTier tier = services.tiers().get(name);
        int at = 0;
        while (at != LocalKvPool.WALK_END) {
            at = SsdTier.forEachHeld(
                    pool,
                    tier,
                    at,
                    PAGE_BLOCKS,
                    block -> seen.add(block.key(), block.parent(), block.depth(), block.hits()));
        }
        int blockTokens = pool.identity().blockTokens();
        seen.build(run -> found.add(Map.entry(
                open.key(name, run),
                new PrefixRow(
                        name,
                        run.last(),
                        (run.depth() + 1) * blockTokens,
                        1 + services.index().holderCount(name, run.last()),
                        run.hits(),
                        run.depth(),
                        run.blocks(),
                        run.bytes()))));
    }
}
