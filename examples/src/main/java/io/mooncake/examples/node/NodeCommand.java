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
import java.util.concurrent.atomic.AtomicReference;
import org.apache.ignite.IgniteSystemProperties;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/**
 * {@code node}: one Ignite node from Spring XML, in this process, until SIGTERM. A node that was cut from its cluster, because it stood still or is in the smaller part of a
 * cluster that has split, stops by itself and comes back here as another life.
 */
@Command(
        name = "node",
        description =
                "Starts one Ignite node from a Spring XML file and runs it until it is told to stop (Ctrl-C, SIGTERM).",
        mixinStandardHelpOptions = true)
public final class NodeCommand implements Callable<Integer> {
    /** Exit code of a node that stopped without being told to. */
    static final int CUT_OFF = 3;

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
            names = "--no-restart",
            description = "Ends with exit code 3 when the node was cut from its cluster, instead of starting it again:"
                    + " for service managers that do so themselves.")
    private boolean noRestart;

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
        properties.forEach(System::setProperty);
        LogFile.use(Home.folder("target/node/logs").resolve((name == null ? "node" : name) + ".log"));
        // Ours prints and drains; Ignite's own would race with it.
        System.setProperty(IgniteSystemProperties.IGNITE_NO_SHUTDOWN_HOOK, "true");
        System.setProperty(IgniteSystemProperties.IGNITE_NO_ASCII, "true");
        PrintWriter out = spec.commandLine().getOut();
        try {
            SpringFile file = read();
            if (check) {
                out.println("OK " + config);
                return 0;
            }
            return run(file, out);
        } catch (Refusal refusal) {
            if (trace) {
                SpringFile.trace(refusal, spec.commandLine().getErr());
            }
            throw refusal;
        }
    }

    private SpringFile read() {
        SpringFile file = SpringFile.read(config);
        if (name != null) {
            file.rename(name);
        }
        file.stopWhenCutOff();
        PluginCheck.run(file);
        return file;
    }

    /** Runs life after life of the node until it is told to stop. The first one must start; those after it are tried again. */
    private int run(SpringFile first, PrintWriter out) throws InterruptedException {
        AtomicReference<@Nullable RunningNode> current = new AtomicReference<>();
        AtomicBoolean asked = new AtomicBoolean();
        Runtime.getRuntime().addShutdownHook(new Thread(() -> stop(current, asked, out), "mooncake-node-stop"));
        if (stopOnEof) {
            exitAtEndOfInput();
        }
        RestartPause pause = new RestartPause(System::nanoTime);
        SpringFile file = first;
        while (true) {
            long start = System.nanoTime();
            try (RunningNode node = RunningNode.start(file)) {
                current.set(node);
                say(out, node.readyLine((System.nanoTime() - start) / 1_000_000));
                pause.started();
                node.awaitStop();
                if (asked.get()) {
                    return 0;
                }
                say(out, "LEFT " + node.ignite().name() + ": it was cut from the cluster or failed; its log says why");
            } catch (Refusal refusal) {
                if (file == first) {
                    throw refusal;
                }
                say(out, "NOT STARTED: " + refusal.getMessage());
            }
            if (noRestart) {
                return CUT_OFF;
            }
            long millis = pause.nextMillis();
            say(out, "RESTART in " + millis + " ms");
            Thread.sleep(millis);
            if (asked.get()) {
                return 0;
            }
            file.context().close();
            // Anew: an Ignite configuration serves one life.
            file = read();
        }
    }

    private static void stop(AtomicReference<@Nullable RunningNode> current, AtomicBoolean asked, PrintWriter out) {
        asked.set(true);
        RunningNode node = current.get();
        if (node != null) {
            node.close();
            say(out, "STOPPED " + node.ignite().name());
        }
    }

    private static void say(PrintWriter out, String line) {
        out.println(line);
        out.flush();
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
