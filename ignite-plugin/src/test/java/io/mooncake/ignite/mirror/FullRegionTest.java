// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.mirror;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.mooncake.base.Deadline;
import io.mooncake.base.MooncakeException;
import io.mooncake.ignite.Mooncake;
import io.mooncake.ignite.MooncakePluginProvider;
import io.mooncake.ignite.PoolBean;
import io.mooncake.ignite.TestGrid;
import io.mooncake.ignite.conductor.Blocks;
import io.mooncake.ignite.node.StateOf;
import io.mooncake.ignite.state.CacheRegion;
import io.mooncake.ignite.state.StateRow;
import io.mooncake.ignite.state.StateTable;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.apache.ignite.Ignite;
import org.apache.ignite.IgniteCache;
import org.apache.ignite.cache.query.SqlFieldsQuery;
import org.apache.ignite.configuration.DataPageEvictionMode;
import org.apache.ignite.configuration.DataRegionConfiguration;
import org.apache.ignite.configuration.IgniteConfiguration;
import org.apache.ignite.failure.AbstractFailureHandler;
import org.apache.ignite.failure.FailureContext;
import org.apache.ignite.util.AttributeNodeFilter;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** A region of ten mebibytes, the least that Ignite takes, and more than it holds. */
class FullRegionTest {
    private static final String POOL = "tiny";
    private static final int RUNS = Boolean.getBoolean("mooncake.long") ? 100_000 : 1_500;

    private static final int FILLERS = 4_500;

    private final TestGrid grid = new TestGrid();
    private final Queue<FailureContext> failures = new ConcurrentLinkedQueue<>();

    @AfterEach
    void stop() {
        grid.close();
    }

    @Test
    void mirror_rowsOfOthersIntoAFullRegion_nobodyHaltsAndBothServe() {
        Ignite small = start("small", 1_000, 10L << 20);
        IgniteCache<Integer, byte[]> filler = small.getOrCreateCache(TestGrid.<Integer, byte[]>smallCache("filler")
                .setDataRegionName(MirrorRegion.NAME)
                .setNodeFilter(new AttributeNodeFilter("mooncake.test.node", "small")));
        // More than the region holds.
        for (int i = 0; i < FILLERS; i++) {
            filler.put(i, new byte[3_000]);
        }
        assertThat(filler.sizeLong()).as("evicted by its own").isLessThan(FILLERS);
        Ignite large = start("large", RUNS, 256L << 20);
        IgniteCache<Integer, Integer> users = small.getOrCreateCache(TestGrid.smallCache("users"));
        storeRuns(large, RUNS);

        TestGrid.await("all rows are written", () -> metric(large, "rows") == RUNS);
        users.put(1, 1);

        assertThat(count(users)).isPositive();
        assertThat(Blocks.reuse(Mooncake.of(small).pool(POOL), prompt(7))).isEqualTo(Blocks.BLOCK_TOKENS);
        assertThat(users.get(1)).isEqualTo(1);
        assertThat(failures).isEmpty();
        assertThat(small.cluster().forServers().nodes()).hasSize(2);
    }

    @Test
    void mirror_regionNearlyFull_stopsSaysSoAndGoesOnWhenThereIsRoom() {
        Ignite node = start("node", 5_000, 10L << 20);
        IgniteCache<Integer, byte[]> filler = node.getOrCreateCache(
                TestGrid.<Integer, byte[]>smallCache("filler").setDataRegionName(MirrorRegion.NAME));
        for (int i = 0; !MirrorRegion.of(5_000).full(node); i++) {
            filler.put(i, new byte[3_000]);
        }
        storeRuns(node, 100);

        TestGrid.await("the mirror says that it stopped", () -> metric(node, "full") == 1);
        assertThat(metric(node, "failures")).isZero();
        assertThat(Blocks.reuse(Mooncake.of(node).pool(POOL), prompt(7))).isEqualTo(Blocks.BLOCK_TOKENS);

        filler.clear();
        TestGrid.await("it goes on", () -> metric(node, "full") == 0 && metric(node, "rows") == 100);
        assertThat(count(filler)).isEqualTo(100);
        assertThat(failures).isEmpty();
    }

