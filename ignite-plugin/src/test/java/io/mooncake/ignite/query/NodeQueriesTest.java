// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.query;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.mooncake.base.Deadline;
import io.mooncake.client.MooncakeService;
import io.mooncake.ignite.Mooncake;
import io.mooncake.ignite.Role;
import io.mooncake.ignite.TestGrid;
import io.mooncake.ignite.conductor.Blocks;
import io.mooncake.ignite.node.NodeEngines;
import io.mooncake.natives.NativeBridge;
import io.mooncake.transfer.PeerAddress;
import io.mooncake.transfer.RemoteLease;
import io.mooncake.transfer.TransferEngine;
import io.mooncake.transfer.ignite.TransferCommunicationSpi;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.ResultSetMetaData;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.Collectors;
import org.apache.ignite.Ignite;
import org.apache.ignite.Ignition;
import org.apache.ignite.client.IgniteClient;
import org.apache.ignite.configuration.ClientConfiguration;
import org.apache.ignite.configuration.ClientConnectorConfiguration;
import org.apache.ignite.configuration.IgniteConfiguration;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

class NodeQueriesTest {
    private static final String POOL = "tiny";
    private static TestGrid grid;
    private static Ignite plain;
    private static Ignite first;
    private static Ignite second;
    private static int firstPort;
    private static int plainPort;

    @BeforeAll
    static void start() {
        grid = new TestGrid();
        firstPort = grid.connectorPort(0);
        plainPort = grid.connectorPort(1);
        // The node without the plugin comes first: it is the coordinator.
        plain = grid.start("plain", config -> listen(config, plainPort));
        first = grid.start("first", config -> {
            listen(config, firstPort);
            config.setPluginProviders(grid.provider());
        });
        second = grid.start("second");
    }

    @AfterAll
    static void stop() {
        grid.close();
    }

    @Test
    void blocks_throughJdbcThin_showThePool() throws Exception {
        int[] tokens = Blocks.prompt(1, 1, 2, 3);
        Blocks.store(Mooncake.of(first).pool(POOL), tokens);
        assertThat(Blocks.reuse(Mooncake.of(first).pool(POOL), tokens)).isEqualTo(48);

        List<List<Object>> rows = jdbc(
                firstPort,
                "SELECT POOL, PREFIX, PARENT, DEPTH, TOKENS, BYTES, TIER, HITS, LEASES, GENERATION, AGE_MS"
                        + " FROM SYS.MOONCAKE_BLOCKS ORDER BY DEPTH");

        assertThat(rows.size()).isGreaterThanOrEqualTo(3);
        String leaf = (String) jdbc(firstPort, "SELECT PREFIX FROM SYS.MOONCAKE_BLOCKS WHERE DEPTH = 2")
                .get(0)
                .get(0);
        assertThat(leaf).matches("[0-9a-f]{64}");
        List<Object> row = jdbc(
                        firstPort,
                        "SELECT POOL, TOKENS, BYTES, TIER, LEASES FROM SYS.MOONCAKE_BLOCKS WHERE PREFIX = '" + leaf
                                + "'")
                .get(0);
        assertThat(row).containsExactly(POOL, 16, 2_048L, "DRAM", 0);
        assertThat(jdbc(firstPort, "SELECT COUNT(*) FROM SYS.MOONCAKE_BLOCKS WHERE POOL = 'other'"))
                .containsExactly(List.of(0L));
    }

    @Test
    void misses_throughJdbcThin_countByReason() throws Exception {
        long before = misses();
        Blocks.reuse(Mooncake.of(first).pool(POOL), Blocks.prompt(2, 7, 0, 3));

        assertThat(misses()).isEqualTo(before + 1);
    }

    @Test
    void paths_throughJdbcThin_showEachPeerAndWhy() throws Exception {
        PeerAddress peer = TransferCommunicationSpi.endpointOf(second.cluster().localNode());
        String id = second.cluster().localNode().id().toString();
        String reads = NativeBridge.available() ? "SHARED_MEMORY" : "TCP";
        // The view waits no longer than a second for a peer.
        TestGrid.await("the peer says its way", () -> jdbc(firstPort, "SELECT READS FROM SYS.MOONCAKE_PATHS")
                .contains(List.of(reads)));

        List<List<Object>> rows =
                jdbc(firstPort, "SELECT NODE_ID, ENDPOINT, READS, WRITES, NETWORK, REASON FROM SYS.MOONCAKE_PATHS");

        // One a rail, or one at all.
        assertThat(rows).isNotEmpty();
        assertThat(rows.get(0).subList(0, 2))
                .containsExactly(id, Objects.requireNonNull(peer).encode());
        assertThat(rows.get(0).get(2)).isEqualTo(reads);
        assertThat(jdbc(firstPort, "SELECT READS FROM SYS.MOONCAKE_PATHS WHERE NODE_ID = '" + id + "'"))
                .hasSameSizeAs(rows);
        assertThat(jdbc(firstPort, "SELECT READS FROM SYS.MOONCAKE_PATHS WHERE NODE_ID = 'other'"))
                .isEmpty();
    }

