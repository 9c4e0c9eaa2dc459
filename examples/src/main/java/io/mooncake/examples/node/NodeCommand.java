// SPDX-License-Identifier: Apache-2.0
package io.mooncake.examples.node;

import io.mooncake.examples.cli.Home;
import io.mooncake.examples.cli.Refusal;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.atomic.AtomicBoolean;
import org.apache.ignite.IgniteSystemProperties;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** {@code node}: one Ignite node from Spring XML, in this process, until SIGTERM. */
@Command(
        name = "node",
        description =
                "Starts one Ignite node from a Spring XML file and runs it until it is told to stop (Ctrl-C, SIGTERM).",
        mixinStandardHelpOptions = true)
public final class NodeCommand implements Callable<Integer> {
    @Option(
            names = "--config",
            required = true,
            paramLabel = "FILE",
            description = "Spring XML file with one IgniteConfiguration.")
    @SuppressWarnings("NullAway.Init") // required by picocli
    private Path config;

    @Option(names = "--name", paramLabel = "NAME", description = "Name of the node; overrides the file's.")
    private @Nullable String name;

    @Option(
            names = "-D",
            paramLabel = "KEY=VALUE",
            mapFallbackValue = "",
            description = "Sets a system property, for the file's placeholders. Repeatable.")
    private Map<String, String> properties = Map.of();

    @Option(names = "--trace", description = "Shows the stack trace of a refusal too.")
    private boolean trace;

    @Option(names = "--check", description = "Reads and checks the file, starts nothing.")
    private boolean check;

    @Option(
            names = "--stop-on-eof",
            hidden = true,
            description = "Stops when standard input ends: for a parent process.")
    private boolean stopOnEof;

    @Spec
    @SuppressWarnings("NullAway.Init") // set by picocli
    private CommandSpec spec;

    @Override
    public Integer call() throws InterruptedException {
        long start = System.nanoTime();
        properties.forEach(System::setProperty);
        LogFile.use(Home.folder("target/node/logs").resolve((name == null ? "node" : name) + ".log"));
        // Ours prints and drains; Ignite's own would race with it.
        System.setProperty(IgniteSystemProperties.IGNITE_NO_SHUTDOWN_HOOK, "true");
        System.setProperty(IgniteSystemProperties.IGNITE_NO_ASCII, "true");
        PrintWriter out = spec.commandLine().getOut();
        try {
            SpringFile file = SpringFile.read(config);
            if (name != null) {
                file.rename(name);
            }
            PluginCheck.run(file);
            if (check) {
                out.println("OK " + config);
                return 0;
            }
            run(file, start, out);
            return 0;
        } catch (Refusal refusal) {
            if (trace) {
                SpringFile.trace(refusal, spec.commandLine().getErr());
            }
            throw refusal;
        }
    }

    private void run(SpringFile file, long start, PrintWriter out) throws InterruptedException {
        RunningNode node = RunningNode.start(file);
        AtomicBoolean asked = new AtomicBoolean();
        Runtime.getRuntime()
                .addShutdownHook(new Thread(
                        () -> {
                            asked.set(true);
                            node.close();
                            out.println("STOPPED " + node.ignite().name());
                            out.flush();
                        },
                        "mooncake-node-stop"));
        if (stopOnEof) {
            exitAtEndOfInput();
        }
        out.println(node.readyLine((System.nanoTime() - start) / 1_000_000));
        out.flush();
        node.awaitStop();
        if (!asked.get()) {
            throw new Refusal("Node " + node.ignite().name()
                    + " stopped by itself: it was cut from the cluster or failed; its log says why.");
        }
    }

    private static void exitAtEndOfInput() {
        Thread watcher = new Thread(
                () -> {
                    try {
                        System.in.transferTo(java.io.OutputStream.nullOutputStream());
                    } catch (IOException e) {
                        // A broken pipe is the end of the parent as well.
                    }
                    System.exit(0);
                },
                "mooncake-parent-watch");
        watcher.setDaemon(true);
        watcher.start();
    }
}
