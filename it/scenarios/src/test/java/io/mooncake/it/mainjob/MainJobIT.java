// SPDX-License-Identifier: Apache-2.0
package io.mooncake.it.mainjob;

import static org.assertj.core.api.Assertions.assertThat;

import io.mooncake.client.MooncakeService;
import io.mooncake.ignite.Mooncake;
import io.mooncake.ignite.MooncakePluginProvider;
import io.mooncake.ignite.NodeStatistics;
import io.mooncake.ignite.Role;
import io.mooncake.ignite.Route;
import io.mooncake.it.support.CompareJob;
import io.mooncake.it.support.NodeProcesses;
import io.mooncake.it.support.Prompts;
import io.mooncake.memory.MissReason;
import io.mooncake.testkit.ForkedJvm;
import io.mooncake.testkit.MooncakeCluster;
import io.mooncake.transfer.ignite.TransferCommunicationSpi;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import org.apache.ignite.Ignition;
import org.apache.ignite.client.IgniteClient;
import org.apache.ignite.configuration.ClientConfiguration;
import org.apache.ignite.configuration.IgniteConfiguration;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * The main job on real processes: three nodes and a client, requests that reuse each other's keys and values across nodes, with the
 * engine owned by the communication SPI and by the plugin.
 */
class MainJobIT {
    private static final int BLOCK = 64;

    @ParameterizedTest
    @ValueSource(strings = {"demo-node.xml", "plugin-engine-node.xml"})
    void submit_sharedPrefix_isFetchedAndBitIdentical(String config, @TempDir Path folder) throws Exception {
        try (NodeProcesses cluster = new NodeProcesses(folder, NodeProcesses.exampleConfig(config))) {
            List<ForkedJvm> nodes = List.of(cluster.launch("a"), cluster.launch("b"), cluster.launch("c"));
            nodes.forEach(cluster::awaitReady);
            Mooncake client = Mooncake.of(cluster.client(clientConfiguration(cluster, config)));
            MooncakeCluster.await(
                    "three members",
                    Duration.ofSeconds(30),
                    () -> client.storeNodes().size() == 3);

            int[] shared = Prompts.random(1, 5 * BLOCK + 7);
            UUID owner = cluster.nodeId(nodes.get(0));
            CompareJob.Both first =
                    run(client, Route.of(NodeProcesses.MODEL, shared).onNode(owner));
            assertThat(first.cached().localTokens() + first.cached().remoteTokens())
                    .isZero();
            assertThat(first.cached().missReason()).isEqualTo(MissReason.NOT_CACHED);
            assertThat(first.cached().storedBlocks()).isEqualTo(5);
            assertThat(first.identical()).isTrue();
            MooncakeCluster.await(
                    "the client to hear of five blocks",
                    Duration.ofSeconds(60),
                    () -> client.statistics().indexEntries() == 5);

            // The conductor sends the next turn to the owner, where all of the prefix is local.
            // A short one: the less there is to compute, the plainer is what the fetch would cost, however slow the
            // machine.
            int[] turn = Prompts.join(shared, Prompts.random(2, 1));
            assertThat(client.decide(Route.of(NodeProcesses.MODEL, turn)).nodeId())
                    .isEqualTo(owner);
            CompareJob.Both local = run(client, Route.of(NodeProcesses.MODEL, turn));
            assertThat(local.cached().localTokens()).isEqualTo(5 * BLOCK);
            assertThat(local.cached().remoteTokens()).isZero();
            assertThat(local.identical()).isTrue();

            // Forced onto the others, the prefix is fetched: the owner's counters prove it.
            long served = statistics(client, owner).bytesServed();
            for (ForkedJvm node : nodes.subList(1, 3)) {
                UUID target = cluster.nodeId(node);
                CompareJob.Both remote =
                        run(client, Route.of(NodeProcesses.MODEL, turn).onNode(target));
                assertThat(remote.cached().remoteTokens()).isEqualTo(5 * BLOCK);
                assertThat(remote.cached().localTokens()).isZero();
                assertThat(remote.identical()).isTrue();
                assertThat(statistics(client, target).bytesFetched()).isPositive();
            }
            long payload = 5L * 4 * 2 * 2 * BLOCK * 16 * Float.BYTES;
            // An owner hears of copies out of shared memory when the lease is released, a moment after the answer.
            awaitServed(client, owner, served + payload);
            List<Long> servedByAll = new ArrayList<>();
            for (ForkedJvm node : nodes) {
                servedByAll.add(statistics(client, cluster.nodeId(node)).bytesServed());
            }
            assertThat(statistics(client, owner).bytesServed() - served).isGreaterThanOrEqualTo(payload);
            assertThat(servedByAll.stream().mapToLong(Long::longValue).sum()).isGreaterThanOrEqualTo(2 * payload);

            sqlShowsTheCache(cluster.jdbcPort(nodes.get(1)));
            thinClientExplains(cluster.jdbcPort(nodes.get(2)), turn);

            for (ForkedJvm node : nodes) {
                node.terminate();
                assertThat(node.exitCode(Duration.ofSeconds(30))).isIn(0, 143);
            }
        }
    }

