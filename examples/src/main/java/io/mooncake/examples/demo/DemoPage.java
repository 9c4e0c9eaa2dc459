// SPDX-License-Identifier: Apache-2.0
package io.mooncake.examples.demo;

import io.mooncake.base.ByteSize;
import io.mooncake.examples.report.BenchmarkReport;
import io.mooncake.examples.report.BenchmarkResult;
import io.mooncake.examples.report.HtmlPage;
import io.mooncake.examples.report.Machine;
import io.mooncake.examples.report.Plots;
import io.mooncake.examples.report.Samples;
import io.mooncake.examples.sql.SqlConsole;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.stream.IntStream;

/** The demo's outcome as a page to be opened in a browser. */
final class DemoPage {
    private static final List<String> PARTS = List.of("local", "remote", "computed");
    private static final List<List<String>> PART_LEGEND = List.of(
            List.of("local", "reused, own memory or SSD"),
            List.of("remote", "reused, fetched from another node"),
            List.of("computed", "computed"));

    private final DemoOutcome outcome;
    private final HtmlPage page = new HtmlPage("Mooncake for Apache Ignite: demo report");

    private DemoPage(DemoOutcome outcome) {
        this.outcome = outcome;
    }

    static String render(DemoOutcome outcome) {
        return new DemoPage(outcome).build();
    }

    private String build() {
        head();
        page.section("Targets", "Value and reference are medians of this run; the ratio is what the target is set on.");
        targets();
        page.section("Checks", "What the demo promises, and the figures behind each promise.");
        page.table(
                List.of("check", "result", "detail"),
                outcome.checks().stream()
                        .map(check -> List.of(check.name(), check.held() ? "held" : "BROKEN", check.detail()))
                        .toList(),
                List.of());
        plots();
        restart();
        page.section(
                "Requests",
                "Milliseconds to the first token, with the cache and with look-up switched off on the same node.");
        requests();
        page.section("What SQL says", "Asked over the JDBC thin driver at the end of the demo.");
        outcome.sql().forEach(this::sql);
        machine();
        return page.end();
    }

    private void head() {
        List<RequestRow> answered = outcome.answered();
        long prompt = answered.stream().mapToLong(RequestRow::promptTokens).sum();
        long local = answered.stream().mapToLong(RequestRow::localTokens).sum();
        long remote = answered.stream().mapToLong(RequestRow::remoteTokens).sum();
        long reusing = answered.stream()
                .filter(row -> row.localTokens() + row.remoteTokens() > 0)
                .count();
        page.raw("<h1>Mooncake for Apache Ignite: demo report</h1>\n");
        page.raw("<p class=\"sub\">" + HtmlPage.escape(outcome.model()) + " on "
                + outcome.nodes().size()
                + " Ignite nodes, " + outcome.modelThreads() + " model thread(s) each. "
                + outcome.requests().size()
                + " chat requests in conversations that share system prompts; each was answered twice on the same node,"
                + " with and without the cache, and compared to the bit.</p>\n");
        page.raw(
                outcome.good()
                        ? "<span class=\"verdict\">All checks held</span>\n"
                        : "<span class=\"verdict broken\">A check failed</span>\n");
        page.tiles(List.of(
                List.of(median(answered, true), "median time to first token, reusing (" + reusing + " requests)"),
                List.of(median(answered, false), "median of the same requests without the cache"),
                List.of(percent(local + remote, prompt), "of all prompt tokens reused"),
                List.of(
                        ByteSize.format(outcome.nodes().stream()
                                .mapToLong(NodeRow::bytesFetched)
                                .sum()),
                        "of KV fetched between nodes"),
                List.of(
                        count(answered, RequestRow::logitsEqual) + " / " + answered.size(),
                        "requests with bit-identical logits"),
                List.of(String.format(Locale.ROOT, "%.1f s", outcome.readySeconds()), "until the cluster was ready")));
    }

    private static String median(List<RequestRow> rows, boolean cached) {
        double[] values = rows.stream()
                .filter(row -> row.localTokens() + row.remoteTokens() > 0)
                .mapToDouble(cached ? RequestRow::cachedMillis : RequestRow::computedMillis)
                .toArray();
        return values.length == 0
                ? "-"
                : BenchmarkReport.number(Math.rint(Samples.of(values).median())) + " ms";
    }