    @Test
    void paths_blocksCameFromAPeer_showARowARail() throws Exception {
        int[] tokens = Blocks.prompt(1, 5000, 0, 3);
        Blocks.store(Mooncake.of(second).pool(POOL), tokens);
        TestGrid.await(
                "the first node knows the blocks",
                () -> !Mooncake.of(first).explain(POOL, tokens).matches().isEmpty());
        Blocks.reuse(Mooncake.of(first).pool(POOL), tokens);
        AtomicReference<List<List<Object>>> seen = new AtomicReference<>(List.of());
        // The view waits no longer than a second for a peer.
        TestGrid.await("the view shows the rail", () -> {
            seen.set(jdbc(
                    firstPort,
                    "SELECT RAIL, ROUND_TRIP_MICROS, BYTES_PER_SECOND FROM SYS.MOONCAKE_PATHS WHERE RAIL <> ''"));
            return !seen.get().isEmpty();
        });
        List<List<Object>> rows = seen.get();

        assertThat(rows).allSatisfy(row -> {
            assertThat(row.get(0).toString()).matches("tcp 0|memory");
            assertThat((Double) row.get(1) + (Long) row.get(2)).isPositive();
        });
    }

    @Test
    void peers_throughJdbcThin_showWhoIsFollowed() throws Exception {
        String own = first.cluster().localNode().id().toString();
        String other = second.cluster().localNode().id().toString();
        TestGrid.await("the other node is heard", () -> jdbc(
                        firstPort, "SELECT STATE FROM SYS.MOONCAKE_PEERS WHERE NODE_ID = '" + other + "'")
                .equals(List.of(List.of("CURRENT"))));

        assertThat(jdbc(
                        firstPort,
                        "SELECT ROLE, POOLS, STATE, BAD_FRAMES FROM SYS.MOONCAKE_PEERS WHERE NODE_ID = '" + own + "'"))
                .containsExactly(List.of("STORE", POOL, "LOCAL", 0L));
        TestGrid.await("its report came", () -> jdbc(
                        firstPort,
                        "SELECT DRAINING, FENCED FROM SYS.MOONCAKE_PEERS WHERE FREE > 0 AND NODE_ID = '" + other + "'")
                .equals(List.of(List.of(false, false))));
        // The node without the plugin is none of them.
        assertThat(jdbc(firstPort, "SELECT NODE_ID, CONSISTENT_ID, ENDPOINT, SILENT_MS FROM SYS.MOONCAKE_PEERS"))
                .hasSizeGreaterThanOrEqualTo(2)
                .noneMatch(row ->
                        row.get(0).equals(plain.cluster().localNode().id().toString()));
    }

    @Test
    void prefixes_throughJdbcThin_showWhatOthersHold() throws Exception {
        int[] tokens = Blocks.prompt(8, 3, 0, 3);
        Blocks.store(Mooncake.of(second).pool(POOL), tokens);
        String other = second.cluster().localNode().id().toString();
        TestGrid.await(
                "the index has the blocks",
                () -> jdbc(
                                        firstPort,
                                        "SELECT PREFIX FROM SYS.MOONCAKE_PREFIXES WHERE POOL = '" + POOL
                                                + "' AND NODE_ID = '" + other + "'")
                                .size()
                        >= 3);

        assertThat(jdbc(firstPort, "SELECT DISTINCT POOL, NODE_ID, PLACE FROM SYS.MOONCAKE_PREFIXES"))
                .contains(List.of(POOL, other, "MEMORY"))
                .noneMatch(row ->
                        row.get(1).equals(first.cluster().localNode().id().toString()));
        assertThat(jdbc(firstPort, "SELECT PREFIX FROM SYS.MOONCAKE_PREFIXES WHERE POOL = 'other'"))
                .isEmpty();
    }

