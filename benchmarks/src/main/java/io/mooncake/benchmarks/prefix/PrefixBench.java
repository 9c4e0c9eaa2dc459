// SPDX-License-Identifier: Apache-2.0
package io.mooncake.benchmarks.prefix;

import io.mooncake.benchmarks.Bench;
import io.mooncake.examples.cli.Home;
import io.mooncake.examples.cli.Terminal;
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
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The longest cached prefix among 1,000,000 blocks of 16 tokens, in trees built from the traces and from random branching: the product's
 * tree beside a chained-hash map and a radix tree of objects. Contenders take turns; a figure is the median of the rounds' medians.
 */
public final class PrefixBench implements Bench {
    private static final int BLOCKS = 1_000_000;
    private static final int WARM_UP_ROUNDS = 3;
    private static final int QUICK_BLOCKS = 200_000;
    private static final long SEED = 20_261_130;
    private static final List<String> TRACES = List.of("conversation", "synthetic");

    @Override
    public String name() {
        return "prefix";
    }

    @Override
    public String question() {
        return "the longest cached prefix among a million blocks, beside other ways to find it";
    }

    @Override
    public boolean needsModel() {
        return false;
    }

    @Override
    public BenchmarkReport run(Settings asked, Terminal terminal) throws IOException, InterruptedException {
        int blocks = asked.quick() ? QUICK_BLOCKS : BLOCKS;
        int rounds = asked.runs() > 0 ? asked.runs() : asked.quick() ? 5 : 9;
        List<BenchmarkResult> results = new ArrayList<>();
        Map<String, Object> shapes = new LinkedHashMap<>();
        List<String> kinds = new ArrayList<>(List.of("branching"));
        @Nullable Path traces = traces(terminal);
        if (traces != null) {
            kinds.addAll(0, TRACES);
        }
        for (String kind : kinds) {
            terminal.progress("prefix", kinds.indexOf(kind), kinds.size(), kind);
            Workload workload = traces == null || kind.equals("branching")
                    ? Workload.branching(blocks, SEED)
                    : Workload.ofTrace(
                            kind, TraceRequest.read(traces.resolve("mooncake_" + kind + "_trace.jsonl")), blocks, SEED);
            PrefixRounds measured = new PrefixRounds(workload, WARM_UP_ROUNDS, rounds, asked.quick() ? 100 : 300);
            measured.build();
            measured.lookUps();
            measured.readerBesideWriter();
            if (kind.equals("branching")) {
                measured.keys();
            }
            results.addAll(results(kind, measured));
            shapes.put(kind, measured.shape());
        }
        return BenchmarkReport.here(
                name(),
                Home.root(),
                results,
                Map.of(
                        "settings",
                        Map.of("blocks", blocks, "blockTokens", Workload.BLOCK_TOKENS, "rounds", rounds),
                        "trees",
                        shapes));
    }

    private static @Nullable Path traces(Terminal terminal) {
        String data = System.getenv("MOONCAKE_TEST_DATA");
        Path folder = data == null ? null : Path.of(data, "traces");
        if (folder == null || !Files.isDirectory(folder)) {
            terminal.line("WITHOUT the traces: MOONCAKE_TEST_DATA names no folder with traces/");
            return null;
        }
        return folder;
    }

    private static List<BenchmarkResult> results(String kind, PrefixRounds measured) {
        List<BenchmarkResult> results = new ArrayList<>();
        measured.figures().forEach((figure, byContender) -> {
            List<Double> ours = byContender.get(TreeContender.NAME);
            Target target = target(figure);
            if (ours != null) {
                results.add(BenchmarkResult.of(kind + ": " + figure.text, Samples.of(ours), figure.unit, target));
            }
            byContender.forEach((contender, values) -> {
                if (!contender.equals(TreeContender.NAME) && ours != null) {
                    results.add(BenchmarkResult.compared(
                            kind + ": " + figure.text + " / " + contender,
                            Samples.of(ours),
                            figure.unit,
                            contender,
                            Samples.of(values),
                            null));
                }
            });
        });
        return results;
    }

    private static @Nullable Target target(Figure figure) {
        return switch (figure) {
            case LONG -> Target.atMost(150);
            case SHORT -> Target.atMost(8);
            case MISS -> Target.atMost(1);
            case INSERT -> Target.atLeast(50);
            case INSERT_NEW, BESIDE_WRITER_PROCESSOR, WRITER -> null;
            case BESIDE_WRITER -> Target.atLeast(0.8);
            case MEMORY -> Target.atMost(2);
            case KEYS_FOUND, KEYS_MADE -> Target.atMost(100);
        };
    }

    /** What is measured. */
    enum Figure {
        LONG("cached prompt of 131,072 tokens", "us"),
        SHORT("cached prompt of 4,096 tokens", "us"),
        MISS("miss on the first block, prompt of 1,024 tokens", "us"),
        INSERT("insert, tokens of the prompts given", "M tokens/s"),
        INSERT_NEW("insert, new tokens", "M tokens/s"),
        BESIDE_WRITER("reader beside a writer, share of its speed alone", "ratio"),
        BESIDE_WRITER_PROCESSOR("the same by processor time", "ratio"),
        WRITER("the writer beside it, new tokens", "M tokens/s"),
        MEMORY("memory, of the tokens' own", "ratio"),
        KEYS_FOUND("chain keys of cached blocks, a block", "ns"),
        KEYS_MADE("chain keys of new blocks, a block", "ns");

        final String text;
        final String unit;

        Figure(String text, String unit) {
            this.text = text;
            this.unit = unit;
        }
    }
}
