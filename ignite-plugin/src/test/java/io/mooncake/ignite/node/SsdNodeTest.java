// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.node;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.mooncake.base.Deadline;
import io.mooncake.ignite.Explanation;
import io.mooncake.ignite.Mooncake;
import io.mooncake.ignite.MooncakePluginProvider;
import io.mooncake.ignite.SsdTier;
import io.mooncake.ignite.TestBlocks;
import io.mooncake.ignite.TestBlocks.Taken;
import io.mooncake.ignite.TestGrid;
import io.mooncake.memory.BlockView;
import io.mooncake.memory.Tenant;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.apache.ignite.Ignite;
import org.apache.ignite.Ignition;
import org.apache.ignite.internal.IgniteEx;
import org.apache.ignite.spi.metric.LongMetric;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Nodes with an SSD: blocks that memory gave up and blocks of an earlier life, for the node itself and for others. */
class SsdNodeTest {
    /** Sixteen blocks. */
    private static final String SMALL = "128KiB";

    private static final int PROMPT = 200;
    private static final int WHOLE = 192;

    @TempDir
    Path folder;

    private MooncakePluginProvider provider(TestGrid grid) {
        return patient(grid)
                .setDram(SMALL)
                .setEvictionPolicy("lru") // the tests say which prompt memory has lost by now
                .setSsd(new SsdTier().setPath(folder.toString()).setCapacity("4MiB"));
    }

    /** A machine that does much else is no reason to fail. */
    private static MooncakePluginProvider patient(TestGrid grid) {
        return grid.provider();
    }

    private static NodeRuntime runtime(Ignite ignite) {
        return ((MooncakeNode) Mooncake.of(ignite)).runtime();
    }

    private static void store(Ignite node, long seed) {
        store(node, "tiny", seed);
    }

    private static void store(Ignite node, String pool, long seed) {
        assertThat(TestBlocks.store(Mooncake.of(node).pool(pool), TestBlocks.prompt(seed, PROMPT)))
                .isEqualTo(12);
        assertThat(runtime(node).tiers().get(pool).flush(Deadline.ofMillis(20_000)))
                .isTrue();
    }

    private static Taken take(Ignite node, long seed) {
        return TestBlocks.take(
                Mooncake.of(node).pool("tiny"), TestBlocks.prompt(seed, PROMPT), Deadline.ofMillis(20_000));
    }

    /** The owner brings up for its peer what it can in half a second; a busy machine needs another request, for which the rest comes. */
    private static void awaitFetched(Ignite node, long seed) {
        TestGrid.await("all blocks", () -> take(node, seed).matched() == WHOLE);
        assertThat(Mooncake.of(node).statistics().remoteHitTokens()).isEqualTo(WHOLE);
    }

    private static void awaitIndexed(Ignite ignite, long seed) {
        int[] tokens = TestBlocks.prompt(seed, PROMPT);
        TestGrid.await(
                "index of " + ignite.name() + " knows " + WHOLE + " tokens",
                () -> runtime(ignite).index().holders("tiny", Tenant.DEFAULT, tokens).stream()
                        .anyMatch(holding -> holding.tokens() == WHOLE));
    }

    @Test
    void acquire_evictedBlocks_comeFromTheSsdOfTheNodeItselfAndOfItsPeer() {
        try (TestGrid grid = new TestGrid()) {
            Ignite owner = grid.start("owner", provider(grid));
            Ignite other = grid.start("other", patient(grid));
            for (long seed = 1; seed <= 4; seed++) {
                store(owner, seed);
            }
            assertThat(take(owner, 1)).isEqualTo(new Taken(WHOLE, WHOLE, 0, "NONE"));
            assertThat(Mooncake.of(owner).statistics().ssdBlocks()).isEqualTo(48);
            assertThat(Mooncake.of(owner).statistics().ssdLoads()).isGreaterThanOrEqualTo(12);

            // Only the owner's SSD has the second prompt; a quarter of the memory comes up a request.
            awaitIndexed(other, 2);
            awaitFetched(other, 2);

            List<String> tiers = new ArrayList<>();
            io.mooncake.memory.SsdTier.forEachView(
                    runtime(owner).localPools().get("tiny"),
                    runtime(owner).tiers().get("tiny"),
                    view -> tiers.add(tier(view)));
            assertThat(tiers).hasSize(48).contains("DRAM", "SSD");
        }
    }

