// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.blocks;

import static org.assertj.core.api.Assertions.assertThat;

import io.mooncake.ignite.BlockResult;
import io.mooncake.ignite.BlockResult.Status;
import io.mooncake.ignite.KvBlocks;
import io.mooncake.ignite.Mooncake;
import io.mooncake.ignite.SsdTier;
import io.mooncake.ignite.TestBlocks;
import io.mooncake.ignite.TestGrid;
import io.mooncake.ignite.node.StateOf;
import io.mooncake.ignite.pool.ClusterKvPool;
import io.mooncake.memory.BlockKey;
import io.mooncake.memory.LocalKvPool;
import io.mooncake.memory.Tenant;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.apache.ignite.Ignite;
import org.apache.ignite.Ignition;
import org.apache.ignite.cluster.ClusterState;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A hard pin is the cluster's: it outlives the node that keeps it. */
class LastingPinsTest {
    private static final Duration PATIENCE = Duration.ofSeconds(20);
    private static final int[] TOKENS = TestBlocks.prompt(17, 50);

    @TempDir
    Path folder;

    private static LocalKvPool pool(Ignite node) {
        return ((ClusterKvPool) Mooncake.of(node).pool("tiny")).local();
    }

    private static KvBlocks blocks(Ignite node) {
        return Mooncake.of(node).blocks("tiny");
    }

    private static BlockKey last(Ignite node) {
        List<BlockKey> chain = pool(node).chain(Tenant.DEFAULT, TOKENS);
        return chain.get(chain.size() - 1);
    }

    /** Pins; a cluster that has just come up takes no rows for a moment. */
    private static void pinForGood(Ignite node, BlockKey key) {
        TestGrid.await("a pin that lasts", () -> {
            BlockResult pinned = blocks(node).pinHard(List.of(key), PATIENCE).get(0);
            assertThat(pinned.status()).isEqualTo(Status.PINNED);
            return pinned.detail().equals("on this node");
        });
    }

    @Test
    void pinHard_pinnerLeaves_anotherHolderPins() {
        try (TestGrid grid = new TestGrid()) {
            Ignite first = grid.start("first");
            Ignite second = grid.start("second");
            TestBlocks.store(Mooncake.of(first).pool("tiny"), TOKENS);
            BlockKey key = last(first);
            TestGrid.await(
                    "both have it",
                    () -> TestBlocks.take(Mooncake.of(second).pool("tiny"), TOKENS)
                                    .matched()
                            == 48);
            pinForGood(first, key);
            TestGrid.await(
                    "the second knows the row",
                    () -> !StateOf.node(second).pins().all().isEmpty());
            assertThat(pool(second).isPinnedHard(key)).isFalse();

            Ignition.stop(first.name(), true);

            TestGrid.await("pinned on the other", () -> pool(second).isPinnedHard(key));
            TestGrid.await(
                    "unpinned",
                    () -> blocks(second).unpin(List.of(key), PATIENCE).get(0).status() == Status.DONE);
            assertThat(StateOf.node(second).pins().all()).isEmpty();
            TestGrid.await("it stays so", () -> !pool(second).isPinnedHard(key));
        }
    }

    @Test
    void pinHard_nodeRestartsWithItsSsd_isPinnedAgain() throws Exception {
        Path ssd = Files.createDirectory(folder.resolve("ssd"));
        try (TestGrid grid = new TestGrid()) {
            Ignite before = start(grid, ssd);
            before.cluster().state(ClusterState.ACTIVE);
            TestBlocks.store(Mooncake.of(before).pool("tiny"), TOKENS);
            BlockKey key = last(before);
            pinForGood(before, key);
            Ignition.stop(before.name(), true);

            Ignite after = start(grid, ssd);

            TestGrid.await("pinned again", () -> pool(after).isPinnedHard(key));
        }
    }

    @Test
    void pinHard_clusterInactive_saysThatItDoesNotLast() {
        try (TestGrid grid = new TestGrid()) {
            Ignite node = grid.start("first");
            node.cluster().state(ClusterState.INACTIVE);
            TestBlocks.store(Mooncake.of(node).pool("tiny"), TOKENS);
            BlockResult pinned =
                    blocks(node).pinHard(List.of(last(node)), PATIENCE).get(0);
            assertThat(pinned.status()).isEqualTo(Status.PINNED);
            assertThat(pinned.detail()).contains("ends with that node: cluster state: INACTIVE");
            assertThat(blocks(node).unpin(List.of(last(node)), PATIENCE).get(0).status())
                    .isEqualTo(Status.DONE);
        }
    }

    private Ignite start(TestGrid grid, Path ssd) {
        return grid.start("first", config -> {
            config.setPluginProviders(grid.provider()
                            .setSsd(new SsdTier().setPath(ssd.toString()).setCapacity("4MiB")))
                    .setWorkDirectory(folder.toString());
            config.getDataStorageConfiguration()
                    .setWalSegmentSize(4 << 20)
                    .getDefaultDataRegionConfiguration()
                    .setPersistenceEnabled(true);
        });
    }
}
