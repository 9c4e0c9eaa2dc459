// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.node;

import static org.assertj.core.api.Assertions.assertThat;

import io.mooncake.ignite.KvBlocks;
import io.mooncake.ignite.Mooncake;
import io.mooncake.ignite.PoolBean;
import io.mooncake.ignite.Role;
import io.mooncake.ignite.Route;
import io.mooncake.ignite.TestBlocks;
import io.mooncake.ignite.TestGrid;
import io.mooncake.ignite.config.IdentityText;
import io.mooncake.ignite.internal.PoolNames;
import io.mooncake.memory.KvPool;
import io.mooncake.memory.Tenant;
import java.util.List;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import org.apache.ignite.Ignite;
import org.apache.ignite.Ignition;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** New weights beside old ones under one name, and two pools on each node. */
class RollingWeightsTest {
    private static TestGrid grid;
    private static Ignite old;
    private static Ignite renewed;
    private static Ignite client;

    private static PoolBean tiny(String model) {
        return TestGrid.pool("tiny").setModel(model);
    }

    @BeforeAll
    static void start() {
        grid = new TestGrid();
        old = grid.start("old", grid.provider().setPools(List.of(tiny("old weights"), TestGrid.pool("side"))));
        renewed = grid.start("new", grid.provider().setPools(List.of(tiny("new weights"), TestGrid.pool("side"))));
        client = grid.start("client", config -> config.setClientMode(true)
                .setPluginProviders(
                        grid.provider().setDram(null).setPools(List.of()).setRole(Role.OBSERVER)));
        for (Ignite node : List.of(old, renewed, client)) {
            TestGrid.await(
                    "all know each other", () -> runtime(node).members().all().size() == 3);
        }
    }

    private static NodeRuntime runtime(Ignite ignite) {
        return ((MooncakeNode) Mooncake.of(ignite)).runtime();
    }

    @AfterAll
    static void stop() {
        grid.close();
    }

    private static String id(String model) {
        return PoolNames.id(
                "tiny", IdentityText.encode(tiny(model).toDefinition().identity()));
    }

    private static UUID node(Ignite ignite) {
        return ignite.cluster().localNode().id();
    }

    private static UUID ranAt(Ignite router, String pool, int[] tokens) throws Exception {
        return Mooncake.of(router)
                .submit(Route.of(pool, tokens), context -> {
                    assertThat(context.pool().name()).isEqualTo("tiny");
                    return context.ignite().cluster().localNode().id();
                })
                .toCompletableFuture()
                .get(60, TimeUnit.SECONDS);
    }

    @Test
    void submit_twoWeightsUnderOneName_runsWhereTheOwnOnesAre() throws Exception {
        int[] tokens = TestBlocks.prompt(1, 65);
        // Not even a whole prompt of the other weights draws a request to them.
        TestBlocks.store(Mooncake.of(renewed).pool("tiny"), tokens);
        TestGrid.await(
                "the client knows the blocks of the new weights",
                () -> Mooncake.of(client)
                                .decide(Route.of(id("new weights"), tokens))
                                .localTokens()
                        == 64);

        assertThat(ranAt(old, "tiny", tokens)).isEqualTo(node(old));
        assertThat(ranAt(renewed, "tiny", tokens)).isEqualTo(node(renewed));
        assertThat(ranAt(old, id("new weights"), tokens)).isEqualTo(node(renewed));
        assertThat(ranAt(renewed, id("old weights"), tokens)).isEqualTo(node(old));
        assertThat(ranAt(client, id("old weights"), tokens)).isEqualTo(node(old));
        assertThat(ranAt(client, id("new weights"), tokens)).isEqualTo(node(renewed));
        // Who has neither takes the older one.
        assertThat(ranAt(client, "tiny", tokens)).isEqualTo(node(old));
    }

    @Test
    void pools_oldAndNewWeights_neverMeet() {
        int[] tokens = TestBlocks.prompt(2, 65);
        KvPool oldPool = Mooncake.of(old).pool("tiny");
        KvPool newPool = Mooncake.of(renewed).pool("tiny");
        assertThat(TestBlocks.store(oldPool, tokens)).isEqualTo(4);
        TestGrid.await(
                "the client knows the blocks of the old weights",
                () -> Mooncake.of(client)
                                .decide(Route.of(id("old weights"), tokens))
                                .localTokens()
                        == 64);

        assertThat(TestBlocks.take(newPool, tokens).matched()).isZero();
        assertThat(Mooncake.of(renewed).explain("tiny", tokens).reusableTokens())
                .isEqualTo(64);
        assertThat(Mooncake.of(renewed).explain("tiny", tokens).pieces()).isEmpty();
        assertThat(TestBlocks.take(oldPool, tokens).local()).isEqualTo(64);
        assertThat(Mooncake.of(old).pool(id("old weights")).name()).isEqualTo("tiny");
    }

    @Test
    void pools_twoOnANode_areSharedEachWithItsOwn() {
        int[] tokens = TestBlocks.prompt(3, 65);
        KvPool side = Mooncake.of(old).pool("side");
        TestBlocks.store(side, tokens);
        KvBlocks there = Mooncake.of(renewed).blocks("side", Tenant.DEFAULT);

        TestGrid.await(
                "the block is seen on the other node",
                () -> Mooncake.of(renewed).decide(Route.of("side", tokens)).bestTokens() == 64);
        assertThat(TestBlocks.take(Mooncake.of(renewed).pool("side"), tokens).remote())
                .isEqualTo(64);
        assertThat(TestBlocks.take(Mooncake.of(renewed).pool("tiny"), tokens).matched())
                .isZero();
        assertThat(there.root())
                .isNotEqualTo(
                        Mooncake.of(renewed).blocks("tiny", Tenant.DEFAULT).root());
    }

    @Test
    void index_lastNodeOfSomeWeightsLeaves_theirIndexGoes() {
        Ignite third = grid.start("third", grid.provider().setPools(List.of(tiny("third weights"))));
        TestGrid.await("the client knows the third weights", () -> pools().contains(id("third weights")));

        Ignition.stop(third.name(), true);

        TestGrid.await("the index of weights that nobody has is gone", () -> !pools().contains(id("third weights")));
        assertThat(pools()).contains("tiny", "side");
    }

    private static Set<String> pools() {
        return runtime(client).index().pools();
    }
}
