// SPDX-License-Identifier: Apache-2.0
package io.mooncake.benchmarks;

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
    private static final List<Bench> BENCHES = List.of(new E2eBench());

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
            defaultValue = "10",
            description = "Measurements of each figure, 5..1000 (${DEFAULT-VALUE}).")
    private int runs;

    @Spec
    @SuppressWarnings("NullAway.Init") // set by picocli
    private CommandSpec spec;

    private Main() {}

    public static void main(String[] args) {
        System.exit(run(new PrintWriter(System.out, true), new PrintWriter(System.err, true), args));
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
        if (runs < 5 || runs > 1_000) {
            throw new Refusal("--runs: " + runs + " (expected: 5..1000)");
        }
        return measure(bench, requireModel(), out);
    }

    private int measure(Bench bench, Path file, PrintWriter out) throws Exception {
        LogFile.use(Home.folder("target/bench/logs/client.log"));
        Terminal terminal = Terminal.standard();
        BenchmarkReport report = bench.run(new Bench.Settings(file, runs), terminal);
        terminal.endProgress();
        report.table().forEach(out::println);
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
