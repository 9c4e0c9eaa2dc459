// SPDX-License-Identifier: Apache-2.0
package io.mooncake.examples.demo;

import io.mooncake.examples.cli.Home;
import io.mooncake.examples.cli.Terminal;
import io.mooncake.examples.cluster.ClusterOptions;
import io.mooncake.examples.cluster.NodeProcess;
import io.mooncake.examples.cluster.NodeView;
import io.mooncake.examples.cluster.ProcessCluster;
import io.mooncake.examples.cluster.SsdFolders;
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

    private static final long SSD_TIMEOUT_NANOS = 30_000_000_000L;
    private static final long SSD_QUIET_NANOS = 3_000_000_000L;

    private static final long MIB = 1 << 20;

    /** Memory of each node for KV blocks, and what larger models get: room for three handbooks of the six. */
    private static final long DRAM_BYTES = 192 * MIB;

    private static final int DRAM_BLOCKS = 64;

    /** An SSD holds this many times what memory does: all that a node hears of. */
    private static final int SSD_SHARE = 4;

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
        Conversations conversations = Conversations.open(options.model());
        long blockBytes = conversations.bytesPerToken() * conversations.blockTokens();
        try (SsdFolders ssd = SsdFolders.open(options.ssd(), ClusterOptions.demoNames(), ssdCapacity(blockBytes))) {
            ClusterOptions wanted = ClusterOptions.demo(
                    options.model(), mebibytes(dramBytes(blockBytes)), ssd, Home.folder("target/demo/logs"));
            printer.start(options, wanted, ssd);
            return run(begin, conversations, wanted);
        }
    }

    /** Too little for what a node hears of, so that its SSD is used; enough for a few prompts, whatever the model. */
    static long dramBytes(long blockBytes) {
        return Math.max(DRAM_BYTES, DRAM_BLOCKS * blockBytes);
    }

    private static String ssdCapacity(long blockBytes) {
        return mebibytes(SSD_SHARE * dramBytes(blockBytes));
    }

    private static String mebibytes(long bytes) {
        return ((bytes + MIB - 1) / MIB) + " MiB";
    }

    private DemoOutcome run(long begin, Conversations conversations, ClusterOptions wanted)
            throws IOException, InterruptedException {
        try (ProcessCluster cluster = ProcessCluster.start(
                wanted, up -> terminal.progress("nodes ready", up, wanted.nodes(), "loading the model"))) {
            terminal.endProgress();
            printer.ready(cluster);
            RequestRunner runner = new RequestRunner(cluster, conversations, options.newTokens());
            // Not the first node: SQL is asked there later, as a user would who knows one address.
            NodeProcess last = cluster.nodes().get(cluster.nodes().size() - 1);
            Restart restart = new Restart(cluster, conversations, runner, last);
            sendAll(cluster, runner, restart, last);
            terminal.endProgress();
            rows.sort(Comparator.comparingInt(RequestRow::index));
            List<NodeRow> nodes =
                    cluster.nodes().stream().map(node -> nodeRow(cluster, node)).toList();
            printer.restart(last);
            RestartRow restarted = restart.run(rows.size() + 1);
            printer.restarted(restarted);
            DemoOutcome outcome =
                    outcome(cluster, conversations, wanted, nodes, restarted, (System.nanoTime() - begin) / 1e9);
            printer.end(outcome);
            return outcome;
        }
    }

    /** @param last the node that is to die, or to be stopped at the end */
    private void sendAll(ProcessCluster cluster, RequestRunner runner, Restart restart, NodeProcess last)
            throws InterruptedException {
        int lanes = options.lanes(cluster.nodes().size());
        ExecutorService executor = Executors.newFixedThreadPool(lanes);
        try {
            boolean killDue = options.killNode();
            printer.besides(last);
            Future<?> stored = executor.submit(() -> {
                restart.store();
                return null;
            });
            for (Plan.Wave wave : options.plan().waves()) {
                printer.wave(wave, wave.parallel() ? lanes : 1);
                boolean middle = wave.parallel()
                        && 2 * rows.size()
                                >= options.plan().requests().size()
                                        - wave.requests().size();
                if (killDue && middle && wave.requests().get(0).kind() == Plan.Kind.FREE) {
                    killDue = false;
                    restart.remember();
                    killDuring(wave, last, runner, executor);
                } else {
                    sendWave(wave, runner, wave.parallel() ? executor : null);
                }
                // Before the waves that go one at a time, whose times it would spoil.
                await(List.of(stored));
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
    private void killDuring(Plan.Wave wave, NodeProcess node, RequestRunner runner, ExecutorService executor)
            throws InterruptedException {
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
            ProcessCluster cluster,
            Conversations conversations,
            ClusterOptions wanted,
            List<NodeRow> nodes,
            RestartRow restarted,
            double seconds)
            throws InterruptedException {
        double ready = cluster.readyMillis() / 1_000.0;
        List<RequestRow> answered = rows.stream().filter(RequestRow::answered).toList();
        List<DemoOutcome.Check> checks = DemoChecks.of(
                rows,
                conversations.shortestSystemPrompt(),
                conversations.bytesPerToken(),
                victim == null ? "" : victim.name());
        checks.addAll(SsdChecks.of(nodes, restarted, conversations.blockTokens()));
        BenchmarkReport report = BenchmarkReport.here(
                "demo",
                Home.root(),
                DemoTargets.of(answered, ready),
                Map.of(
                        "requests",
                        rows,
                        "nodes",
                        nodes,
                        "restart",
                        restarted,
                        "checks",
                        checks,
                        "totals",
                        Totals.of(answered, rows.size())));
        return new DemoOutcome(
                options.model().getFileName().toString(),
                wanted.threads(),
                conversations.blockTokens(),
                ready,
                seconds,
                nodes,
                List.copyOf(rows),
                restarted,
                DemoSql.ask(cluster),
                checks,
                report);
    }

    /** Its counters, once all that its memory gave up is on its SSD, or nothing more comes there: what waits to be written is not lost. */
    private static NodeView.Figures settled(NodeView view) {
        NodeView.Figures figures = view.figures();
        long end = System.nanoTime() + SSD_TIMEOUT_NANOS;
        long changed = System.nanoTime();
        while (figures.ssdBlocks() <= figures.capacityBlocks()
                && System.nanoTime() - changed < SSD_QUIET_NANOS
                && System.nanoTime() < end) {
            try {
                Thread.sleep(50);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                return figures;
            }
            NodeView.Figures next = view.figures();
            changed = next.ssdBlocks() == figures.ssdBlocks() ? changed : System.nanoTime();
            figures = next;
        }
        return figures;
    }

    private NodeRow nodeRow(ProcessCluster cluster, NodeProcess node) {
        List<RequestRow> own = rows.stream()
                .filter(row -> row.answered() && row.node().equals(node.name()))
                .toList();
        NodeView.Figures figures = node.alive() ? settled(cluster.view(node)) : null;
        return new NodeRow(
                node.name(),
                node.alive(),
                own.size(),
                own.stream().mapToLong(RequestRow::localTokens).sum(),
                own.stream().mapToLong(RequestRow::remoteTokens).sum(),
                own.stream().mapToLong(RequestRow::computedTokens).sum(),
                figures == null ? 0 : figures.bytesFetched(),
                figures == null ? 0 : figures.bytesServed(),
                figures == null ? 0 : figures.blocks(),
                figures == null ? 0 : figures.capacityBlocks(),
                figures == null ? 0 : figures.ssdBlocks(),
                figures == null ? 0 : figures.ssdLoads());
    }
}
