// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.node;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;

import io.mooncake.base.MooncakeException;
import io.mooncake.ignite.Mooncake;
import io.mooncake.ignite.MooncakePluginProvider;
import io.mooncake.ignite.TestGrid;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import org.apache.ignite.Ignite;
import org.apache.ignite.Ignition;
import org.apache.ignite.configuration.IgniteConfiguration;
import org.apache.ignite.events.EventType;
import org.apache.ignite.events.NodeValidationFailedEvent;
import org.apache.ignite.internal.IgniteNodeAttributes;
import org.apache.ignite.spi.discovery.tcp.TcpDiscoverySpi;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** Who may join, who may not, and what the refused one is told. */
class JoinTest {
    private static Throwable root(Throwable error) {
        Throwable root = error;
        while (root.getCause() != null) {
            root = root.getCause();
        }
        return root;
    }

    @Test
    void join_plainServerAndClient_areWelcome() {
        try (TestGrid grid = new TestGrid()) {
            Ignite ours = grid.start("a");
            Ignite server = grid.start("plain", config -> {});
            Ignite client = grid.start("plain-client", config -> config.setClientMode(true));
            assertThat(ours.cluster().nodes()).hasSize(3);
            client.getOrCreateCache(TestGrid.smallCache("c")).put(1, 2);
            assertThat(server.cache("c").get(1)).isEqualTo(2);
            assertThat(Mooncake.of(ours).storeNodes())
                    .containsExactly(ours.cluster().localNode().id());
            Throwable error = catchThrowable(() -> Mooncake.of(server));
            assertThat(error)
                    .isInstanceOf(MooncakeException.class)
                    .hasMessageContaining("<property name=\"pluginProviders\">");
        }
    }

    @Test
    void attributes_ofOurNode_areJdkTypesOnly() {
        try (TestGrid grid = new TestGrid()) {
            Ignite ours = grid.start("a");
            Map<String, Object> attributes = ours.cluster().localNode().attributes();
            assertThat(attributes.keySet())
                    .contains(
                            "mooncake.endpoint",
                            "mooncake.role",
                            "mooncake.protocol",
                            "mooncake.pools",
                            "mooncake.proof");
            attributes.forEach((name, value) -> {
                if (name.startsWith("mooncake.")) {
                    assertThat(value.getClass().getName()).as(name).startsWith("java.");
                    assertThat(value.toString()).as(name).doesNotContain(TestGrid.SECRET);
                }
            });
        }
    }

    @Test
    void join_sameNameOtherBlockSize_isRefusedWithBothValues() {
        try (TestGrid grid = new TestGrid()) {
            grid.start("a");
            MooncakePluginProvider other =
                    grid.provider().setPools(List.of(TestGrid.pool("tiny").setBlockTokens(32)));
            assertRefused(
                    grid,
                    "b",
                    other,
                    "Mooncake pool tiny: blockTokens 32 against 16 (node ",
                    "expected: one layout a pool name");
        }
    }

    @Test
    void join_sameNameOtherLayout_isRefusedWithBothValues() {
        try (TestGrid grid = new TestGrid()) {
            grid.start("a");
            MooncakePluginProvider other = grid.provider()
                    .setPools(List.of(TestGrid.pool("tiny").setLayers(3).setKvHeads(1)));
            assertRefused(grid, "b", other, "Mooncake pool tiny: layers 3 against 2, kvHeads 1 against 2 (node ");
        }
    }

