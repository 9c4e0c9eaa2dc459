// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.tenant;

import io.mooncake.client.MooncakeService;
import io.mooncake.ignite.KnownTenants;
import io.mooncake.ignite.MooncakePluginProvider;
import io.mooncake.ignite.PoolBean;
import io.mooncake.ignite.TestGrid;
import io.mooncake.ignite.adapter.control.ControlScript;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.ignite.Ignite;
import org.apache.ignite.Ignition;
import org.apache.ignite.client.IgniteClient;
import org.apache.ignite.cluster.ClusterState;
import org.apache.ignite.configuration.ClientConfiguration;
import org.apache.ignite.configuration.ClientConnectorConfiguration;
import org.apache.ignite.configuration.DataRegionConfiguration;
import org.apache.ignite.configuration.DataStorageConfiguration;
import org.apache.ignite.configuration.ThinClientConfiguration;

/** Two nodes that authenticate: alice and anna are of tenant acme, bob is of globex, mallory is a user of nobody's. */
final class TenantGrid implements AutoCloseable {
    static final String PASSWORD = "password";
    static final String KEY = "a key of sixteen and more";

    private final TestGrid grid = new TestGrid();
    final Ignite first;
    final Ignite second;

    TenantGrid(Path work, PoolBean... pools) throws SQLException {
        first = start("a", work, 0, pools);
        second = start("b", work, 1, pools);
        first.cluster().state(ClusterState.ACTIVE);
        for (String user : List.of("alice", "anna", "bob", "mallory")) {
            update("ignite", "ignite", "CREATE USER \"" + user + "\" WITH PASSWORD '" + PASSWORD + "'");
        }
        TestGrid.await("the service is deployed", () -> {
            try (IgniteClient thin = thin("bob", 0)) {
                for (Ignite node : List.of(first, second)) {
                    service(thin, node).explain(pools[0].toDefinition().name(), new int[] {1});
                }
                return true;
            }
        });
    }

    private Ignite start(String name, Path work, int connector, PoolBean... pools) {
        MooncakePluginProvider provider = grid.provider()
                .setPools(List.of(pools))
                .setEvictionPolicy("lru")
                .setTenantResolver(new KnownTenants()
                        .setLogins(Map.of("alice", "acme", "anna", "acme", "bob", "globex"))
                        .setApiKeys(Map.of(KEY, "acme")));
        return grid.start(name, config -> config.setPluginProviders(provider)
                .setAuthenticationEnabled(true)
                .setWorkDirectory(work.resolve(name).toString())
                .setDataStorageConfiguration(new DataStorageConfiguration()
                        .setWalSegmentSize(1 << 20)
                        .setWalPath("wal")
                        .setWalArchivePath("wal")
                        .setDefaultDataRegionConfiguration(new DataRegionConfiguration()
                                .setPersistenceEnabled(true)
                                .setInitialSize(16L << 20)
                                .setMaxSize(64L << 20)
                                .setCheckpointPageBufferSize(16L << 20)))
                .setClientConnectorConfiguration(new ClientConnectorConfiguration()
                        .setHost("127.0.0.1")
                        // What the control script needs where users are authenticated.
                        .setThinClientConfiguration(
                                new ThinClientConfiguration().setMaxActiveComputeTasksPerConnection(4))
                        .setPort(grid.connectorPort(connector))
                        .setPortRange(0)
                        .setHandshakeTimeout(120_000)));
    }

    IgniteClient thin(String user, int node) {
        return Ignition.startClient(new ClientConfiguration()
                .setAddresses("127.0.0.1:" + grid.connectorPort(node))
                .setUserName(user)
                .setUserPassword(user.equals("ignite") ? "ignite" : PASSWORD));
    }

    /** Ignite's control script as {@code user}. */
    ControlScript.Run script(String user, String... command) throws Exception {
        return ControlScript.runAs(user, user.equals("ignite") ? "ignite" : PASSWORD, grid.connectorPort(0), command);
    }

    /** The service on {@code node}, whichever node the client is connected to. */
    static MooncakeService service(IgniteClient thin, Ignite node) {
        return thin.services(thin.cluster().forNodeId(node.cluster().localNode().id()))
                .serviceProxy(MooncakeService.NAME, MooncakeService.class);
    }

    List<List<Object>> query(String user, String sql) throws SQLException {
        List<List<Object>> rows = new ArrayList<>();
        try (Connection connection = jdbc(user, user.equals("ignite") ? "ignite" : PASSWORD);
                Statement statement = connection.createStatement();
                ResultSet result = statement.executeQuery(sql)) {
            while (result.next()) {
                List<Object> row = new ArrayList<>();
                for (int i = 1; i <= result.getMetaData().getColumnCount(); i++) {
                    row.add(result.getObject(i));
                }
                rows.add(row);
            }
        }
        return rows;
    }

    private void update(String user, String password, String sql) throws SQLException {
        try (Connection connection = jdbc(user, password);
                Statement statement = connection.createStatement()) {
            statement.executeUpdate(sql);
        }
    }

    private Connection jdbc(String user, String password) throws SQLException {
        return DriverManager.getConnection(
                "jdbc:ignite:thin://127.0.0.1:" + grid.connectorPort(0) + "?user=" + user + "&password=" + password);
    }

    @Override
    public void close() {
        grid.close();
    }
}
