// SPDX-License-Identifier: Apache-2.0
package io.mooncake.benchmarks.policy;

import io.mooncake.benchmarks.Bench;
import io.mooncake.examples.cli.Home;
import io.mooncake.examples.cli.Refusal;
import io.mooncake.examples.cli.Terminal;
import io.mooncake.examples.cli.TextTable;
import io.mooncake.examples.report.BenchmarkReport;
import io.mooncake.examples.report.BenchmarkResult;
import io.mooncake.examples.report.Samples;
import io.mooncake.examples.report.Target;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * How many blocks of recorded prompts each eviction policy has at hand: the share of all blocks asked for that are hits of the contiguous cached prefix, in
 * one cache of so many blocks, on line, from a cold start.
 *
 * <p>Where a policy has parameters, each column shows those that did best on the first half of that trace with that many blocks. Ours has
 * none to choose: its constants are the same everywhere.
 */
public final class PolicyBench implements Bench {
    private static final List<Integer> BLOCKS = List.of(1_000, 5_000, 10_000, 30_000);
    private static final List<Integer> QUICK_BLOCKS = List.of(10_000);
    private static final int TIMED_BLOCKS = 10_000;
    private static final int TIMED_RUNS = 5;
    private static final double MOST_NANOS = 2_000;

    @Override
    public String name() {
        return "policy";
    }

    @Override
    public String question() {
        return "hits of recorded prompts under each eviction policy, and its cost a block";
    }

    @Override
    public boolean needsModel() {
        return false;
    }

    @Override
    public boolean showsResults() {
        return true;
    }

    @Override
    public BenchmarkReport run(Settings asked, Terminal terminal) throws IOException {
        List<Integer> sizes = !asked.blocks().isEmpty() ? asked.blocks() : asked.quick() ? QUICK_BLOCKS : BLOCKS;
        List<BenchmarkResult> results = new ArrayList<>();
        Map<String, Object> columns = new TreeMap<>();
        for (Path file : traces(asked)) {
            Trace trace = Trace.read(file);
            if (trace.requests().isEmpty()) {
                throw new Refusal("--trace: " + file + " (expected: at least one request)");
            }
            Map<String, Map<Integer, Column>> rows = replayAll(trace, sizes, terminal);
            terminal.endProgress();
            show(trace, sizes, rows, terminal);
            for (int blocks : sizes) {
                results.addAll(PolicyTargets.of(trace.name(), blocks, column(rows, blocks)));
            }
            results.addAll(cost(trace, asked.quick() ? 3 : TIMED_RUNS));
            columns.put(trace.name(), rows);
        }
        BenchmarkReport report = BenchmarkReport.here(name(), Home.root(), results, Map.of("columns", columns));
        terminal.line("");
        report.table().forEach(terminal::line);
        return report;
    }

    /**
     * One cell of the table.
     *
     * @param parameters that did best on the first half
     * @param whole share of hits in the whole trace
     * @param second in its second half
     */
    record Column(String parameters, double whole, double second) {}

    private static List<Path> traces(Settings asked) throws IOException {
        List<Path> files = asked.traces();
        String data = System.getenv("MOONCAKE_TEST_DATA");
        Path folder = data == null ? null : Path.of(data, "traces");
        if (files.isEmpty() && folder != null && Files.isDirectory(folder)) {
            try (Stream<Path> found = Files.list(folder)) {
                files = found.filter(file -> file.toString().endsWith(".jsonl"))
                        .sorted()
                        .toList();
            }
        }
        if (files.isEmpty()) {
            throw new Refusal("--trace: none (expected: files of Mooncake's trace form, see docs/policy.md)");
        }
        for (Path file : files) {
            if (!Files.isReadable(file)) {
                throw new Refusal("--trace: " + file + " (expected: a readable file)");
            }
        }
        return files;
    }

