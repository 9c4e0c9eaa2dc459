// SPDX-License-Identifier: Apache-2.0
package io.mooncake.benchmarks;

import io.mooncake.base.ByteSize;
import io.mooncake.benchmarks.index.FeedBench;
import io.mooncake.benchmarks.index.IndexBench;
import io.mooncake.benchmarks.memory.MemoryBench;
import io.mooncake.benchmarks.mirror.MirrorBench;
import io.mooncake.benchmarks.policy.PolicyBench;
import io.mooncake.benchmarks.pool.PoolBench;
import io.mooncake.benchmarks.prefix.PrefixBench;
import io.mooncake.benchmarks.ssd.SsdBench;
import io.mooncake.benchmarks.transfer.MessagesBench;
import io.mooncake.benchmarks.transfer.TransferBench;
import io.mooncake.examples.cli.Home;
import io.mooncake.examples.cli.Refusal;
import io.mooncake.examples.cli.Terminal;
import io.mooncake.examples.cli.UsageErrors;
import io.mooncake.examples.node.LogFile;
import io.mooncake.examples.report.BenchmarkReport;
import io.mooncake.ignite.config.ConfigurationNames;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** Runs one benchmark. Exit codes: 0 measured, targets missed or not; 1 failed; 2 wrong command line or unknown benchmark. */
@Command(
        name = "bench",
        description = "Measures one thing, prints a table and writes JSON. A missed target is a result, not a failure.",
        mixinStandardHelpOptions = true)
public final class Main implements Callable<Integer> {
    private static final List<Bench> BENCHES = List.of(
            new E2eBench(),
            new IndexBench(),
            new PoolBench(),
            new FeedBench(),
            new TransferBench(),
            new MessagesBench(),
            new MemoryBench(),
            new PolicyBench(),
            new PrefixBench(),
            new MirrorBench(),
            new SsdBench());

    private static final int MAX_BLOCKS = 10_000_000;
    private static final long MAX_SIZE = 64L << 20;

    @Parameters(arity = "0..1", paramLabel = "NAME", description = "Name of the benchmark; without it, all are listed.")
    private @Nullable String name;

    @Option(names = "--json", paramLabel = "FILE", description = "Writes the results as JSON.")
    private @Nullable Path json;

    @Option(
            names = "--model",
            paramLabel = "FILE",
            description = "GGUF file of a llama model (default: the downloaded SmolLM2).")
    private @Nullable Path model;

    @Option(
            names = "--runs",
            paramLabel = "N",
            description = "Measurements of each figure, 5..1000 (default: e2e 10, transfer 7).")
    private @Nullable Integer runs;

    @Option(names = "--quick", description = "Shorter measurements: about a minute.")
    private boolean quick;

    @Option(
            names = "--transport",
            paramLabel = "NAME",
            split = ",",
            description = "Transports of the transfer benchmark: tcp, shm, rdma (default: all).")
    private @Nullable List<String> transports;

    @Option(
            names = "--sizes",
            paramLabel = "SIZE",
            split = ",",
            description = "Sizes of the transfers (default: 8,4KiB,64KiB,1MiB,16MiB,64MiB).")
    private @Nullable List<String> sizes;

    @Option(
            names = "--peer",
            paramLabel = "NAME",
            description = "Measures other products beside: mooncake; for the pool also redis and ignite.")
    private @Nullable String peer;

    @Option(
            names = "--trace",
            paramLabel = "FILE",
            split = ",",
            description = "Recorded requests for the policy benchmark (default: those in MOONCAKE_TEST_DATA).")
    private List<Path> traces = List.of();

    @Option(
            names = "--blocks",
            paramLabel = "N",
            split = ",",
            description =
                    "Sizes of the caches of the policy benchmark (default: 1000,5000,10000,30000), or of the index.")
    private List<Integer> blocks = List.of();

    @Spec
    @SuppressWarnings("NullAway.Init") // set by picocli
    private CommandSpec spec;

    private Main() {}

    public static void main(String[] args) {
        System.exit(run(new PrintWriter(System.out, true), new PrintWriter(System.err, true), args));
    }

