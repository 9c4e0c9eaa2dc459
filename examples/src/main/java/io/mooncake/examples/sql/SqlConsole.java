// SPDX-License-Identifier: Apache-2.0
package io.mooncake.examples.sql;

import io.mooncake.examples.cli.Refusal;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.ResultSetMetaData;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/**
 * One JDBC thin connection.
 *
 * <p>Ownership: the caller owes a close. Threading: one thread at a time.
 */
public final class SqlConsole implements AutoCloseable {
    /** Rows shown of one answer. */
    public static final int MAX_ROWS = 1_000;

    private final Connection connection;

    private SqlConsole(Connection connection) {
        this.connection = connection;
    }

    /**
     * Connects.
     *
     * @throws Refusal when nothing listens there, or it is no Ignite node
     */
    public static SqlConsole connect(String host, int port) {
        String at = host.indexOf(':') >= 0 ? "[" + host + "]:" + port : host + ":" + port;
        try {
            DriverManager.setLoginTimeout(5);
            return new SqlConsole(DriverManager.getConnection("jdbc:ignite:thin://" + at + "?connectionTimeout=5000"));
        } catch (SQLException e) {
            throw new Refusal(
                    "No Ignite node answers SQL at " + at + ": " + e.getMessage()
                            + " (expected: host and client port of a running node, the jdbc= of its READY line)",
                    e);
        }
    }

    /**
     * Runs one statement.
     *
     * @throws SQLException when the node refuses it
     */
    public Answer query(String sql) throws SQLException {
        long start = System.nanoTime();
        try (Statement statement = connection.createStatement()) {
            statement.setQueryTimeout(60);
            statement.setMaxRows(MAX_ROWS);
            if (!statement.execute(sql)) {
                return new Answer(
                        sql,
                        List.of("updated"),
                        List.of(List.of(Integer.toString(statement.getUpdateCount()))),
                        (System.nanoTime() - start) / 1_000);
            }
            try (ResultSet rows = statement.getResultSet()) {
                return read(sql, rows, start);
            }
        }
    }

    private static Answer read(String sql, ResultSet rows, long start) throws SQLException {
        ResultSetMetaData meta = rows.getMetaData();
        List<String> columns = new ArrayList<>();
        for (int column = 1; column <= meta.getColumnCount(); column++) {
            columns.add(meta.getColumnLabel(column).toLowerCase(Locale.ROOT));
        }
        List<List<String>> cells = new ArrayList<>();
        while (rows.next()) {
            List<String> row = new ArrayList<>();
            for (int column = 1; column <= columns.size(); column++) {
                row.add(String.valueOf(rows.getObject(column)));
            }
            cells.add(row);
        }
        return new Answer(sql, columns, cells, (System.nanoTime() - start) / 1_000);
    }

    @Override
    public void close() {
        try {
            connection.close();
        } catch (SQLException e) {
            // The connection is given up either way; nothing was left to be written on it.
        }
    }

    /**
     * What a statement returned.
     *
     * @param sql the statement
     * @param columns labels
     * @param rows cells as text, at most {@link #MAX_ROWS}
     * @param micros time from asking to the last row
     */
    public record Answer(String sql, List<String> columns, List<List<String>> rows, long micros) {
        public Answer {
            columns = List.copyOf(columns);
            rows = List.copyOf(rows);
        }
    }
}
