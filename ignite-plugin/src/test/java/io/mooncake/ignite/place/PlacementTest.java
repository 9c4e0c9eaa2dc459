// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.place;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.mooncake.base.MooncakeException;
import io.mooncake.ignite.BlockResult;
import io.mooncake.ignite.DrainResult;
import io.mooncake.ignite.KvBlocks;
import io.mooncake.ignite.Mooncake;
import io.mooncake.ignite.Route;
import io.mooncake.ignite.SsdTier;
import io.mooncake.ignite.TestBlocks;
import io.mooncake.ignite.TestBlocks.Taken;
import io.mooncake.ignite.TestGrid;
import io.mooncake.ignite.pool.ClusterKvPool;
import io.mooncake.memory.BlockKey;
import io.mooncake.memory.KvPool;
import io.mooncake.memory.Tenant;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.apache.ignite.Ignite;
import org.apache.ignite.Ignition;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Copies on nodes of one cluster: a node that leaves loses nothing, one that comes is filled, a lost copy is made again. */
class PlacementTest {
    private static final int[] TOKENS = TestBlocks.prompt(71, 200);
    private static final int BLOCKS = 12;

    private static KvPool pool(Ignite ignite) {
        return Mooncake.of(ignite).pool("tiny");
    }

    private static long blocks(Ignite ignite) {
        return Mooncake.of(ignite).statistics().blocks();
    }

    private static void awaitIndexed(Ignite ignite, long entries) {
        TestGrid.await(
                entries + " entries in the index of " + ignite.name(),
                () -> Mooncake.of(ignite).statistics().indexEntries() == entries);
    }

    private static void awaitStores(Ignite ignite, int nodes) {
        TestGrid.await(
                nodes + " nodes known on " + ignite.name(),
                () -> Mooncake.of(ignite).storeNodes().size() == nodes);
    }

    @Test
    void keep_chain_isOnTwoNodesAndAgainAfterALoss() {
        try (TestGrid grid = new TestGrid()) {
            Ignite first = grid.start("first");
            Ignite second = grid.start("second");
            awaitStores(first, 2);
            TestBlocks.store(pool(first), TOKENS);
            KvBlocks blocks = Mooncake.of(first).blocks("tiny");
            List<BlockKey> chain = ((ClusterKvPool) pool(first)).local().chain(Tenant.DEFAULT, TOKENS);
            List<BlockKey> last = List.of(chain.get(BLOCKS - 1));
            assertThatThrownBy(() -> blocks.keep(last, 3, Duration.ofSeconds(20)))
                    .hasMessageContaining("copies: 3 (expected: 1..2");

            TestGrid.await(
                    "the cluster takes rows",
                    () -> blocks.keep(last, 2, Duration.ofSeconds(20)).get(0).status() == BlockResult.Status.DONE);
            TestGrid.await("all of the chain on both", () -> blocks.exists(chain).stream()
                    .allMatch(result -> result.copies() == 2));
            Ignition.stop(second.name(), true);
            Ignite third = grid.start("third");

            awaitIndexed(third, BLOCKS);
            TestGrid.await(
                    "again on two", () -> blocks.exists(chain).stream().allMatch(result -> result.copies() == 2));
            assertThat(blocks(third)).isEqualTo(BLOCKS);
        }
    }

    @Test
    void drain_soleHolder_othersHaveEverything() {
        try (TestGrid grid = new TestGrid()) {
            Ignite leaving = grid.start("leaving");
            Ignite second = grid.start("second");
            Ignite third = grid.start("third");
            TestBlocks.store(pool(leaving), TOKENS);
            awaitIndexed(second, BLOCKS);
            awaitStores(leaving, 3);

            DrainResult drained = Mooncake.of(leaving).drain(Duration.ofSeconds(30));

            assertThat(drained.moved()).isEqualTo(BLOCKS);
            assertThat(drained.left()).isZero();
            assertThat(drained.bytes())
                    .isEqualTo((long) BLOCKS * pool(leaving).layout().payloadBytes());
            assertThat(blocks(second) + blocks(third)).isGreaterThanOrEqualTo(BLOCKS);
            Ignition.stop(leaving.name(), true);
            TestGrid.await(
                    "all of it from the two that stay",
                    () -> TestBlocks.take(pool(second), TOKENS).matched() == 192);
        }
    }

