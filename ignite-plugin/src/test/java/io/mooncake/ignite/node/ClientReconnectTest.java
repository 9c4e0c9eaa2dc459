// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.node;

import static org.assertj.core.api.Assertions.assertThat;

import io.mooncake.ignite.Mooncake;
import io.mooncake.ignite.Role;
import io.mooncake.ignite.Route;
import io.mooncake.ignite.TestBlocks;
import io.mooncake.ignite.TestGrid;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.apache.ignite.Ignite;
import org.apache.ignite.spi.communication.tcp.TcpCommunicationSpi;
import org.apache.ignite.spi.discovery.tcp.TcpDiscoverySpi;
import org.apache.ignite.spi.discovery.tcp.ipfinder.vm.TcpDiscoveryVmIpFinder;
import org.junit.jupiter.api.Test;

/** A client that the cluster dropped comes back under another node id, with the engine it had: everything works as before. */
class ClientReconnectTest {
    /** A job waits for it; static, for jobs are serialised on their way. */
    private static final CountDownLatch SEEN = new CountDownLatch(1);

    private static UUID id(Ignite node) {
        return node.cluster().localNode().id();
    }

    /** The servers declare the client failed; it joins anew. */
    private static void reconnect(Ignite server, Ignite client) {
        UUID before = id(client);
        ((TcpDiscoverySpi) server.configuration().getDiscoverySpi()).failNode(before, "a test");
        TestGrid.await(
                "the client is back",
                () -> !id(client).equals(before) && server.cluster().node(id(client)) != null);
    }

    private static void awaitMatch(Ignite node, int[] tokens, int expected) {
        TestGrid.await(
                "index knows " + expected + " tokens",
                () -> Mooncake.of(node).explain("tiny", tokens).matches().stream()
                        .anyMatch(match -> match.tokens() == expected));
    }

    @Test
    void reconnect_observer_followsAndSubmitsAsBefore() throws Exception {
        try (TestGrid grid = new TestGrid()) {
            Ignite first = grid.start("a");
            Ignite client = grid.start("client", config -> config.setClientMode(true)
                    .setPluginProviders(grid.provider().setDram(null).setPools(List.of())));
            int[] before = TestBlocks.prompt(1, 100);
            TestBlocks.store(Mooncake.of(first).pool("tiny"), before);
            awaitMatch(client, before, 96);

            reconnect(first, client);
            int[] after = TestBlocks.prompt(2, 100);
            TestBlocks.store(Mooncake.of(first).pool("tiny"), after);

            awaitMatch(client, after, 96);
            awaitMatch(client, before, 96);
            assertThat(Mooncake.of(client).storeNodes()).containsExactly(id(first));
            assertThat(Mooncake.of(client)
                            .submit(Route.of("tiny", after), context -> context.decision()
                                    .localTokens())
                            .toCompletableFuture()
                            .get(60, TimeUnit.SECONDS))
                    .isEqualTo(96);
        }
    }

    @Test
    void routerOfTheClientDies_itsEntriesAreVoidAndTheOthersAreUsed() throws Exception {
        try (TestGrid grid = new TestGrid()) {
            Ignite first = grid.start("a");
            Ignite second = grid.start("b");
            Ignite client = grid.start("client", config -> {
                config.setClientMode(true)
                        .setPluginProviders(grid.provider().setDram(null).setPools(List.of()));
                // So long it looks for another router before it gives its id up.
                ((TcpDiscoverySpi) config.getDiscoverySpi()).setNetworkTimeout(20_000);
                // It comes in by the first node, and may find the second one.
                ((TcpDiscoveryVmIpFinder) ((TcpDiscoverySpi) config.getDiscoverySpi()).getIpFinder())
                        .setAddresses(List.of("127.0.0.1:" + grid.ports(), "127.0.0.1:" + (grid.ports() + 1)));
            });
            int[] tokens = TestBlocks.prompt(4, 100);
            TestBlocks.store(Mooncake.of(first).pool("tiny"), tokens);
            awaitMatch(client, tokens, 96);
            UUID clientId = id(client);

            long killed = System.nanoTime();
            ((TcpDiscoverySpi) first.configuration().getDiscoverySpi()).simulateNodeFailure();
            ((TcpCommunicationSpi) first.configuration().getCommunicationSpi()).simulateNodeFailure();
            TestGrid.await(
                    "its entries are void",
                    () -> Mooncake.of(client).explain("tiny", tokens).matches().isEmpty()
                            // It may still say that it leaves, which already takes it out of what is matched.
                            && Mooncake.of(client).storeNodes().equals(List.of(id(second))));
            System.out.println("client: entries of the dead node void after "
                    + TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - killed) + " ms");

            assertThat(id(client)).isEqualTo(clientId);
            assertThat(Mooncake.of(client).storeNodes()).containsExactly(id(second));
            int[] later = TestBlocks.prompt(5, 100);
            TestBlocks.store(Mooncake.of(second).pool("tiny"), later);
            awaitMatch(client, later, 96);
            assertThat(Mooncake.of(client)
                            .submit(Route.of("tiny", later), context -> context.decision()
                                    .localTokens())
                            .toCompletableFuture()
                            .get(60, TimeUnit.SECONDS))
                    .isEqualTo(96);
        }
    }

    @Test
    void reconnect_computeClient_fetchesRunsJobsAndReportsLoad() throws Exception {
        try (TestGrid grid = new TestGrid()) {
            Ignite first = grid.start("a");
            Ignite client = grid.start("client", config -> config.setClientMode(true)
                    .setPluginProviders(grid.provider().setRole(Role.COMPUTE)));
            TestGrid.await("two members", () -> Mooncake.of(first).storeNodes().size() == 2);

            reconnect(first, client);
            int[] after = TestBlocks.prompt(3, 100);
            TestBlocks.store(Mooncake.of(first).pool("tiny"), after);
            awaitMatch(client, after, 96);
            assertThat(TestBlocks.take(Mooncake.of(client).pool("tiny"), after))
                    .isEqualTo(new TestBlocks.Taken(96, 0, 96, "NONE"));
            TestGrid.await(
                    "the server knows its new id",
                    () -> Mooncake.of(first).storeNodes().contains(id(client)));
            TestGrid.await(
                    "the client knows its new id", () -> Mooncake.of(client).explain("tiny", after).matches().stream()
                            .anyMatch(match -> match.local() && match.nodeId().equals(id(client))));
            UUID ran = Mooncake.of(first)
                    .submit(
                            Route.of("tiny", after).onNode(id(client)),
                            context -> context.ignite().cluster().localNode().id())
                    .toCompletableFuture()
                    .get(60, TimeUnit.SECONDS);
            assertThat(ran).isEqualTo(id(client));

            // What others send to it is seen by all routers: a request of its own counts at the server.
            var running = Mooncake.of(client).submit(Route.of("tiny", after).onNode(id(client)), context -> {
                SEEN.await(120, TimeUnit.SECONDS);
                return 1;
            });
            try {
                TestGrid.await(
                        "its load is seen",
                        () -> Mooncake.of(first)
                                        .decide(Route.of("tiny", after).onNode(id(client)))
                                        .inFlight()
                                == 1);
            } finally {
                SEEN.countDown();
            }
            running.toCompletableFuture().get(60, TimeUnit.SECONDS);
        }
    }
}
