// SPDX-License-Identifier: Apache-2.0
package io.mooncake.examples.sql;

import io.mooncake.examples.cli.Refusal;
import io.mooncake.examples.cli.TextTable;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintWriter;
import java.nio.charset.StandardCharsets;
import java.sql.SQLException;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code sql}: statements against a running node, answers as tables. */
@Command(
        name = "sql",
        description = "Runs SQL on a running node by the JDBC thin driver and prints the answer as a table.",
        mixinStandardHelpOptions = true,
        footer = {
            "",
            "Without QUERY each line of standard input is a statement. For example:",
            "  SELECT prefix, tokens, holders, hits FROM MOONCAKE.PREFIXES ORDER BY hits DESC LIMIT 10",
            "  SELECT * FROM SYS.MOONCAKE_BLOCKS LIMIT 10"
        })
public final class SqlCommand implements Callable<Integer> {
    private static final String NO_ENGINE =
            "That node has no SQL engine (expected: ignite-indexing or ignite-calcite on its class path)."
                    + " Without one, its service mooncake, JMX and metricsPort answer.";

    @Option(
            names = "--host",
            paramLabel = "HOST",
            defaultValue = "127.0.0.1",
            description = "Host of a node (${DEFAULT-VALUE}).")
    @SuppressWarnings("NullAway.Init") // has a default
    private String host;

    @Option(
            names = "--port",
            paramLabel = "PORT",
            defaultValue = "10800",
            description = "Its client port (${DEFAULT-VALUE}).")
    private int port;

    @Parameters(arity = "0..1", paramLabel = "QUERY", description = "One statement.")
    private @Nullable String query;

    @Spec
    @SuppressWarnings("NullAway.Init") // set by picocli
    private CommandSpec spec;

    @Override
    public Integer call() throws IOException {
        if (port < 1 || port > 65535) {
            throw new Refusal("--port: " + port + " (expected: 1..65535)");
        }
        PrintWriter out = spec.commandLine().getOut();
        try (SqlConsole console = SqlConsole.connect(host, port)) {
            if (query != null) {
                return run(console, query, out) ? 0 : 1;
            }
            return runLines(console, out);
        }
    }

    private int runLines(SqlConsole console, PrintWriter out) throws IOException {
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        boolean interactive = System.console() != null;
        boolean good = true;
        while (true) {
            if (interactive) {
                out.print("sql> ");
                out.flush();
            }
            String line = lines.readLine();
            if (line == null || line.strip().matches("(?i)!?(quit|exit)")) {
                return good ? 0 : 1;
            }
            if (!line.isBlank()) {
                good &= run(console, line, out);
            }
        }
    }

    private boolean run(SqlConsole console, String sql, PrintWriter out) {
        try {
            String statement = sql.strip().replaceAll(";+$", "");
            SqlConsole.Answer answer = console.query(statement);
            TextTable table = new TextTable(answer.columns());
            answer.rows().forEach(table::row);
            table.lines().forEach(out::println);
            out.println(answer.rows().size() + (answer.rows().size() == 1 ? " row" : " rows") + " in "
                    + answer.micros() / 1_000 + " ms");
            out.flush();
            return true;
        } catch (SQLException e) {
            out.flush();
            spec.commandLine().getErr().println("SQL: " + sql.strip() + ": " + e.getMessage());
            if (withoutEngine(e)) {
                spec.commandLine().getErr().println(NO_ENGINE);
            }
            return false;
        }
    }

    /** Ignite names the module that it misses. */
    private static boolean withoutEngine(SQLException e) {
        String message = e.getMessage();
        return message != null && message.contains("ignite-indexing");
    }
}