    /** The names of all benchmarks. */
    public static List<String> names() {
        return BENCHES.stream().map(Bench::name).toList();
    }

    static int run(PrintWriter out, PrintWriter err, String... args) {
        UsageErrors errors = new UsageErrors();
        return new CommandLine(new Main())
                .setOut(out)
                .setErr(err)
                .setParameterExceptionHandler(errors)
                .setExecutionExceptionHandler(errors)
                .execute(args);
    }

    @Override
    public Integer call() throws Exception {
        PrintWriter out = spec.commandLine().getOut();
        Map<String, Bench> benches = new TreeMap<>();
        BENCHES.forEach(bench -> benches.put(bench.name(), bench));
        if (name == null) {
            benches.values().forEach(bench -> out.println(bench.name() + "  " + bench.question()));
            return 0;
        }
        Bench bench = benches.get(name);
        if (bench == null) {
            String hint = ConfigurationNames.nearest(name, benches.keySet())
                    .map(near -> "; did you mean " + near + "?")
                    .orElse("");
            spec.commandLine()
                    .getErr()
                    .println("Unknown benchmark: " + name + " (expected: " + String.join(", ", benches.keySet()) + ")"
                            + hint);
            return UsageErrors.USAGE;
        }
        return measure(bench, settings(bench), out);
    }

    private Bench.Settings settings(Bench bench) {
        if (runs != null && (runs < 5 || runs > 1_000)) {
            throw new Refusal("--runs: " + runs + " (expected: 5..1000)");
        }
        List<String> chosen = transports == null ? TransferBench.TRANSPORTS : transports;
        chosen.forEach(one -> requireOneOf("--transport", one, TransferBench.TRANSPORTS));
        if (peer != null) {
            if (bench.peers().isEmpty()) {
                throw new Refusal(
                        "--peer: " + peer + " (expected: none; " + bench.name() + " measures beside no other product)");
            }
            for (String one : peer.split(",")) {
                requireOneOf("--peer", one, bench.peers());
            }
        }
        List<Long> bytes = new ArrayList<>();
        for (String size : sizes == null ? List.<String>of() : sizes) {
            bytes.add(requireSize(size));
        }
        for (int size : blocks) {
            if (size < 1 || size > MAX_BLOCKS) {
                throw new Refusal("--blocks: " + size + " (expected: 1.." + MAX_BLOCKS + ")");
            }
        }
        return new Bench.Settings(
                bench.needsModel() ? requireModel() : Path.of(""),
                runs == null ? 0 : runs,
                quick,
                chosen,
                bytes,
                peer,
                traces,
                blocks);
    }

    private static void requireOneOf(String option, String value, List<String> valid) {
        if (!valid.contains(value)) {
            String hint = ConfigurationNames.nearest(value, valid)
                    .map(near -> "; did you mean " + near + "?")
                    .orElse("");
            throw new Refusal(option + ": " + value + " (expected: " + String.join(", ", valid) + ")" + hint);
        }
    }

    private static long requireSize(String text) {
        long size = ByteSize.parse("--sizes", text);
        if (size < Long.BYTES || size > MAX_SIZE || Long.bitCount(size) != 1) {
            throw new Refusal("--sizes: " + text + " (expected: powers of two, 8..64MiB)");
        }
        return size;
    }

    private int measure(Bench bench, Bench.Settings settings, PrintWriter out) throws Exception {
        LogFile.use(Home.folder("target/bench/logs/client.log"));
        Terminal terminal = Terminal.standard();
        BenchmarkReport report = bench.run(settings, terminal);
        terminal.endProgress();
        if (!bench.showsResults()) {
            report.table().forEach(out::println);
        }
        if (json != null) {
            report.write(json);
            out.println("JSON: " + json);
        }
        out.flush();
        return 0;
    }

    private Path requireModel() {
        Path file = model == null ? Home.defaultModel() : model;
        if (!Files.isReadable(file) || !Files.isRegularFile(file)) {
            throw new Refusal("Model file: " + file + " (expected: a readable GGUF file of the llama architecture; "
                    + "./mooncake demo downloads one, or name another by --model FILE)");
        }
        return file.toAbsolutePath();
    }
}
