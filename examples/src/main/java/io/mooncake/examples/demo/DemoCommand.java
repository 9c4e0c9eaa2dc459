// SPDX-License-Identifier: Apache-2.0
package io.mooncake.examples.demo;

import io.mooncake.examples.cli.Home;
import io.mooncake.examples.cli.Refusal;
import io.mooncake.examples.cli.Terminal;
import io.mooncake.examples.node.LogFile;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** {@code demo}: three nodes, a client, a few dozen chat requests, a report. */
@Command(
        name = "demo",
        description = {
            "Starts three nodes with a chat model and sends requests that reuse each other's KV cache; every answer is given with and"
                    + " without the cache and compared to the bit.",
            "Exit code 0 when all checks held."
        },
        mixinStandardHelpOptions = true)
public final class DemoCommand implements Callable<Integer> {
    @Option(
            names = "--model",
            paramLabel = "FILE",
            description = "GGUF file of a llama model (default: the downloaded SmolLM2).")
    private @Nullable Path model;

    @Option(names = "--json", paramLabel = "FILE", description = "Writes requests, totals and results as JSON.")
    private @Nullable Path json;

    @Option(
            names = "--requests",
            paramLabel = "N",
            defaultValue = "36",
            description = "Requests to send, 24..400 (${DEFAULT-VALUE}).")
    private int requests;

    @Option(
            names = "--new-tokens",
            paramLabel = "N",
            defaultValue = "12",
            description = "Tokens of each answer, 1..256 (${DEFAULT-VALUE}).")
    private int newTokens;

    @Option(
            names = "--parallel",
            paramLabel = "N",
            defaultValue = "0",
            description = "Requests at a time (default: one a core, at most one a node).")
    private int parallel;

    @Option(
            names = "--kill-node",
            description = "Kills one node with kill -9 midway: its running requests are lost, all others must finish;"
                    + " that node is restarted at the end.")
    private boolean killNode;

    @Option(
            names = "--ssd",
            paramLabel = "FOLDER",
            description =
                    "Existing folder for the nodes' SSD tiers, 2.3 GiB at most, deleted at the end (default: target/demo/ssd).")
    private @Nullable Path ssd;

    @Override
    public Integer call() throws IOException, InterruptedException {
        Plan plan = Plan.of(requests);
        if (newTokens < 1 || newTokens > 256) {
            throw new Refusal("--new-tokens: " + newTokens + " (expected: 1..256)");
        }
        if (parallel < 0 || parallel > 64) {
            throw new Refusal("--parallel: " + parallel + " (expected: 1..64, or 0 to choose)");
        }
        Path file = requireModel();
        LogFile.use(Home.folder("target/demo/logs/client.log"));
        DemoOptions options = new DemoOptions(file, plan, newTokens, parallel, killNode, ssdFolder());
        Terminal terminal = Terminal.standard();
        DemoOutcome outcome = new Demo(options, terminal).run();
        Path page = Home.folder("target/demo/report.html");
        Files.createDirectories(page.getParent());
        Files.writeString(page, DemoPage.render(outcome));
        if (json != null) {
            outcome.report().write(json);
            terminal.line("JSON:   " + json);
        }
        terminal.line("Report: " + page);
        return outcome.good() ? 0 : 1;
    }

    /** Who names a folder wants that one; our own is made. */
    private Path ssdFolder() throws IOException {
        return ssd == null
                ? Files.createDirectories(Home.folder("target/demo/ssd"))
                : ssd.toAbsolutePath().normalize();
    }

    private Path requireModel() {
        Path file = model == null ? Home.defaultModel() : model;
        if (!Files.isRegularFile(file) || !Files.isReadable(file)) {
            throw new Refusal("Model file: " + file + " (expected: a readable GGUF file"
                    + (model == null
                            ? "; ./mooncake demo downloads it, or name another one by --model FILE)"
                            : " of the llama architecture)"));
        }
        return file.toAbsolutePath();
    }
}