    private static String tier(BlockView view) {
        return view.tier();
    }

    @Test
    void start_afterARestart_findsAnnouncesAndServesWhatTheSsdHas() {
        try (TestGrid grid = new TestGrid()) {
            Ignite other = grid.start("other", patient(grid));
            Ignite owner = grid.start("owner", provider(grid));
            store(owner, 1);
            store(owner, 2);
            Ignition.stop(owner.name(), true);

            Ignite again = grid.start("owner", provider(grid));
            awaitIndexed(other, 1);
            awaitIndexed(other, 2);
            assertThat(Mooncake.of(again).statistics().blocks()).isZero();
            // The router of the node itself knows, too.
            assertThat(Mooncake.of(again)
                            .explain("tiny", TestBlocks.prompt(2, PROMPT))
                            .pieces())
                    .containsExactly(new Explanation.Piece(
                            0, WHOLE, again.cluster().localNode().id(), "SSD", "LOCAL"));
            assertThat(take(again, 1)).isEqualTo(new Taken(WHOLE, WHOLE, 0, "NONE"));
            awaitFetched(other, 2);
            assertThat(Mooncake.of(again).statistics().ssdLoads()).isGreaterThanOrEqualTo(24);
        }
    }

    @Test
    void start_ssdOfAnotherNode_isRefusedWithBothNames() {
        try (TestGrid grid = new TestGrid()) {
            Ignite owner = grid.start("owner", provider(grid));
            store(owner, 1);
            assertThatThrownBy(() -> grid.start("thief", provider(grid)))
                    .as("open elsewhere")
                    .hasStackTraceContaining(folder.toString());
            Ignition.stop(owner.name(), true);
            assertThatThrownBy(() -> grid.start("thief", provider(grid)))
                    .as("owned by another node")
                    .hasStackTraceContaining("owner")
                    .hasStackTraceContaining("thief");
            Ignite again = grid.start("owner", provider(grid));
            assertThat(take(again, 1)).isEqualTo(new Taken(WHOLE, WHOLE, 0, "NONE"));
        }
    }

    /** Weights that roll: the old ones' blocks are there when they come back, unless the new ones needed the room. */
    @Test
    void start_otherModel_keepsTheFormerOnesBlocksUntilTheRoomIsNeeded() throws Exception {
        try (TestGrid grid = new TestGrid()) {
            Ignite owner = grid.start("owner", provider(grid));
            store(owner, 1);
            Ignition.stop(owner.name(), true);
            Path former = onlyFolder();

            Ignite rolled = grid.start("owner", provider(grid, "8MiB", "new", "newer"));
            store(rolled, "new", 1);
            assertThat(former).as("there is room").isDirectory();
            Ignition.stop(rolled.name(), true);
            Ignite back = grid.start("owner", provider(grid, "8MiB", "tiny", "spare"));
            assertThat(take(back, 1)).isEqualTo(new Taken(WHOLE, WHOLE, 0, "NONE"));
            Ignition.stop(back.name(), true);

            Ignite on = grid.start("owner", provider(grid, "8MiB", "new", "newer"));
            assertThat(former).isDirectory();
            store(on, "newer", 1);
            assertThat(former).as("three times four of eight MiB").doesNotExist();
            assertThat(metric(on, "paused")).isZero();
            assertThat(metric(on, "noRoom")).isZero();
        }
    }

    private Path onlyFolder() throws IOException {
        try (Stream<Path> folders = Files.list(folder)) {
            List<Path> all = folders.toList();
            assertThat(all).hasSize(1);
            return all.get(0);
        }
    }

    private MooncakePluginProvider provider(TestGrid grid, String capacity, String... pools) {
        return patient(grid)
                .setDram("256KiB")
                .setPools(Stream.of(pools).map(TestGrid::pool).toList())
                .setSsd(new SsdTier().setPath(folder.toString()).setCapacity(capacity));
    }

    private static long metric(Ignite node, String name) {
        LongMetric metric =
                ((IgniteEx) node).context().metric().registry("mooncake.ssd").findMetric(name);
        assertThat(metric).as(name).isNotNull();
        return metric.value();
    }
}
