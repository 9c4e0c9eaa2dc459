// SPDX-License-Identifier: Apache-2.0
package io.mooncake.examples.demo;

import io.mooncake.base.ByteSize;
import io.mooncake.examples.cli.Terminal;
import io.mooncake.examples.cli.TextTable;
import io.mooncake.examples.cluster.ClusterOptions;
import io.mooncake.examples.cluster.NodeProcess;
import io.mooncake.examples.cluster.ProcessCluster;
import io.mooncake.examples.cluster.SsdFolders;
import io.mooncake.examples.sql.SqlConsole;
import java.util.Locale;

/** What the demo writes to the terminal. */
final class DemoPrinter {
    private static final String ROW = "%3s  %-11s %4s  %-8s %6s %6s %6s %7s %9s %9s %7s  %-5s  %s";

    private final Terminal terminal;

    DemoPrinter(Terminal terminal) {
        this.terminal = terminal;
    }

    void start(DemoOptions options, ClusterOptions cluster, SsdFolders ssd) {
        terminal.heading("Mooncake demo");
        terminal.line(
                "%d nodes, %d model thread(s) each; model %s",
                cluster.nodes(), cluster.threads(), options.model().getFileName());
        terminal.line(
                "each keeps KV blocks in %s of memory (too little on purpose, so that the SSD is used) and up to %s on SSD",
                cluster.dram(), ssd.capacity());
        terminal.line("SSD folder: %s, deleted at the end", ssd.folder());
        if (!ssd.warning().isEmpty()) {
            terminal.line("WARNING: " + ssd.warning());
        }
    }

    void ready(ProcessCluster cluster) {
        terminal.line("Cluster ready after %.1f s; logs in target/demo/logs", cluster.readyMillis() / 1_000.0);
        for (NodeProcess node : cluster.nodes()) {
            terminal.line(
                    "  %s  process %d  JDBC 127.0.0.1:%d  %s", node.name(), node.pid(), node.jdbcPort(), node.id());
        }
        terminal.line("");
        terminal.line(
                ROW,
                "#",
                "conversation",
                "turn",
                "node",
                "prompt",
                "memory",
                "SSD",
                "fetched",
                "with",
                "without",
                "ratio",
                "equal",
                "answer");
    }

    void wave(Plan.Wave wave, int lanes) {
        terminal.line(
                "--- %s: %d requests, %d at a time",
                wave.name(), wave.requests().size(), lanes);
    }

    /** @param node hears a guest that nobody else hears, beside the first wave */
    void besides(NodeProcess node) {
        terminal.line(
                "--- besides: %s alone computes the prompt of desk %s, for its restart at the end",
                node.name(), Restart.DESK.name());
    }

    void row(RequestRow row) {
        if (!row.answered()) {
            terminal.line(
                    "%3d  %-11s %4d  %-8s %s: %s",
                    row.index(),
                    row.conversation(),
                    row.turn(),
                    row.node(),
                    row.lost() ? "lost with its node" : "FAILED",
                    String.valueOf(row.error()));
            return;
        }
        terminal.line(
                ROW,
                row.index(),
                row.conversation(),
                row.turn(),
                row.node() + (row.forced() ? "*" : ""),
                row.promptTokens(),
                row.memoryTokens(),
                row.ssdTokens(),
                row.remoteTokens(),
                millis(row.cachedMillis()),
                millis(row.computedMillis()),
                String.format(Locale.ROOT, "%.1f %%", 100 * row.ratio()),
                row.logitsEqual() && row.tokensEqual() ? "yes" : "NO",
                row.answer().replaceAll("\\s+", " "));
    }

    void kill(NodeProcess node) {
        terminal.line("--- kill -9 %d: %s dies while it works", node.pid(), node.name());
    }

    /** @param node about to be restarted, unless it is dead already */
    void restart(NodeProcess node) {
        terminal.line(
                "--- restart: %s %s, its memory empty; only its SSD has the prompt of desk %s",
                node.name(), node.alive() ? "stops and starts again" : "starts again", Restart.DESK.name());
    }

    void restarted(RestartRow restart) {
        RequestRow request = restart.request();
        if (request == null) {
            terminal.line("    FAILED: " + restart.failure());
            return;
        }
        terminal.line(
                "    %s, back in the cluster %.1f s later, with %d blocks on its SSD (%d before)",
                restart.killed()
                        ? "killed a while ago, started now"
                        : String.format(Locale.ROOT, "stopped in %.1f s", restart.stopSeconds()),
                restart.startSeconds(),
                restart.ssdBlocksAfter(),
                restart.ssdBlocksBefore());
        row(request);
        if (request.answered()) {
            terminal.line(
                    "    %d of its %d tokens came from the SSD (%d blocks): first token %.1f s sooner than computed",
                    restart.ssdTokens(), request.promptTokens(), restart.ssdLoads(), restart.savedMillis() / 1_000);
        }
    }

    void end(DemoOutcome outcome) {
        terminal.line("* forced onto a node that lacks the prefix; times are milliseconds to the first token");
        Totals totals = Totals.of(outcome.answered(), outcome.requests().size());
        terminal.heading("Totals");
        terminal.line(
                "%d of %d requests answered; %d prompt tokens: %d reused from own memory or SSD, %d fetched, %d computed",
                totals.answered(),
                totals.requests(),
                totals.promptTokens(),
                totals.localTokens(),
                totals.remoteTokens(),
                totals.promptTokens() - totals.localTokens() - totals.remoteTokens());
        terminal.line(
                "time to first token, summed: %.1f s with the cache, %.1f s without",
                totals.cachedSeconds(), totals.computedSeconds());
        outcome.nodes().forEach(this::node);
        terminal.heading("SQL, by JDBC thin driver");
        outcome.sql().forEach(this::sql);
        terminal.heading("Targets");
        outcome.report().table().forEach(terminal::line);
        terminal.heading("Checks");
        for (DemoOutcome.Check check : outcome.checks()) {
            terminal.line("%-6s  %s (%s)", check.held() ? "held" : "BROKEN", check.name(), check.detail());
        }
        terminal.line("");
        terminal.line("Demo took %.0f s.", outcome.totalSeconds());
    }

    private void node(NodeRow node) {
        if (!node.alive()) {
            terminal.line("  %s: %d requests; its counters died with it", node.name(), node.requests());
            return;
        }
        terminal.line(
                "  %s: %d requests; blocks: %d in memory (room for %d), %d on SSD, %d loaded from SSD; fetched %s, served %s",
                node.name(),
                node.requests(),
                node.blocks(),
                node.capacityBlocks(),
                node.ssdBlocks(),
                node.ssdLoads(),
                ByteSize.format(node.bytesFetched()),
                ByteSize.format(node.bytesServed()));
    }

    private void sql(SqlConsole.Answer answer) {
        terminal.line("> " + answer.sql());
        TextTable table = new TextTable(answer.columns());
        answer.rows().forEach(table::row);
        table.lines().forEach(line -> terminal.line("  " + line));
        terminal.line("");
    }

    private static String millis(double value) {
        return String.format(Locale.ROOT, "%.0f ms", value);
    }
}