    @Test
    void drain_whatOthersHave_isNotMoved() {
        try (TestGrid grid = new TestGrid()) {
            Ignite leaving = grid.start("leaving");
            Ignite second = grid.start("second");
            TestBlocks.store(pool(leaving), TOKENS);
            awaitIndexed(second, BLOCKS);
            TestGrid.await(
                    "the second takes them",
                    () -> TestBlocks.take(pool(second), TOKENS).matched() == 192);
            awaitIndexed(leaving, BLOCKS);

            DrainResult drained = Mooncake.of(leaving).drain(Duration.ofSeconds(30));

            assertThat(drained.moved()).isZero();
            assertThat(drained.left()).isZero();
        }
    }

    @Test
    void drain_alone_endsAtOnce() {
        try (TestGrid grid = new TestGrid()) {
            Ignite alone = grid.start("alone");
            TestBlocks.store(pool(alone), TOKENS);

            DrainResult drained = Mooncake.of(alone).drain(Duration.ofSeconds(30));

            assertThat(drained.moved()).isZero();
            assertThat(drained.left()).isEqualTo(BLOCKS);
            assertThat(drained.took()).isLessThan(Duration.ofSeconds(20));
        }
    }

    @Test
    void drain_node_getsNoRequestsUntilItStays() {
        try (TestGrid grid = new TestGrid()) {
            Ignite leaving = grid.start("leaving");
            Ignite second = grid.start("second");
            TestBlocks.store(pool(leaving), TOKENS);
            awaitIndexed(second, BLOCKS);
            awaitStores(leaving, 2);
            Mooncake.of(leaving).drain(Duration.ofSeconds(30));
            Route route = Route.of("tiny", TOKENS);

            TestGrid.await("the leaving node is not chosen any more", () -> Mooncake.of(second)
                    .decide(route)
                    .nodeId()
                    .equals(second.cluster().localNode().id()));
            assertThat(Mooncake.of(leaving).decide(route).nodeId())
                    .isEqualTo(second.cluster().localNode().id());

            Mooncake.of(leaving).resume();
            // Both are as good now; the one that was not chosen before comes first at some time.
            TestGrid.await("it gives copies to the node that stays after all", () -> {
                DrainResult back = Mooncake.of(second).drain(Duration.ofSeconds(30));
                Mooncake.of(second).resume();
                return back.left() == 0;
            });
        }
    }

    @Test
    void stop_orderly_drainsFirst() {
        try (TestGrid grid = new TestGrid()) {
            Ignite leaving = grid.start("leaving", grid.provider().setDrainOnStopTimeoutMillis(30_000));
            Ignite second = grid.start("second");
            TestBlocks.store(pool(leaving), TOKENS);
            awaitIndexed(second, BLOCKS);
            awaitStores(leaving, 2);

            Ignition.stop(leaving.name(), true);

            assertThat(blocks(second)).isEqualTo(BLOCKS);
            assertThat(TestBlocks.take(pool(second), TOKENS).local()).isEqualTo(192);
        }
    }

    @Test
    void replicas_two_areMadeAndMadeAgain() {
        try (TestGrid grid = new TestGrid()) {
            Ignite first = grid.start("first", grid.provider().setReplicas(2));
            Ignite second = grid.start("second", grid.provider().setReplicas(2));
            Ignite third = grid.start("third", grid.provider().setReplicas(2));
            TestBlocks.store(pool(first), TOKENS);

            TestGrid.await("a second copy of each block", () -> blocks(second) + blocks(third) >= BLOCKS);
            TestGrid.await(
                    "the first knows of them",
                    () -> Mooncake.of(first).statistics().indexEntries() >= BLOCKS);
            Ignition.stop(first.name(), true);

            TestGrid.await("the lost copies again", () -> blocks(second) == BLOCKS && blocks(third) == BLOCKS);
            assertThat(TestBlocks.take(pool(second), TOKENS).local()).isEqualTo(192);
            assertThat(TestBlocks.take(pool(third), TOKENS).local()).isEqualTo(192);
        }
    }