    @Test
    void join_sameNameOtherLayout_isRefusedWithinTwoSecondsOfTheRequest() throws Exception {
        long least = Long.MAX_VALUE;
        try (TestGrid grid = new TestGrid()) {
            Ignite first = grid.start("a", config -> {
                config.setPluginProviders(grid.provider());
                config.setIncludeEventTypes(EventType.EVT_NODE_VALIDATION_FAILED);
            });
            // By the node's name: who is refused asks again before it gives up, so that a refusal may come after its
            // attempt.
            Map<String, CompletableFuture<Long>> refusals = new ConcurrentHashMap<>();
            first.events()
                    .localListen(
                            event -> refusals.computeIfAbsent(
                                            ((NodeValidationFailedEvent) event)
                                                    .eventNode()
                                                    .attribute(IgniteNodeAttributes.ATTR_IGNITE_INSTANCE_NAME),
                                            name -> new CompletableFuture<>())
                                    .complete(System.nanoTime()),
                            EventType.EVT_NODE_VALIDATION_FAILED);
            // A machine that is busy with other things makes some of them late.
            for (int attempt = 0; attempt < 5 && least > TimeUnit.SECONDS.toNanos(2); attempt++) {
                IgniteConfiguration config = grid.configuration("b" + attempt)
                        .setPluginProviders(grid.provider()
                                .setPools(List.of(
                                        TestGrid.pool("tiny").setModel("new").setBlockTokens(32))));
                TimedDiscovery discovery = new TimedDiscovery();
                TcpDiscoverySpi usual = (TcpDiscoverySpi) config.getDiscoverySpi();
                discovery
                        .setIpFinder(usual.getIpFinder())
                        .setLocalPort(grid.ports())
                        .setLocalPortRange(14);
                discovery.setNetworkTimeout(1_000);
                config.setDiscoverySpi(discovery);
                assertThat(root(catchThrowable(() -> Ignition.start(config))))
                        .hasMessageContaining("Mooncake pool tiny: blockTokens 32 against 16 (node ");
                long refusedAt = refusals.computeIfAbsent(
                                config.getIgniteInstanceName(), name -> new CompletableFuture<>())
                        .get(60, TimeUnit.SECONDS);
                least = Math.min(least, refusedAt - discovery.requestedAt);
            }
        }
        assertThat(least).isBetween(0L, TimeUnit.SECONDS.toNanos(2));
    }

    /** Notes when it begins to ask for its node to be let in. */
    private static final class TimedDiscovery extends TcpDiscoverySpi {
        private volatile long requestedAt;

        @Override
        public void spiStart(@Nullable String name) {
            requestedAt = System.nanoTime();
            super.spiStart(name);
        }
    }

    @Test
    void join_otherNameOtherLayout_isAnotherPool() {
        try (TestGrid grid = new TestGrid()) {
            Ignite first = grid.start("a");
            grid.start(
                    "b", grid.provider().setPools(List.of(TestGrid.pool("large").setLayers(3))));
            assertThat(first.cluster().nodes()).hasSize(2);
        }
    }

    @Test
    void join_wrongSecret_isRefusedWithoutShowingIt() {
        try (TestGrid grid = new TestGrid()) {
            grid.start("a");
            MooncakePluginProvider other = grid.provider().setSecret("another secret, long enough");
            Throwable error =
                    assertRefused(grid, "b", other, "Mooncake secret: node ", "does not prove the secret of node ");
            assertThat(error.getMessage()).doesNotContain(TestGrid.SECRET).doesNotContain("another secret");
        }
    }

    @Test
    void join_plainCoordinator_theJoinerChecksItself() {
        try (TestGrid grid = new TestGrid()) {
            grid.start("plain", config -> {});
            grid.start("a");
            MooncakePluginProvider other =
                    grid.provider().setPools(List.of(TestGrid.pool("tiny").setBlockTokens(32)));
            assertRefused(grid, "b", other, "Mooncake pool tiny: blockTokens ");
        }
    }

    @Test
    void join_disjointProtocol_isRefusedWithBothRanges() {
        try (TestGrid grid = new TestGrid()) {
            Ignite first = grid.start("a");
            NodeRuntime runtime = ((MooncakeNode) Mooncake.of(first)).runtime();
            IgniteConfiguration config = grid.configuration("b");
            config.setUserAttributes(Map.of("mooncake.role", "STORE", "mooncake.protocol", "7..9"));
            long startedAt = System.nanoTime();
            Throwable error = catchThrowable(() -> Ignition.start(config));
            assertThat(root(error))
                    .hasMessageContaining("Mooncake protocol: 7..9 on node ")
                    .hasMessageContaining("meets 1..2");
            assertThat(TimeUnit.NANOSECONDS.toSeconds(System.nanoTime() - startedAt))
                    .isLessThan(60);
            assertThat(runtime.members().all()).hasSize(1);
        }
    }

    private static Throwable assertRefused(
            TestGrid grid, String name, MooncakePluginProvider provider, String... expected) {
        IgniteConfiguration config = grid.configuration(name).setPluginProviders(provider);
        Throwable error = catchThrowable(() -> Ignition.start(config));
        assertThat(error).as("refused").isNotNull();
        assertThat(Ignition.allGrids()).as("nodes left").noneMatch(node -> node.name()
                .equals(config.getIgniteInstanceName()));
        assertThat(root(error).getMessage()).contains(expected);
        return root(error);
    }
}
