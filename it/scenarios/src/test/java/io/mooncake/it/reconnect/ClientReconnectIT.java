// SPDX-License-Identifier: Apache-2.0
package io.mooncake.it.reconnect;

import static org.assertj.core.api.Assertions.assertThat;

import io.mooncake.ignite.Mooncake;
import io.mooncake.ignite.Role;
import io.mooncake.ignite.Route;
import io.mooncake.testkit.MooncakeCluster;
import io.mooncake.testkit.SeededBlocks;
import io.mooncake.testkit.SeededBlocks.Taken;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.apache.ignite.Ignite;
import org.apache.ignite.IgniteClientDisconnectedException;
import org.apache.ignite.IgniteSystemProperties;
import org.apache.ignite.configuration.IgniteConfiguration;
import org.apache.ignite.spi.discovery.tcp.TcpDiscoverySpi;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** A client that the cluster dropped comes back under another node id, with the engine it had: everything works as before. */
class ClientReconnectIT {
    /** A job waits for it; static, for jobs are serialised on their way. */
    private static final CountDownLatch SEEN = new CountDownLatch(1);

    /** Ignite lets a client that was dropped wait ten seconds before it joins anew. */
    @BeforeAll
    static void comeBackSoon() {
        System.setProperty(IgniteSystemProperties.IGNITE_DISCO_FAILED_CLIENT_RECONNECT_DELAY, "200");
    }

    @AfterAll
    static void asIgniteHasIt() {
        System.clearProperty(IgniteSystemProperties.IGNITE_DISCO_FAILED_CLIENT_RECONNECT_DELAY);
    }

    private static UUID id(Ignite node) {
        return node.cluster().localNode().id();
    }

    private static MooncakeCluster.Builder pools(int nodes) {
        return MooncakeCluster.builder().nodes(nodes).dram("4MiB").pools(MooncakeCluster.smallPool("tiny"));
    }

    /** A client looks so long for another router before it gives its id up. */
    private static IgniteConfiguration patient(IgniteConfiguration config) {
        ((TcpDiscoverySpi) config.getDiscoverySpi()).setNetworkTimeout(20_000);
        return config;
    }

    /** The servers declare the client failed; it joins anew. */
    private static void reconnect(Ignite server, Ignite client) {
        UUID before = id(client);
        ((TcpDiscoverySpi) server.configuration().getDiscoverySpi()).failNode(before, "a test");
        MooncakeCluster.await("the client is back", () -> isBack(server, client, before));
    }

    private static boolean isBack(Ignite server, Ignite client, UUID before) {
        try {
            return !id(client).equals(before) && server.cluster().node(id(client)) != null;
        } catch (IgniteClientDisconnectedException e) {
            return false;
        }
    }

    private static void awaitMatch(Ignite node, int[] tokens, int expected) {
        MooncakeCluster.await(
                "index knows " + expected + " tokens",
                () -> Mooncake.of(node).explain("tiny", tokens).matches().stream()
                        .anyMatch(match -> match.tokens() == expected));
    }

    @Test
    void reconnect_observer_followsAndSubmitsAsBefore() throws Exception {
        try (MooncakeCluster cluster = pools(1).clients(1).start()) {
            Ignite first = cluster.ignite(0);
            Ignite client = cluster.client(0).ignite();
            int[] before = SeededBlocks.prompt(1, 100);
            SeededBlocks.store(Mooncake.of(first).pool("tiny"), before);
            awaitMatch(client, before, 96);

            reconnect(first, client);
            int[] after = SeededBlocks.prompt(2, 100);
            SeededBlocks.store(Mooncake.of(first).pool("tiny"), after);

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
        try (MooncakeCluster cluster =
                pools(2).clients(1).configure(ClientReconnectIT::patient).start()) {
            Ignite first = cluster.ignite(0);
            Ignite second = cluster.ignite(1);
            Ignite client = cluster.client(0).ignite();
            int[] tokens = SeededBlocks.prompt(4, 100);
            SeededBlocks.store(Mooncake.of(first).pool("tiny"), tokens);
            awaitMatch(client, tokens, 96);
            UUID clientId = id(client);

            long killed = System.nanoTime();
            cluster.killNode(0);
            MooncakeCluster.await(
                    "its entries are void",
                    () -> Mooncake.of(client).explain("tiny", tokens).matches().isEmpty()
                            // It may still say that it leaves, which already takes it out of what is matched.
                            && Mooncake.of(client).storeNodes().equals(List.of(id(second))));
            System.out.println("client: entries of the dead node void after "
                    + TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - killed) + " ms");

            assertThat(id(client)).isEqualTo(clientId);
            assertThat(Mooncake.of(client).storeNodes()).containsExactly(id(second));
            int[] later = SeededBlocks.prompt(5, 100);
            SeededBlocks.store(Mooncake.of(second).pool("tiny"), later);
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
        try (MooncakeCluster cluster = pools(1).start()) {
            Ignite first = cluster.ignite(0);
            int index = cluster.startClient(plugin -> plugin.setRole(Role.COMPUTE)
                    .setDram("4MiB")
                    .setFetchTimeoutMillis(20_000)
                    .setPools(List.of(MooncakeCluster.smallPool("tiny"))));
            Ignite client = cluster.client(index).ignite();
            MooncakeCluster.await(
                    "two members", () -> Mooncake.of(first).storeNodes().size() == 2);

            reconnect(first, client);
            int[] after = SeededBlocks.prompt(3, 100);
            SeededBlocks.store(Mooncake.of(first).pool("tiny"), after);
            awaitMatch(client, after, 96);
            assertThat(SeededBlocks.take(Mooncake.of(client).pool("tiny"), after))
                    .isEqualTo(new Taken(96, 0, 96, "NONE"));
            MooncakeCluster.await(
                    "the server knows its new id",
                    () -> Mooncake.of(first).storeNodes().contains(id(client)));
            MooncakeCluster.await(
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
                MooncakeCluster.await(
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