    private static long count(List<RequestRow> rows, java.util.function.Predicate<RequestRow> what) {
        return rows.stream().filter(what).count();
    }

    private static String percent(long part, long whole) {
        return whole == 0 ? "-" : String.format(Locale.ROOT, "%.0f %%", 100.0 * part / whole);
    }

    private void targets() {
        List<List<String>> rows = new ArrayList<>();
        for (BenchmarkResult result : outcome.report().results()) {
            rows.add(List.of(
                    result.name(),
                    BenchmarkReport.number(result.value()) + " " + result.unit(),
                    BenchmarkReport.number(result.min()) + " .. " + BenchmarkReport.number(result.max()),
                    Integer.toString(result.runs()),
                    result.referenceValue() == null
                            ? "-"
                            : BenchmarkReport.number(result.referenceValue()) + " " + result.unit() + " ("
                                    + result.reference() + ")",
                    result.ratio() == null ? "-" : BenchmarkReport.number(result.ratio()),
                    result.target() == null ? "-" : result.target(),
                    result.verdict()));
        }
        page.table(
                List.of("figure", "value", "min .. max", "runs", "reference", "ratio", "target", "met"),
                rows,
                List.of(1, 2, 3, 5));
    }

    private void plots() {
        List<RequestRow> answered = outcome.answered();
        page.section(
                "Time to first token",
                "One pair a request, logarithmic: above without the cache, below with it. Lower is better.");
        page.figure(
                Plots.pairs(
                        "Time to first token with and without the cache, for each request",
                        answered.stream()
                                .map(row -> new Plots.Pair(
                                        Integer.toString(row.index()),
                                        row.cachedMillis(),
                                        row.computedMillis(),
                                        row.remoteTokens() > 0,
                                        title(row)))
                                .toList()),
                List.of(
                        List.of("dot-computed", "without the cache"),
                        List.of("dot-local", "with the cache"),
                        List.of("dot-remote", "with the cache, prefix fetched from another node")));
        page.section("Where the prompt's tokens came from", "One column a request.");
        page.figure(
                Plots.columns(
                        "Tokens of each prompt: reused locally, fetched, computed",
                        answered.stream()
                                .map(row -> new Plots.Stack(
                                        Integer.toString(row.index()),
                                        parts(row.localTokens(), row.remoteTokens(), row.computedTokens()),
                                        title(row)))
                                .toList(),
                        PARTS),
                PART_LEGEND);
        page.section("What each node did", "Prompt tokens by where they came from, and bytes moved between the nodes.");
        page.figure(
                Plots.rows(
                        "Prompt tokens of each node",
                        outcome.nodes().stream()
                                .map(node -> new Plots.Stack(
                                        node.name(),
                                        parts(node.localTokens(), node.remoteTokens(), node.computedTokens()),
                                        node.name() + ": " + node.requests() + " requests"))
                                .toList(),
                        PARTS,
                        "tokens"),
                PART_LEGEND);
        page.table(
                List.of(
                        "node",
                        "state",
                        "requests",
                        "blocks in memory",
                        "room for",
                        "blocks on SSD",
                        "loaded from SSD",
                        "fetched",
                        "served to peers"),
                outcome.nodes().stream()
                        .map(node -> List.of(
                                node.name(),
                                node.alive() ? "running" : "killed",
                                Integer.toString(node.requests()),
                                Long.toString(node.blocks()),
                                Long.toString(node.capacityBlocks()),
                                Long.toString(node.ssdBlocks()),
                                Long.toString(node.ssdLoads()),
                                ByteSize.format(node.bytesFetched()),
                                ByteSize.format(node.bytesServed())))
                        .toList(),
                List.of(2, 3, 4, 5, 6, 7, 8));
    }

