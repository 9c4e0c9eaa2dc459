// SPDX-License-Identifier: Apache-2.0
package io.mooncake.examples.demo;

import io.mooncake.examples.cli.Home;
import io.mooncake.examples.cli.Terminal;
import io.mooncake.examples.cluster.ClusterOptions;
import io.mooncake.examples.cluster.NodeProcess;
import io.mooncake.examples.cluster.NodeView;
import io.mooncake.examples.cluster.ProcessCluster;
import io.mooncake.examples.report.BenchmarkReport;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.jspecify.annotations.Nullable;

/**
 * Runs the demo from the start of the processes to the last check.
 *
 * <p>Threading: {@link #run} once, by one thread.
 */
final class Demo {
    /** How long a request runs on the node that is to die before it dies. */
    private static final long KILL_AFTER_MILLIS = 300;

    private final DemoOptions options;
    private final Terminal terminal;
    private final DemoPrinter printer;
    private final List<RequestRow> rows = new ArrayList<>();
    private @Nullable NodeProcess victim;

    Demo(DemoOptions options, Terminal terminal) {
        this.options = options;
        this.terminal = terminal;
        this.printer = new DemoPrinter(terminal);
    }

    DemoOutcome run() throws IOException, InterruptedException {
        long begin = System.nanoTime();
        ClusterOptions wanted = ClusterOptions.demo(options.model(), Home.folder("target/demo/logs"));
        Conversations conversations = Conversations.open(options.model());
        printer.start(options, wanted);
        try (ProcessCluster cluster = ProcessCluster.start(
                wanted, up -> terminal.progress("nodes ready", up, wanted.nodes(), "loading the model"))) {
            terminal.endProgress();
            printer.ready(cluster);
            RequestRunner runner = new RequestRunner(cluster, conversations, options.newTokens());
            sendAll(cluster, runner);
            terminal.endProgress();
            DemoOutcome outcome = outcome(cluster, conversations, wanted, (System.nanoTime() - begin) / 1e9);
            printer.end(outcome);
            return outcome;
        }
    }

    private void sendAll(ProcessCluster cluster, RequestRunner runner) throws InterruptedException {
        int lanes = options.lanes(cluster.nodes().size());
        ExecutorService executor = Executors.newFixedThreadPool(lanes);
        try {
            boolean killDue = options.killNode();
            for (Plan.Wave wave : options.plan().waves()) {
                printer.wave(wave, wave.parallel() ? lanes : 1);
                boolean middle = wave.parallel()
                        && 2 * rows.size()
                                >= options.plan().requests().size()
                                        - wave.requests().size();
                if (killDue && middle && wave.requests().get(0).kind() == Plan.Kind.FREE) {
                    killDue = false;
                    killDuring(wave, cluster, runner, executor);
                } else {
                    sendWave(wave, runner, wave.parallel() ? executor : null);
                }
            }
        } finally {
            executor.shutdownNow();
        }
    }

    private void sendWave(Plan.Wave wave, RequestRunner runner, @Nullable ExecutorService executor)
            throws InterruptedException {
        List<Future<?>> running = new ArrayList<>();
        for (Plan.Request request : wave.requests()) {
            Callable<RequestRow> work = () -> runner.run(request);
            if (executor == null) {
                done(call(work));
            } else {
                running.add(executor.submit(() -> done(call(work))));
            }
        }
        await(running);
    }

    /** The wave's first request goes to the node that is to die; the others run as ever, on whatever is left. */
    private void killDuring(Plan.Wave wave, ProcessCluster cluster, RequestRunner runner, ExecutorService executor)
            throws InterruptedException {
        // Not the first node: SQL is asked there later, as a user would who knows one address.
        NodeProcess node = cluster.nodes().get(cluster.nodes().size() - 1);
        victim = node;
        runner.killed(node);
        List<Future<?>> running = new ArrayList<>();
        List<Plan.Request> requests = wave.requests();
        running.add(executor.submit(() -> done(runner.runOn(requests.get(0), node))));
        Thread.sleep(KILL_AFTER_MILLIS);
        printer.kill(node);
        node.kill();
        for (Plan.Request request : requests.subList(1, requests.size())) {
            running.add(executor.submit(() -> done(runner.run(request))));
        }
        await(running);
    }

    private static RequestRow call(Callable<RequestRow> work) {
        try {
            return work.call();
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
    }

    private static void await(List<Future<?>> running) throws InterruptedException {
        for (Future<?> future : running) {
            try {
                future.get();
            } catch (ExecutionException e) {
                throw new IllegalStateException(e.getCause());
            }
        }
    }

    private synchronized void done(RequestRow row) {
        rows.add(row);
        printer.row(row);
        terminal.progress("requests", rows.size(), options.plan().requests().size(), "");
    }

    private DemoOutcome outcome(
            ProcessCluster cluster, Conversations conversations, ClusterOptions wanted, double seconds)
            throws InterruptedException {
        rows.sort(Comparator.comparingInt(RequestRow::index));
        List<NodeRow> nodes =
                cluster.nodes().stream().map(node -> nodeRow(cluster, node)).toList();
        double ready = cluster.readyMillis() / 1_000.0;
        List<RequestRow> answered = rows.stream().filter(RequestRow::answered).toList();
        List<DemoOutcome.Check> checks = DemoChecks.of(
                rows,
                conversations.shortestSystemPrompt(),
                conversations.bytesPerToken(),
                victim == null ? "" : victim.name());
        BenchmarkReport report = BenchmarkReport.here(
                "demo",
                Home.root(),
                DemoTargets.of(answered, ready),
                Map.of("requests", rows, "nodes", nodes, "checks", checks, "totals", Totals.of(answered, rows.size())));
        return new DemoOutcome(
                options.model().getFileName().toString(),
                wanted.threads(),
                conversations.blockTokens(),
                ready,
                seconds,
                nodes,
                List.copyOf(rows),
                DemoSql.ask(cluster),
                checks,
                report);
    }

    private NodeRow nodeRow(ProcessCluster cluster, NodeProcess node) {
        List<RequestRow> own = rows.stream()
                .filter(row -> row.answered() && row.node().equals(node.name()))
                .toList();
        NodeView.Figures figures = node.alive() ? cluster.view(node).figures() : null;
        return new NodeRow(
                node.name(),
                node.alive(),
                own.size(),
                own.stream().mapToLong(RequestRow::localTokens).sum(),
                own.stream().mapToLong(RequestRow::remoteTokens).sum(),
                own.stream().mapToLong(RequestRow::computedTokens).sum(),
                figures == null ? 0 : figures.bytesFetched(),
                figures == null ? 0 : figures.bytesServed(),
                figures == null ? 0 : figures.blocks());
    }
}