    private static IgniteConfiguration clientConfiguration(NodeProcesses cluster, String config) {
        IgniteConfiguration client = new IgniteConfiguration()
                .setPluginProviders(
                        new MooncakePluginProvider().setRole(Role.OBSERVER).setSecret(cluster.secret()));
        if (config.equals("demo-node.xml")) {
            TransferCommunicationSpi communication = new TransferCommunicationSpi();
            communication.setSecret(cluster.secret());
            client.setCommunicationSpi(communication);
        }
        return client;
    }

    private static CompareJob.Both run(Mooncake client, Route route) throws Exception {
        return client.submit(route, new CompareJob(6)).toCompletableFuture().get(120, TimeUnit.SECONDS);
    }

    private static NodeStatistics statistics(Mooncake client, UUID node) throws Exception {
        Route route = Route.of(NodeProcesses.MODEL, new int[] {1}).onNode(node);
        return client.submit(route, context -> context.mooncake().statistics())
                .toCompletableFuture()
                .get(60, TimeUnit.SECONDS);
    }

    private static void awaitServed(Mooncake client, UUID node, long bytes) throws Exception {
        long until = System.nanoTime() + TimeUnit.SECONDS.toNanos(60);
        while (statistics(client, node).bytesServed() < bytes && System.nanoTime() - until < 0) {
            Thread.sleep(20);
        }
    }

    private static void sqlShowsTheCache(int port) throws Exception {
        try (Connection connection = DriverManager.getConnection("jdbc:ignite:thin://127.0.0.1:" + port);
                Statement statement = connection.createStatement()) {
            try (ResultSet blocks = statement.executeQuery("SELECT COUNT(*) FROM SYS.MOONCAKE_BLOCKS")) {
                blocks.next();
                assertThat(blocks.getLong(1)).isEqualTo(5);
            }
            MooncakeCluster.await("the mirror to show three holders", Duration.ofSeconds(60), () -> {
                try (ResultSet rows = statement.executeQuery(
                        "SELECT prefix, tokens, holders, hits FROM MOONCAKE.PREFIXES ORDER BY hits DESC")) {
                    return rows.next()
                            && rows.getString("prefix").length() == 64
                            && rows.getInt("tokens") == 5 * BLOCK
                            && rows.getInt("holders") == 3
                            && rows.getLong("hits") > 0;
                } catch (java.sql.SQLException e) {
                    return false;
                }
            });
        }
    }

    private static void thinClientExplains(int port, int[] tokens) {
        try (IgniteClient thin = Ignition.startClient(new ClientConfiguration().setAddresses("127.0.0.1:" + port))) {
            MooncakeService service = thin.services().serviceProxy(MooncakeService.NAME, MooncakeService.class);
            assertThat(service.explain(NodeProcesses.MODEL, tokens))
                    .containsEntry("promptTokens", tokens.length)
                    .containsEntry("reusableTokens", 5 * BLOCK);
            assertThat(UUID.fromString(service.route(NodeProcesses.MODEL, tokens)))
                    .isNotNull();
        }
    }
}