    @Test
    void explain_throughJdbcThin_showsPiecesAndGaps() throws Exception {
        int[] tokens = Blocks.prompt(7, 3, 0, 3);
        Blocks.store(Mooncake.of(first).pool(POOL), tokens);
        // Two blocks more, which nobody has.
        String asked = Arrays.stream(Blocks.prompt(7, 3, 0, 5))
                .mapToObj(Integer::toString)
                .collect(Collectors.joining(","));
        String own = first.cluster().localNode().id().toString();

        assertThat(jdbc(
                        firstPort,
                        "SELECT FROM_TOKEN, TO_TOKEN, NODE_ID, TIER, WAY, REASON FROM SYS.MOONCAKE_EXPLAIN WHERE POOL = '"
                                + POOL + "' AND TOKENS = '" + asked + "' ORDER BY FROM_TOKEN"))
                .containsExactly(List.of(0, 48, own, "DRAM", "LOCAL", ""), List.of(48, 80, "", "", "", "NOT_CACHED"));
        assertThat(jdbc(firstPort, "SELECT REASON FROM SYS.MOONCAKE_EXPLAIN")).isEmpty();
        assertThatThrownBy(() -> jdbc(
                        firstPort,
                        "SELECT REASON FROM SYS.MOONCAKE_EXPLAIN WHERE POOL = '" + POOL + "' AND TOKENS = '1,x'"))
                .isInstanceOf(SQLException.class);
    }

    @Test
    void segments_throughJdbcThin_showThePoolsMemory() throws Exception {
        List<List<Object>> rows =
                jdbc(firstPort, "SELECT NAME, BYTES, TRANSFERS FROM SYS.MOONCAKE_SEGMENTS WHERE KIND = 'MEMORY'");

        assertThat(rows).isNotEmpty().allSatisfy(row -> assertThat(row.get(0).toString())
                .startsWith("region "));
        assertThat(rows.stream().mapToLong(row -> (Long) row.get(1)).sum()).isBetween(8L << 20, 64L << 20);
        assertThat(jdbc(firstPort, "SELECT NAME FROM SYS.MOONCAKE_SEGMENTS WHERE KIND = 'SSD'"))
                .isEmpty();
    }

    @Test
    void leases_peerHoldsBlocks_areShownUntilTheyEnd() throws Exception {
        int[] tokens = Blocks.prompt(6, 3, 0, 3);
        Blocks.store(Mooncake.of(first).pool(POOL), tokens);
        TransferEngine reader = NodeEngines.of(second);
        PeerAddress owner = Objects.requireNonNull(
                TransferCommunicationSpi.endpointOf(first.cluster().localNode()));
        List<byte[]> keys = new ArrayList<>();
        jdbc(firstPort, "SELECT PREFIX FROM SYS.MOONCAKE_BLOCKS WHERE DEPTH < 2")
                .forEach(row -> keys.add(HexFormat.of().parseHex(row.get(0).toString())));
        try (RemoteLease lease = reader.lease(owner, POOL, keys, Duration.ofSeconds(60), Deadline.ofMillis(60_000))) {
            assertThat(lease.size()).isEqualTo(keys.size());
            List<List<Object>> rows =
                    jdbc(firstPort, "SELECT LEASE, NODE_ID, BLOCKS, BYTES, LEFT_MS FROM SYS.MOONCAKE_LEASES");
            assertThat(rows).anySatisfy(row -> {
                assertThat(row.get(1))
                        .isEqualTo(second.cluster().localNode().id().toString());
                assertThat(row.get(2)).isEqualTo(keys.size());
                assertThat(row.get(3)).isEqualTo(2_048L * keys.size());
            });
        }
        TestGrid.await("leases end", () -> jdbc(firstPort, "SELECT LEASE FROM SYS.MOONCAKE_LEASES")
                .isEmpty());
    }

    @Test
    void transfers_throughJdbcThin_haveARowForEachOtherNode() throws Exception {
        assertThat(jdbc(
                        firstPort,
                        "SELECT RUNNING, WAITING, RESTING_RAILS FROM SYS.MOONCAKE_TRANSFERS WHERE NODE_ID = '"
                                + second.cluster().localNode().id() + "'"))
                .containsExactly(List.of(0, 0, 0));
        assertThat(jdbc(
                        firstPort,
                        "SELECT TCP_BYTES, TCP_FAILURES, TCP_RAILS FROM SYS.MOONCAKE_TRANSFERS WHERE NODE_ID = '"
                                + first.cluster().localNode().id() + "'"))
                .isEmpty();
    }

    private static long misses() throws SQLException {
        return (Long) jdbc(firstPort, "SELECT LOOKUPS FROM SYS.MOONCAKE_MISSES WHERE REASON = 'NOT_CACHED'")
                .get(0)
                .get(0);
    }

