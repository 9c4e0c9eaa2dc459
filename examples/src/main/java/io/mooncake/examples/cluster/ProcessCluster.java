// SPDX-License-Identifier: Apache-2.0
package io.mooncake.examples.cluster;

import io.mooncake.base.MooncakeException;
import io.mooncake.examples.cli.Refusal;
import io.mooncake.examples.node.RunningNode;
import io.mooncake.ignite.Mooncake;
import java.io.IOException;
import java.nio.file.Files;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.IntConsumer;
import org.apache.ignite.Ignite;

/**
 * Nodes in processes of their own on this host, and a client node in this one.
 *
 * <p>The nodes find each other on ports that were free a moment ago and authenticate by a secret made for this cluster alone, so that two
 * clusters on one host never meet. Ownership: the caller owes a close, which stops everything; when this process ends in another way, the
 * children end as well. Threading: safe for all threads.
 */
public final class ProcessCluster implements AutoCloseable {
    /** Name of the model, and of its pool, in the demo's configuration. */
    public static final String MODEL = "smollm2";

    private final NodeLauncher launcher;
    private final CopyOnWriteArrayList<NodeProcess> nodes;
    private final RunningNode client;
    private final long readyMillis;
    private final Thread hook;
    private final Map<UUID, NodeView> views = new ConcurrentHashMap<>();

    private ProcessCluster(
            NodeLauncher launcher,
            CopyOnWriteArrayList<NodeProcess> nodes,
            RunningNode client,
            long readyMillis,
            Thread hook) {
        this.launcher = launcher;
        this.nodes = nodes;
        this.client = client;
        this.readyMillis = readyMillis;
        this.hook = hook;
    }

    /**
     * Starts the nodes and the client and waits until all are in one cluster.
     *
     * @param progress told how many nodes are up
     * @throws Refusal naming the node that did not start and what it said
     */
    public static ProcessCluster start(ClusterOptions options, IntConsumer progress)
            throws IOException, InterruptedException {
        long begin = System.nanoTime();
        Files.createDirectories(options.logs());
        NodeLauncher launcher = NodeLauncher.of(options);
        CopyOnWriteArrayList<NodeProcess> nodes = new CopyOnWriteArrayList<>();
        Thread hook = new Thread(() -> nodes.forEach(NodeProcess::terminate), "mooncake-stop-children");
        Runtime.getRuntime().addShutdownHook(hook);
        try {
            for (String name : options.names()) {
                nodes.add(launcher.start(name));
            }
            awaitAll(nodes, options.readyMillis(), progress);
            RunningNode client = launcher.startClient();
            awaitTopology(client.ignite(), options.nodes());
            return new ProcessCluster(launcher, nodes, client, (System.nanoTime() - begin) / 1_000_000, hook);
        } catch (IOException | RuntimeException | InterruptedException e) {
            nodes.forEach(NodeProcess::kill);
            throw e;
        }
    }

    private static void awaitAll(List<NodeProcess> nodes, long millis, IntConsumer progress)
            throws InterruptedException {
        long deadline = System.nanoTime() + millis * 1_000_000;
        int shown = -1;
        while (true) {
            int up = (int) nodes.stream().filter(NodeProcess::isReady).count();
            if (up != shown) {
                shown = up;
                progress.accept(up);
            }
            if (up == nodes.size()) {
                return;
            }
            for (NodeProcess node : nodes) {
                if (!node.alive() || System.nanoTime() > deadline) {
                    node.awaitReady(1_000);
                }
            }
            Thread.sleep(50);
        }
    }

    private static void awaitTopology(Ignite client, int nodes) throws InterruptedException {
        long deadline = System.nanoTime() + 30_000_000_000L;
        while (client.cluster().forServers().nodes().size() < nodes
                || Mooncake.of(client).storeNodes().size() < nodes) {
            if (System.nanoTime() > deadline) {
                throw new Refusal("The client sees "
                        + client.cluster().forServers().nodes().size() + " nodes, "
                        + Mooncake.of(client).storeNodes().size() + " of them with pools (expected: "
                        + nodes + ")");
            }
            Thread.sleep(20);
        }
    }

    /**
     * Starts a node that has ended once more, with its name, its folders and another log, and waits until it is in the cluster.
     *
     * @param node one of {@link #nodes()}; the new process takes its place there
     * @throws Refusal with what it said when it did not start
     */
    public NodeProcess restart(NodeProcess node) throws IOException, InterruptedException {
        int place = nodes.indexOf(node);
        if (place < 0 || node.alive()) {
            throw MooncakeException.invalid("node", node.name(), "a node of this cluster that has ended");
        }
        NodeProcess again = launcher.restart(node.name());
        nodes.set(place, again);
        again.awaitReady(launcher.options().readyMillis());
        awaitTopology(client.ignite(), alive().size());
        return again;
    }

    /** The nodes, in the order of their names, killed ones included. */
    public List<NodeProcess> nodes() {
        return List.copyOf(nodes);
    }

    /** Nodes whose process runs. */
    public List<NodeProcess> alive() {
        return nodes.stream().filter(NodeProcess::alive).toList();
    }

    /** The client's Ignite. */
    public Ignite client() {
        return client.ignite();
    }

    /** The client's Mooncake. */
    public Mooncake mooncake() {
        return Mooncake.of(client.ignite());
    }

    /** From the start of the first process to the cluster being ready. */
    public long readyMillis() {
        return readyMillis;
    }

    /** Name of the node {@code id}, or the id itself when it is none of ours. */
    public String nameOf(UUID id) {
        return nodes.stream()
                .filter(node -> node.id().equals(id))
                .map(NodeProcess::name)
                .findFirst()
                .orElse(id.toString());
    }

    /** What {@code node}, which must run, says of itself. */
    public NodeView view(NodeProcess node) {
        return views.computeIfAbsent(node.id(), id -> new NodeView(client.ignite(), id));
    }

    @Override
    public void close() {
        client.close();
        nodes.forEach(NodeProcess::terminate);
        nodes.forEach(NodeProcess::close);
        try {
            Runtime.getRuntime().removeShutdownHook(hook);
        } catch (IllegalStateException e) {
            // The process is ending: the hook runs by itself.
        }
    }
}
