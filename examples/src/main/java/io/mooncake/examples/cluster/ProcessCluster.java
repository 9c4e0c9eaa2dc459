// SPDX-License-Identifier: Apache-2.0
package io.mooncake.examples.cluster;

import io.mooncake.examples.cli.Home;
import io.mooncake.examples.cli.Refusal;
import io.mooncake.examples.node.RunningNode;
import io.mooncake.examples.node.SpringFile;
import io.mooncake.ignite.Mooncake;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.security.SecureRandom;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ThreadLocalRandom;
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

    private final List<NodeProcess> nodes;
    private final RunningNode client;
    private final long readyMillis;
    private final Thread hook;
    private final Map<UUID, NodeView> views = new ConcurrentHashMap<>();

    private ProcessCluster(List<NodeProcess> nodes, RunningNode client, long readyMillis, Thread hook) {
        this.nodes = List.copyOf(nodes);
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
        int port = freePort();
        String addresses = "127.0.0.1:" + port + ".." + (port + options.nodes() + 2);
        String secret = HexFormat.of().formatHex(new SecureRandom().generateSeed(24));
        List<NodeProcess> nodes = new ArrayList<>();
        Thread hook = new Thread(() -> nodes.forEach(NodeProcess::terminate), "mooncake-stop-children");
        Runtime.getRuntime().addShutdownHook(hook);
        try {
            for (String name : options.names()) {
                nodes.add(spawn(options, name, port, addresses, secret));
            }
            awaitAll(nodes, options.readyMillis(), progress);
            RunningNode client = startClient(options, port, addresses, secret);
            awaitTopology(client.ignite(), options);
            return new ProcessCluster(nodes, client, (System.nanoTime() - begin) / 1_000_000, hook);
        } catch (IOException | RuntimeException | InterruptedException e) {
            nodes.forEach(NodeProcess::kill);
            throw e;
        }
    }

    private static NodeProcess spawn(ClusterOptions options, String name, int port, String addresses, String secret)
            throws IOException {
        Map<String, String> properties = new TreeMap<>();
        properties.put("logback.configurationFile", "logback-file.xml");
        properties.put(
                "mooncake.log.file", options.logs().resolve(name + ".log").toString());
        properties.put("mooncake.node.name", name);
        properties.put("mooncake.work", work(options, name));
        properties.put("mooncake.discovery.port", Integer.toString(port));
        properties.put("mooncake.discovery.addresses", addresses);
        properties.put("mooncake.model", options.model().toUri().toString());
        properties.put("mooncake.dram", options.dram());
        properties.put("mooncake.threads", Integer.toString(options.threads()));
        properties.put("mooncake.mode", options.mode());
        List<String> arguments = List.of(
                "node",
                "--config",
                Home.folder("examples/config/demo-node.xml").toString(),
                "--name",
                name,
                "--stop-on-eof");
        return NodeProcess.start(
                name,
                JavaCommand.of(options.heap(), properties, arguments),
                // The secret is not on the command line, which every user of the host can read.
                Map.of("MOONCAKE_SECRET", secret, "MOONCAKE_NODES_ON_HOST", Integer.toString(options.nodes())),
                options.logs().resolve(name + ".log"));
    }

    private static String work(ClusterOptions options, String name) {
        return options.logs()
                .toAbsolutePath()
                .resolveSibling("work")
                .resolve(name)
                .toString();
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

    private static RunningNode startClient(ClusterOptions options, int port, String addresses, String secret) {
        System.setProperty("mooncake.node.name", "client");
        System.setProperty("mooncake.work", work(options, "client"));
        System.setProperty("mooncake.discovery.port", Integer.toString(port));
        System.setProperty("mooncake.discovery.addresses", addresses);
        System.setProperty("mooncake.secret", secret);
        return RunningNode.start(SpringFile.read(Home.folder("examples/config/demo-client.xml")));
    }

    private static void awaitTopology(Ignite client, ClusterOptions options) throws InterruptedException {
        long deadline = System.nanoTime() + 30_000_000_000L;
        while (client.cluster().forServers().nodes().size() < options.nodes()
                || Mooncake.of(client).storeNodes().size() < options.nodes()) {
            if (System.nanoTime() > deadline) {
                throw new Refusal("The client sees "
                        + client.cluster().forServers().nodes().size() + " nodes, "
                        + Mooncake.of(client).storeNodes().size() + " of them with pools (expected: "
                        + options.nodes() + ")");
            }
            Thread.sleep(20);
        }
    }

    /** A port that is free now, below the range that the system hands out by itself. */
    private static int freePort() throws IOException {
        for (int attempt = 0; attempt < 100; attempt++) {
            int port = 20_000 + 20 * ThreadLocalRandom.current().nextInt(600);
            try (ServerSocket socket = new ServerSocket(port, 1, InetAddress.getByName("127.0.0.1"))) {
                return socket.getLocalPort();
            } catch (IOException e) {
                // Somebody has it: another one.
            }
        }
        throw new IOException("no free port in 20000..32000");
    }

    /** The nodes, in the order of their names, killed ones included. */
    public List<NodeProcess> nodes() {
        return nodes;
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
