// SPDX-License-Identifier: Apache-2.0
package io.mooncake.examples.demo;

import io.mooncake.examples.cli.Refusal;
import io.mooncake.examples.cluster.ProcessCluster;
import io.mooncake.examples.sql.SqlConsole;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;

/** What the demo asks the cluster in SQL, as an operator would: over JDBC, at one node. */
final class DemoSql {
    /** The mirror of the cluster may lag behind its owners by half a second, hits and holders by two. */
    private static final long MIRROR_MILLIS = 2_500;

    private static final List<String> QUERIES = List.of(
            "SELECT SUBSTRING(prefix, 1, 16) AS prefix, tokens, MAX(holders) AS holders, SUM(hits) AS hits FROM MOONCAKE.PREFIXES"
                    + " GROUP BY prefix, tokens ORDER BY hits DESC, tokens DESC LIMIT 8",
            "SELECT holders, COUNT(*) AS run_rows, SUM(blocks) AS blocks, SUM(bytes) / 1048576 AS mib FROM MOONCAKE.PREFIXES"
                    + " GROUP BY holders ORDER BY holders",
            "SELECT pool, tier, COUNT(*) AS blocks, SUM(bytes) / 1048576 AS mib, SUM(hits) AS hits FROM SYS.MOONCAKE_BLOCKS"
                    + " GROUP BY pool, tier",
            "SELECT pool, reason, lookups FROM SYS.MOONCAKE_MISSES WHERE lookups > 0 ORDER BY lookups DESC");

    private DemoSql() {}

    /** Answers of the first running node; a refused query is an answer that says so. */
    static List<SqlConsole.Answer> ask(ProcessCluster cluster) throws InterruptedException {
        Thread.sleep(MIRROR_MILLIS);
        List<SqlConsole.Answer> answers = new ArrayList<>();
        int port = cluster.alive().get(0).jdbcPort();
        try (SqlConsole console = SqlConsole.connect("127.0.0.1", port)) {
            for (String query : QUERIES) {
                answers.add(answer(console, query));
            }
        } catch (Refusal refused) {
            answers.add(failed("connect", String.valueOf(refused.getMessage())));
        }
        return answers;
    }

    private static SqlConsole.Answer answer(SqlConsole console, String query) {
        try {
            return console.query(query);
        } catch (SQLException e) {
            return failed(query, String.valueOf(e.getMessage()));
        }
    }

    private static SqlConsole.Answer failed(String query, String reason) {
        return new SqlConsole.Answer(query, List.of("error"), List.of(List.of(reason)), 0);
    }
}