    @Test
    void replicas_withSsds_areMade(@TempDir Path folder) throws Exception {
        try (TestGrid grid = new TestGrid()) {
            List<Ignite> nodes = new ArrayList<>();
            for (String name : List.of("first", "second", "third")) {
                nodes.add(grid.start(
                        name,
                        grid.provider()
                                .setReplicas(2)
                                .setSsd(new SsdTier()
                                        .setPath(Files.createDirectory(folder.resolve(name))
                                                .toString())
                                        .setCapacity("4MiB"))));
            }
            TestBlocks.store(pool(nodes.get(0)), TOKENS);

            TestGrid.await("a second copy of each block", () -> blocks(nodes.get(1)) + blocks(nodes.get(2)) >= BLOCKS);
        }
    }

    @Test
    void warmUp_emptyNode_hasWhatPeersUse() {
        try (TestGrid grid = new TestGrid()) {
            Ignite first = grid.start("first");
            TestBlocks.store(pool(first), TOKENS);
            TestBlocks.store(pool(first), TestBlocks.prompt(72, 200));
            TestBlocks.take(pool(first), TOKENS);
            Ignite fresh = grid.start("fresh");
            Mooncake mooncake = Mooncake.of(fresh);

            TestGrid.await(
                    "the used prompt comes",
                    () -> mooncake.warmUp("tiny", BLOCKS, Duration.ofSeconds(10)) >= 0 && blocks(fresh) >= BLOCKS);

            assertThat(TestBlocks.take(pool(fresh), TOKENS)).isEqualTo(new Taken(192, 192, 0, "NONE"));
            assertThatThrownBy(() -> mooncake.warmUp("none", 1, Duration.ofSeconds(1)))
                    .isInstanceOf(MooncakeException.class)
                    .hasMessageContaining("none")
                    .hasMessageContaining("[tiny]");
            assertThatThrownBy(() -> mooncake.warmUp("tiny", 0, Duration.ofSeconds(1)))
                    .hasMessageContaining("maxBlocks: 0");
            assertThatThrownBy(() -> mooncake.drain(Duration.ZERO)).hasMessageContaining("timeout: PT0S");
        }
    }

    @Test
    void warmUpShare_startingNode_fillsItself() {
        try (TestGrid grid = new TestGrid()) {
            Ignite first = grid.start("first");
            TestBlocks.store(pool(first), TOKENS);
            TestBlocks.take(pool(first), TOKENS);

            Ignite fresh = grid.start("fresh", grid.provider().setWarmUpShare(0.5));

            TestGrid.await("it fills itself", () -> blocks(fresh) == BLOCKS);
        }
    }

    @Test
    void drain_tenants_keepTheirNames() {
        try (TestGrid grid = new TestGrid()) {
            Ignite leaving = grid.start("leaving");
            Ignite second = grid.start("second");
            io.mooncake.memory.Tenant tenant = new io.mooncake.memory.Tenant("acme", new byte[] {1, 2, 3});
            TestBlocks.store(pool(leaving).forTenant(tenant), TOKENS);
            awaitIndexed(second, BLOCKS);
            awaitStores(leaving, 2);

            assertThat(Mooncake.of(leaving).drain(Duration.ofSeconds(30)).moved())
                    .isEqualTo(BLOCKS);

            assertThat(TestBlocks.take(pool(second).forTenant(tenant), TOKENS).local())
                    .isEqualTo(192);
            assertThat(TestBlocks.take(pool(second), TOKENS).matched()).isZero();
            assertThat(List.of(blocks(second))).containsExactly((long) BLOCKS);
        }
    }
}