    @Test
    void state_regionNearlyFull_refusesNewRowsAndTakesThemWhenThereIsRoom() {
        CacheRegion region = new CacheRegion("mooncake.state", 0, 10L << 20, false, false);
        Ignite node = grid.start("node", config -> {
            config.setPluginProviders(grid.provider().setStateRowBudget(1_000))
                    .setFailureHandler(new Recorder(failures));
            config.getDataStorageConfiguration()
                    .setDataRegionConfigurations(new DataRegionConfiguration()
                            .setName(region.name())
                            .setInitialSize(10L << 20)
                            .setMaxSize(region.maxBytes()));
        });
        StateTable<StateRow.Quota> quotas = StateOf.node(node).quotas();
        StateRow.Quota first = new StateRow.Quota("first", 1, 1);
        TestGrid.await(
                "the cache is there",
                () -> quotas.put(first, Deadline.ofMillis(20_000)).version() >= 1);
        IgniteCache<Integer, byte[]> filler = node.getOrCreateCache(
                TestGrid.<Integer, byte[]>smallCache("filler").setDataRegionName(region.name()));
        for (int i = 0; !region.full(node); i++) {
            filler.put(i, new byte[3_000]);
        }

        StateRow.Quota second = new StateRow.Quota("second", 2, 2);
        assertThatThrownBy(() -> quotas.put(second, Deadline.ofMillis(20_000)))
                .isInstanceOfSatisfying(
                        MooncakeException.class, e -> assertThat(e.code()).isEqualTo(MooncakeException.Code.EXHAUSTED))
                .hasMessageContaining("data region 'mooncake.state': used to 9");
        filler.clear();
        assertThat(quotas.put(second, Deadline.ofMillis(20_000)).version()).isEqualTo(1);
        assertThat(failures).isEmpty();
    }

    private Ignite start(String name, int rowBudget, long regionBytes) {
        MooncakePluginProvider provider = grid.provider()
                .setDram(RUNS / 1_000 * 8 + 8 + "MiB")
                .setPools(List.of(pool()))
                .setMirrorRowBudget(rowBudget);
        return grid.start(name, config -> {
            config.setPluginProviders(provider)
                    .setFailureHandler(new Recorder(failures))
                    .setUserAttributes(Map.of("mooncake.test.node", name));
            region(config, regionBytes);
        });
    }

    private static void region(IgniteConfiguration config, long bytes) {
        config.getDataStorageConfiguration()
                .setDataRegionConfigurations(new DataRegionConfiguration()
                        .setName(MirrorRegion.NAME)
                        .setInitialSize(10L << 20)
                        .setMaxSize(bytes)
                        .setPageEvictionMode(DataPageEvictionMode.RANDOM_2_LRU));
    }

    /** Blocks of 512 bytes, which take 8 KiB of memory. */
    private static PoolBean pool() {
        return TestGrid.pool(POOL).setLayers(1).setKvHeads(1);
    }

    private static void storeRuns(Ignite node, int runs) {
        for (int i = 0; i < runs; i++) {
            Blocks.store(Mooncake.of(node).pool(POOL), prompt(i));
        }
        assertThat(Mooncake.of(node).statistics().blocks()).isEqualTo(runs);
    }

    private static int[] prompt(int run) {
        return Blocks.prompt(1, run, 0, 1);
    }

    private static long count(IgniteCache<?, ?> any) {
        return (Long) any.query(new SqlFieldsQuery("SELECT COUNT(*) FROM MOONCAKE.PREFIXES"))
                .getAll()
                .get(0)
                .get(0);
    }

    private static long metric(Ignite node, String name) {
        SqlFieldsQuery query =
                new SqlFieldsQuery("SELECT VALUE FROM SYS.METRICS WHERE NAME = 'mooncake.mirror." + name + "'");
        return Long.parseLong((String) node.getOrCreateCache(TestGrid.smallCache("asked"))
                .query(query.setLocal(true))
                .getAll()
                .get(0)
                .get(0));
    }

    /** Remembers what Ignite would have halted the node for. */
    private static final class Recorder extends AbstractFailureHandler {
        private final Queue<FailureContext> failures;

        Recorder(Queue<FailureContext> failures) {
            this.failures = failures;
        }

        @Override
        protected boolean handle(Ignite ignite, FailureContext context) {
            failures.add(context);
            return false;
        }
    }
}
