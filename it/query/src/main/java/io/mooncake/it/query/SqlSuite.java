// SPDX-License-Identifier: Apache-2.0
package io.mooncake.it.query;

import static org.assertj.core.api.Assertions.assertThat;

import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import org.apache.ignite.cache.query.SqlFieldsQuery;
import org.apache.ignite.client.IgniteClient;
import org.junit.jupiter.api.Test;

/** What works with an SQL engine, whichever it is. */
public abstract class SqlSuite extends QuerySuite {
    @Test
    void blocks_byJdbcAndThinClient_showThePool() throws Exception {
        List<List<Object>> rows = jdbc("SELECT PREFIX, DEPTH, TOKENS, TIER FROM SYS.MOONCAKE_BLOCKS WHERE POOL = '"
                + QueryNodes.POOL + "' ORDER BY DEPTH");

        assertThat(rows.size()).isGreaterThanOrEqualTo(3);
        assertThat(rows.get(0).get(0).toString()).matches("[0-9a-f]{64}");
        assertThat(rows.get(0).subList(1, 4)).containsExactly(0, QueryNodes.BLOCK_TOKENS, "DRAM");
        assertThat(jdbc("SELECT DEPTH FROM SYS.MOONCAKE_BLOCKS WHERE PREFIX = '"
                        + rows.get(2).get(0) + "'"))
                .containsExactly(List.of(2));
        try (IgniteClient thin = thin()) {
            assertThat(thin.query(new SqlFieldsQuery("SELECT COUNT(*) FROM SYS.MOONCAKE_BLOCKS"))
                            .getAll()
                            .get(0)
                            .get(0))
                    .isEqualTo((long) rows.size());
        }
    }

    @Test
    void views_byJdbc_areAllThere() throws Exception {
        UUID own = nodes().first().cluster().localNode().id();
        UUID other = nodes().second().cluster().localNode().id();
        assertThat(jdbc("SELECT STATE FROM SYS.MOONCAKE_PEERS WHERE NODE_ID = '" + own + "'"))
                .containsExactly(List.of("LOCAL"));
        assertThat(jdbc("SELECT COUNT(*) FROM SYS.MOONCAKE_PREFIXES")).hasSize(1);
        assertThat(jdbc("SELECT NODE_ID FROM SYS.MOONCAKE_PATHS")).contains(List.of(other.toString()));
        assertThat(jdbc("SELECT RUNNING FROM SYS.MOONCAKE_TRANSFERS WHERE NODE_ID = '" + other + "'"))
                .containsExactly(List.of(0));
        assertThat(jdbc("SELECT BYTES FROM SYS.MOONCAKE_SEGMENTS WHERE KIND = 'MEMORY'"))
                .isNotEmpty();
        assertThat(jdbc("SELECT COUNT(*) FROM SYS.MOONCAKE_LEASES")).hasSize(1);
        assertThat(jdbc("SELECT LOOKUPS FROM SYS.MOONCAKE_MISSES WHERE REASON = 'NOT_CACHED'"))
                .hasSize(1);
        assertThat(jdbc("SELECT \"VALUE\" FROM SYS.METRICS WHERE NAME = 'mooncake.pool.blocks'"))
                .hasSize(1);
    }

    @Test
    void prefixes_byJdbc_showTheCluster() throws Exception {
        QueryNodes.await(
                "the run is mirrored", () -> jdbc("SELECT TOKENS, HOLDERS FROM MOONCAKE.PREFIXES ORDER BY HITS DESC")
                        .contains(List.of(QueryNodes.HELD, 1)));
    }

    private List<List<Object>> jdbc(String sql) throws SQLException {
        try (Connection connection =
                        DriverManager.getConnection("jdbc:ignite:thin://127.0.0.1:" + nodes().connector());
                Statement statement = connection.createStatement();
                ResultSet result = statement.executeQuery(sql)) {
            List<List<Object>> rows = new ArrayList<>();
            while (result.next()) {
                List<Object> row = new ArrayList<>();
                for (int i = 1; i <= result.getMetaData().getColumnCount(); i++) {
                    row.add(result.getObject(i));
                }
                rows.add(row);
            }
            return rows;
        }
    }
}