    private static Map<String, Map<Integer, Column>> replayAll(Trace trace, List<Integer> sizes, Terminal terminal) {
        Map<String, Map<Integer, Column>> rows = new LinkedHashMap<>();
        List<Contestant> contestants = Contestant.all();
        int done = 0;
        for (int blocks : sizes) {
            put(rows, "plain lru", blocks, Replay.of(trace, PlainLru.hits(trace, blocks), 0, 0));
            Map<String, Double> bestFirst = new LinkedHashMap<>();
            for (Contestant contestant : contestants) {
                terminal.progress(trace.name(), done++, contestants.size() * sizes.size(), contestant.family());
                Replay replay = Replay.of(trace, contestant, blocks);
                Double best = bestFirst.get(contestant.family());
                if (best == null || replay.first() > best) {
                    bestFirst.put(contestant.family(), replay.first());
                    put(rows, contestant.family(), contestant.parameters(), blocks, replay);
                }
            }
            put(rows, "offline bound", blocks, Replay.of(trace, OfflineBound.hits(trace, blocks), 0, 0));
            put(rows, "no limit", blocks, Replay.of(trace, OfflineBound.hitsWithoutLimit(trace), 0, 0));
        }
        return rows;
    }

    private static void put(Map<String, Map<Integer, Column>> rows, String row, int blocks, Replay replay) {
        put(rows, row, "", blocks, replay);
    }

    private static void put(
            Map<String, Map<Integer, Column>> rows, String row, String parameters, int blocks, Replay replay) {
        rows.computeIfAbsent(row, first -> new TreeMap<>())
                .put(blocks, new Column(parameters, replay.whole(), replay.second()));
    }

    private static Map<String, Column> column(Map<String, Map<Integer, Column>> rows, int blocks) {
        Map<String, Column> column = new LinkedHashMap<>();
        rows.forEach((row, cells) -> {
            Column cell = cells.get(blocks);
            if (cell != null) {
                column.put(row, cell);
            }
        });
        return column;
    }

    private static void show(
            Trace trace, List<Integer> sizes, Map<String, Map<Integer, Column>> rows, Terminal terminal) {
        terminal.line("");
        terminal.line(
                "%s: %d requests, %d blocks asked for; share of hits, whole trace / second half",
                trace.name(), trace.requests().size(), trace.blockUses());
        List<String> header = new ArrayList<>(List.of("policy"));
        sizes.forEach(blocks -> header.add(String.format(Locale.ROOT, "%,d", blocks)));
        TextTable table = new TextTable(header);
        rows.forEach((row, cells) -> {
            List<String> line = new ArrayList<>(List.of(row));
            for (int blocks : sizes) {
                line.add(cell(cells.get(blocks)));
            }
            table.row(line);
        });
        table.lines().forEach(terminal::line);
    }

    private static String cell(@Nullable Column cell) {
        return cell == null
                ? ""
                : String.format(Locale.ROOT, "%.4f/%.4f", cell.whole(), cell.second())
                        + (cell.parameters().isEmpty() ? "" : " (" + cell.parameters() + ")");
    }

    /** Processor time and heap a block, ours and LRU in turns. */
    private static List<BenchmarkResult> cost(Trace trace, int runs) {
        Contestant ours = Contestant.all().stream()
                .filter(one -> one.family().equals(Contestant.OURS))
                .findFirst()
                .orElseThrow();
        Contestant lru = Contestant.all().get(0);
        List<Double> oursNanos = new ArrayList<>();
        List<Double> lruNanos = new ArrayList<>();
        double bytes = 0;
        for (int run = -1; run < runs; run++) {
            Replay lruReplay = Replay.of(trace, lru, TIMED_BLOCKS);
            Replay oursReplay = Replay.of(trace, ours, TIMED_BLOCKS);
            if (run >= 0) {
                lruNanos.add(lruReplay.nanosABlock());
                oursNanos.add(oursReplay.nanosABlock());
                bytes = Math.max(0, oursReplay.bytesABlock() - lruReplay.bytesABlock());
            }
        }
        String where = trace.name() + ", " + TIMED_BLOCKS + " blocks, ";
        return List.of(
                new BenchmarkResult(
                        where + "processor time a block, the replay's own included",
                        Samples.of(oursNanos).median(),
                        "ns",
                        "lru",
                        Samples.of(lruNanos).median(),
                        Samples.of(oursNanos).median() / Samples.of(lruNanos).median(),
                        Target.atMost(MOST_NANOS).toString(),
                        Target.atMost(MOST_NANOS).met(Samples.of(oursNanos).median()),
                        Samples.of(oursNanos).min(),
                        Samples.of(oursNanos).max(),
                        runs,
                        Samples.of(lruNanos).min(),
                        Samples.of(lruNanos).max()),
                BenchmarkResult.of(where + "heap a block beyond lru's", Samples.of(bytes), "B", null));
    }
}
