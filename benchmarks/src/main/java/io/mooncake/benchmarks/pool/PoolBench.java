// SPDX-License-Identifier: Apache-2.0
package io.mooncake.benchmarks.pool;

import io.mooncake.benchmarks.Bench;
import io.mooncake.benchmarks.transfer.ChildProcess;
import io.mooncake.examples.cli.Home;
import io.mooncake.examples.cli.Refusal;
import io.mooncake.examples.cli.Terminal;
import io.mooncake.examples.report.BenchmarkReport;
import io.mooncake.examples.report.BenchmarkResult;
import io.mooncake.examples.report.Samples;
import io.mooncake.examples.report.Target;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Blocks by key beside other stores of values by key. All contenders of a line are measured in turns, each round beginning with another one; a ratio is the median of
 * the rounds' ratios.
 */
public final class PoolBench implements Bench {
    private static final List<String> PLACES = List.of("local", "shm", "tcp");
    private static final int BATCH_BYTES = 16 << 20;
    private static final long PATIENCE_MILLIS = 120_000;

    @Override
    public String name() {
        return "pool";
    }

    @Override
    public String question() {
        return "put and get of blocks by key, here and on another node, beside (--peer) mooncake,redis,ignite";
    }

    @Override
    public boolean needsModel() {
        return false;
    }

    @Override
    public List<String> peers() {
        return List.of("mooncake", "redis", "ignite");
    }

    /** A line of the table. */
    private record Line(String operation, String place, int size, int batch) {
        String name() {
            return operation + " " + (size < 1 << 20 ? (size >> 10) + " KiB" : (size >> 20) + " MiB")
                    + (batch > 1 ? " x " + batch : "") + ", " + place;
        }

        String place(String contender) {
            return place.equals("local") && !contender.equals("redis") ? "local" : "remote";
        }
    }

    @Override
    public BenchmarkReport run(Settings asked, Terminal terminal) {
        int rounds = asked.runs() > 0 ? asked.runs() : 5;
        long millis = asked.quick() ? 40 : 150;
        List<String> peers = asked.peer() == null
                ? List.of()
                : Arrays.stream(asked.peer().split(",")).distinct().toList();
        List<BenchmarkResult> results = new ArrayList<>();
        Map<String, Object> settings = new LinkedHashMap<>();
        settings.put("rounds", rounds);
        settings.put("millisOfARound", millis);
        try (PoolField field = PoolField.start(peers, terminal)) {
            settings.put("peers", field.versions());
            List<Line> lines = lines(asked);
            int measured = 0;
            for (Line line : lines) {
                terminal.progress("pool", measured++, lines.size(), line.name());
                results.addAll(measure(line, field, rounds, millis, terminal));
            }
        }
        return BenchmarkReport.here(name(), Home.root(), results, Map.of("settings", settings));
    }

    private static List<Line> lines(Settings asked) {
        List<Line> lines = new ArrayList<>();
        List<Integer> sizes = asked.sizes().isEmpty()
                ? asked.quick() ? List.of(64 << 10, 1 << 20) : PoolNodeMain.SIZES
                : asked.sizes().stream().map(Math::toIntExact).toList();
        for (int size : sizes) {
            if (!PoolNodeMain.SIZES.contains(size)) {
                throw new Refusal("--sizes: " + size + " (expected: of " + PoolNodeMain.SIZES + ")");
            }
        }
        for (String operation : List.of("get", "put")) {
            for (String place : PLACES) {
                for (int size : sizes) {
                    for (int batch : List.of(1, Math.min(32, BATCH_BYTES / size))) {
                        lines.add(new Line(operation, place, size, batch));
                    }
                }
            }
        }
        lines.add(new Line("exists", "tcp", 4 << 10, 1));
        lines.add(new Line("exists", "tcp", 4 << 10, 32));
        return lines;
    }

    private static List<BenchmarkResult> measure(
            Line line, PoolField field, int rounds, long millis, Terminal terminal) {
        Map<String, List<Double>> seconds = new LinkedHashMap<>();
        List<String> contenders = new ArrayList<>(field.contenders());
        for (int round = -1; round < rounds; round++) {
            List<String> turns = new ArrayList<>(contenders);
            Collections.rotate(turns, round);
            for (String contender : turns) {
                try {
                    double each = field.measure(
                            contender,
                            line.operation(),
                            line.size(),
                            line.batch(),
                            millis,
                            line.place(),
                            line.place(contender));
                    if (round >= 0) {
                        seconds.computeIfAbsent(contender, first -> new ArrayList<>())
                                .add(each);
                    }
                } catch (Refusal e) {
                    if (contender.equals(PoolField.OURS)) {
                        throw e;
                    }
                    terminal.line("WITHOUT " + contender + " at " + line.name() + ": " + e.getMessage());
                    contenders.remove(contender);
                    seconds.remove(contender);
                }
            }
        }
        return results(line, seconds);
    }

    private static List<BenchmarkResult> results(Line line, Map<String, List<Double>> seconds) {
        List<Double> ours = seconds.getOrDefault(PoolField.OURS, List.of());
        List<BenchmarkResult> results = new ArrayList<>();
        boolean exists = line.operation().equals("exists");
        results.add(BenchmarkResult.of(
                line.name(),
                Samples.of(ours.stream()
                        .map(each ->
                                exists ? each * 1e6 / line.batch() : (double) line.size() * line.batch() / each / 1e9)
                        .toList()),
                exists ? "us a key" : "GB/s",
                null));
        seconds.forEach((contender, theirs) -> {
            if (!contender.equals(PoolField.OURS)) {
                List<Double> ratios = new ArrayList<>();
                for (int i = 0; i < Math.min(ours.size(), theirs.size()); i++) {
                    ratios.add(theirs.get(i) / ours.get(i));
                }
                results.add(BenchmarkResult.of(
                        line.name() + ", times " + contender, Samples.of(ratios), "x", target(line, contender)));
            }
        });
        return results;
    }

    private static @Nullable Target target(Line line, String contender) {
        if (line.size() != 1 << 20 || line.batch() != 1 || line.place().equals("local")) {
            return null;
        }
        boolean shm = line.place().equals("shm");
        boolean get = line.operation().equals("get");
        return switch (contender) {
            case "mooncake" -> Target.atLeast(shm ? 4 : get ? 1.5 : 2);
            case "ignite" -> Target.atLeast(3);
            default -> Target.atLeast(2);
        };
    }

    /** For messages of children. */
    static double secondsOfACall(String name, String answer) {
        String[] words = answer.split(" ");
        if (words.length < 5 || !words[0].equals("result")) {
            throw new Refusal(name + ": " + answer + " (expected: result CALLS NANOS MEDIAN P99)");
        }
        return Long.parseLong(words[2]) / 1e9 / Long.parseLong(words[1]);
    }

    /** Asks a child for a measurement. */
    static double ask(ChildProcess child, String name, String command) {
        return secondsOfACall(name, child.ask(command, "", PATIENCE_MILLIS));
    }
}