    @Test
    void metrics_throughSql_agreeWithStatistics() throws Exception {
        Blocks.store(Mooncake.of(first).pool(POOL), Blocks.prompt(3, 1, 2, 3));

        assertThat(jdbc(firstPort, "SELECT VALUE FROM SYS.METRICS WHERE NAME = 'mooncake.pool.blocks'"))
                .containsExactly(
                        List.of(String.valueOf(Mooncake.of(first).statistics().blocks())));
        assertThat(jdbc(firstPort, "SELECT COUNT(*) FROM SYS.METRICS WHERE NAME LIKE 'mooncake.transfer.%'"))
                .containsExactly(List.of(15L));
    }

    @Test
    void service_fromThinClient_explainsRoutesAndCounts() throws Exception {
        int[] tokens = Blocks.prompt(4, 1, 2, 3);
        Blocks.store(Mooncake.of(first).pool(POOL), tokens);
        // Through the plugin's node and through the plain one, which passes the call on.
        for (int port : new int[] {firstPort, plainPort}) {
            try (IgniteClient thin =
                    Ignition.startClient(new ClientConfiguration().setAddresses("127.0.0.1:" + port))) {
                MooncakeService service = thin.services().serviceProxy(MooncakeService.NAME, MooncakeService.class);
                requireService(service, tokens);
                assertThatThrownBy(() -> service.route("huge", tokens)).hasMessageContaining("huge");
            }
        }
    }

    @Test
    void service_fromThickClients_worksWithAndWithoutPlugin() {
        int[] tokens = Blocks.prompt(5, 1, 2, 3);
        Blocks.store(Mooncake.of(first).pool(POOL), tokens);
        Ignite plainClient = grid.start("plain-client", config -> config.setClientMode(true));
        Ignite observer = grid.start("observer", config -> config.setClientMode(true)
                .setPluginProviders(
                        grid.provider().setDram(null).setPools(List.of()).setRole(Role.OBSERVER)));
        for (Ignite client : List.of(plainClient, observer)) {
            requireService(client.services().serviceProxy(MooncakeService.NAME, MooncakeService.class, false), tokens);
        }
        for (Ignite node : List.of(first, second)) {
            TestGrid.await(
                    "the service is deployed",
                    () -> node.services().<Object>service(MooncakeService.NAME) instanceof NodeService);
        }
        assertThat(plain.services().<Object>service(MooncakeService.NAME)).isNull();
    }

    private static void requireService(MooncakeService service, int[] tokens) {
        // Whichever node answers a call must have heard of the blocks.
        for (Ignite node : List.of(first, second)) {
            TestGrid.await("the node knows the prefix", () -> Mooncake.of(node).explain(POOL, tokens).matches().stream()
                    .anyMatch(match -> match.tokens() == 48
                            && match.nodeId().equals(first.cluster().localNode().id())));
        }
        TestGrid.await("service knows the prefix", () -> {
            Map<String, Object> explanation = service.explain(POOL, tokens);
            return explanation.get("matches") instanceof Map<?, ?> matches
                    && Integer.valueOf(48)
                            .equals(matches.get(first.cluster().localNode().id().toString()));
        });
        Map<String, Object> explanation = service.explain(POOL, tokens);
        assertThat(explanation).containsEntry("promptTokens", 49).containsEntry("reusableTokens", 48);
        assertThat(service.route(POOL, tokens))
                .isEqualTo(first.cluster().localNode().id().toString());
        assertThat(service.statistics()).containsKeys("nodeId", "blocks", "misses", "bytesServed");
    }

    static void listen(IgniteConfiguration config, int port) {
        config.setClientConnectorConfiguration(new ClientConnectorConfiguration()
                .setHost("127.0.0.1")
                .setPort(port)
                .setPortRange(0));
    }

    static List<List<Object>> jdbc(int port, String sql) throws SQLException {
        try (Connection connection = DriverManager.getConnection("jdbc:ignite:thin://127.0.0.1:" + port);
                Statement statement = connection.createStatement();
                ResultSet result = statement.executeQuery(sql)) {
            ResultSetMetaData shape = result.getMetaData();
            List<List<Object>> rows = new ArrayList<>();
            while (result.next()) {
                List<Object> row = new ArrayList<>();
                for (int i = 1; i <= shape.getColumnCount(); i++) {
                    row.add(result.getObject(i));
                }
                rows.add(row);
            }
            return rows;
        }
    }
}