    private void restart() {
        RestartRow restart = outcome.restart();
        page.section(
                "After a restart",
                restart.node() + " came back with an empty memory and was asked what only its SSD could know.");
        RequestRow answer = restart.answer();
        if (answer == null) {
            page.raw("<p>" + HtmlPage.escape(restart.failure()) + "</p>\n");
            return;
        }
        page.table(
                List.of("what", "figure"),
                List.of(
                        List.of("stopped in", restart.killed() ? "killed before" : seconds(restart.stopSeconds())),
                        List.of("back in the cluster after", seconds(restart.startSeconds())),
                        List.of("blocks on its SSD before", Long.toString(restart.ssdBlocksBefore())),
                        List.of("blocks found there", Long.toString(restart.ssdBlocksAfter())),
                        List.of("tokens of the prompt", Integer.toString(answer.promptTokens())),
                        List.of("of them from its SSD", Integer.toString(restart.ssdTokens())),
                        List.of("held by any other node", Integer.toString(restart.othersTokens())),
                        List.of("first token with the SSD", seconds(answer.cachedMillis() / 1_000)),
                        List.of("first token computed", seconds(answer.computedMillis() / 1_000)),
                        List.of("saved", seconds(restart.savedMillis() / 1_000))),
                List.of(1));
    }

    private static String seconds(double value) {
        return String.format(Locale.ROOT, "%.2f s", value);
    }

    private static List<Double> parts(long local, long remote, long computed) {
        return List.of((double) local, (double) remote, (double) computed);
    }

    private static String title(RequestRow row) {
        return String.format(
                Locale.ROOT,
                "#%d %s turn %d on %s: %d tokens, %d local, %d fetched, %d computed; %.0f ms with, %.0f ms without",
                row.index(),
                row.conversation(),
                row.turn(),
                row.node(),
                row.promptTokens(),
                row.localTokens(),
                row.remoteTokens(),
                row.computedTokens(),
                row.cachedMillis(),
                row.computedMillis());
    }

    private void requests() {
        List<List<String>> rows = new ArrayList<>();
        for (RequestRow row : outcome.requests()) {
            if (row.answered()) {
                rows.add(List.of(
                        Integer.toString(row.index()),
                        row.conversation() + "." + row.turn(),
                        row.node() + (row.forced() ? " (forced)" : ""),
                        Integer.toString(row.promptTokens()),
                        Integer.toString(row.localTokens()),
                        Integer.toString(row.remoteTokens()),
                        String.format(Locale.ROOT, "%.0f", row.cachedMillis()),
                        String.format(Locale.ROOT, "%.0f", row.computedMillis()),
                        String.format(Locale.ROOT, "%.1f %%", 100 * row.ratio()),
                        row.logitsEqual() && row.tokensEqual() ? "yes" : "NO",
                        row.question() + " \u2192 " + row.answer()));
            } else {
                rows.add(List.of(
                        Integer.toString(row.index()),
                        row.conversation() + "." + row.turn(),
                        row.node() + (row.forced() ? " (forced)" : ""),
                        "-",
                        "-",
                        "-",
                        "-",
                        "-",
                        "-",
                        row.lost() ? "lost" : "failed",
                        String.valueOf(row.error())));
            }
        }
        page.table(
                List.of(
                        "#",
                        "turn",
                        "node",
                        "prompt",
                        "local",
                        "fetched",
                        "with",
                        "without",
                        "ratio",
                        "equal",
                        "question \u2192 answer"),
                rows,
                IntStream.of(0, 3, 4, 5, 6, 7, 8).boxed().toList());
    }

    private void sql(SqlConsole.Answer answer) {
        page.raw("<code>" + HtmlPage.escape(answer.sql()) + "</code>\n");
        List<Integer> numeric = IntStream.range(0, answer.columns().size())
                .filter(column ->
                        answer.rows().stream().allMatch(row -> row.get(column).matches("-?[0-9.]+")))
                .boxed()
                .toList();
        page.table(answer.columns(), answer.rows(), numeric);
    }

    private void machine() {
        Machine machine = outcome.report().machine();
        page.section("Machine and versions", "");
        List<List<String>> rows = new ArrayList<>();
        rows.add(List.of("processor", machine.cpu() + ", " + machine.cores() + " cores"));
        rows.add(List.of("memory", ByteSize.format(machine.memoryBytes())));
        rows.add(List.of("system", machine.os() + ", " + machine.kernel()));
        rows.add(List.of("Java", machine.java()));
        machine.libraries().forEach((name, version) -> rows.add(List.of(name, version)));
        rows.add(List.of(
                "mooncake", outcome.report().version() + " (" + outcome.report().commit() + ")"));
        page.table(List.of("what", "which"), rows, List.of());
        page.raw(String.format(
                Locale.ROOT,
                "<footer>Demo took %.0f s. Blocks of %d tokens.</footer>%n",
                outcome.totalSeconds(),
                outcome.blockTokens()));
    }
}
