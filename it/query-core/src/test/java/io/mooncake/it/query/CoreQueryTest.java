// SPDX-License-Identifier: Apache-2.0
package io.mooncake.it.query;

import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.sql.Statement;
import org.junit.jupiter.api.Test;

/** ignite-core alone: everything but SQL, and SQL says what is missing. */
class CoreQueryTest extends QuerySuite {
    @Override
    protected String engine() {
        return "none: add ignite-indexing or ignite-calcite";
    }

    @Test
    void sql_withoutAnEngine_isRefusedByIgnite() throws Exception {
        try (Connection connection =
                        DriverManager.getConnection("jdbc:ignite:thin://127.0.0.1:" + nodes().connector());
                Statement statement = connection.createStatement()) {
            assertThatThrownBy(() -> statement.executeQuery("SELECT * FROM SYS.MOONCAKE_BLOCKS"))
                    .isInstanceOf(SQLException.class)
                    .hasMessageContaining("ignite-indexing");
        }
    }
}
