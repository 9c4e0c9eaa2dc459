// SPDX-License-Identifier: Apache-2.0
package io.mooncake.testkit;

import io.mooncake.base.MooncakeException;
import io.mooncake.djl.ModelExtension;
import io.mooncake.djl.gguf.TinyLlama;
import io.mooncake.ignite.Mooncake;
import io.mooncake.ignite.MooncakePluginProvider;
import io.mooncake.memory.KvPool;
import io.mooncake.transfer.ignite.TransferCommunicationSpi;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Queue;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.function.BooleanSupplier;
import java.util.function.UnaryOperator;
import java.util.stream.Stream;
import org.apache.ignite.Ignite;
import org.apache.ignite.Ignition;
import org.apache.ignite.configuration.IgniteConfiguration;
import org.apache.ignite.failure.FailureContext;
import org.apache.ignite.spi.communication.tcp.TcpCommunicationSpi;
import org.apache.ignite.spi.discovery.tcp.TcpDiscoverySpi;
import org.apache.ignite.spi.discovery.tcp.ipfinder.vm.TcpDiscoveryVmIpFinder;
import org.jspecify.annotations.Nullable;

/**
 * Real Ignite nodes in one process, each with the plugin, a pool and the model {@value #MODEL}: a tiny Llama with seeded random weights.
 *
 * <p>Nodes find each other on the loopback address, on ports of their own. Ownership: close it; that stops every node and removes its
 * files. Threading: one test thread.
 */
public final class MooncakeCluster implements AutoCloseable {
    /** Name of the model and of its pool on every node. */
    public static final String MODEL = "tiny";

    private static final Duration PATIENCE = Duration.ofSeconds(60);

    private final Builder builder;
    private final Path folder;
    private final String name = "mooncake-" + UUID.randomUUID().toString().substring(0, 8);
    private final TcpDiscoveryVmIpFinder finder = new TcpDiscoveryVmIpFinder(true);
    private final List<@Nullable Ignite> servers = new ArrayList<>();
    private final List<Ignite> clients = new ArrayList<>();
    private final Set<String> expectedToFail = ConcurrentHashMap.newKeySet();
    private final Queue<String> failures = new ConcurrentLinkedQueue<>();

    private MooncakeCluster(Builder builder) {
        this.builder = builder;
        try {
            this.folder = Files.createTempDirectory("mooncake-cluster");
            TinyLlama.write(modelFile(), builder.seed);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Collects what the cluster is to be. */
    public static Builder builder() {
        return new Builder();
    }

    /** The model's GGUF file. */
    public Path modelFile() {
        return folder.resolve("tiny.gguf");
    }

    /** Starts one more server node and returns its index. */
    public int startNode() {
        int index = servers.size();
        servers.add(Ignition.start(configuration("node-" + index, false)));
        return index;
    }

    /** Server nodes ever started, those killed since included. */
    public int size() {
        return servers.size();
    }

    /** Server node {@code index}. */
    public Ignite ignite(int index) {
        Ignite ignite = servers.get(index);
        if (ignite == null) {
            throw new MooncakeException(MooncakeException.Code.ILLEGAL_STATE, "node " + index + " was killed");
        }
        return ignite;
    }

    /** Mooncake on server node {@code index}. */
    public Mooncake node(int index) {
        return Mooncake.of(ignite(index));
    }

    /** Mooncake on client {@code index}. */
    public Mooncake client(int index) {
        return Mooncake.of(clients.get(index));
    }

    /** The model's pool on server node {@code index}. */
    public KvPool pool(int index) {
        return node(index).pool(MODEL);
    }

    /** The model on server node {@code index}. */
    public ModelExtension model(int index) {
        return node(index).extension(MODEL, ModelExtension.class);
    }

    /** Id of server node {@code index}. */
    public UUID nodeId(int index) {
        return ignite(index).cluster().localNode().id();
    }

    /**
     * Takes node {@code index} out without a farewell: its sockets break first, so that the others see a failure, then its threads end.
     * For the death of a real process use {@link ForkedJvm#kill()}.
     */
    public void killNode(int index) {
        Ignite victim = ignite(index);
        servers.set(index, null);
        expectedToFail.add(victim.name());
        ((TcpDiscoverySpi) victim.configuration().getDiscoverySpi()).simulateNodeFailure();
        ((TcpCommunicationSpi) victim.configuration().getCommunicationSpi()).simulateNodeFailure();
        Ignition.stop(victim.name(), true);
        int left = (int) servers.stream().filter(server -> server != null).count() + clients.size();
        await("the others to see node " + index + " gone", PATIENCE, () -> servers.stream()
                .filter(server -> server != null)
                .allMatch(server -> server.cluster().nodes().size() == left));
    }

    /** Waits until every node's index holds exactly the blocks that the other nodes hold. */
    public void awaitIndexed() {
        await("indexes to equal the owners' blocks", PATIENCE, this::indexed);
    }

    private boolean indexed() {
        List<Mooncake> alive = new ArrayList<>();
        for (Ignite server : servers) {
            if (server != null) {
                alive.add(Mooncake.of(server));
            }
        }
        long total =
                alive.stream().mapToLong(node -> node.statistics().blocks()).sum();
        for (Mooncake node : alive) {
            if (node.statistics().indexEntries() != total - node.statistics().blocks()) {
                return false;
            }
        }
        for (Ignite client : clients) {
            if (Mooncake.of(client).statistics().indexEntries() != total) {
                return false;
            }
        }
        return true;
    }

    /** Waits until {@code condition} holds, or fails saying what was waited for. */
    public static void await(String what, Duration limit, BooleanSupplier condition) {
        long end = System.nanoTime() + limit.toNanos();
        while (!condition.getAsBoolean()) {
            if (System.nanoTime() > end) {
                throw new MooncakeException(
                        MooncakeException.Code.DEADLINE_EXCEEDED, "waited " + limit + " for " + what);
            }
            try {
                Thread.sleep(20);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                throw new MooncakeException(MooncakeException.Code.ILLEGAL_STATE, "interrupted", e);
            }
        }
    }

    /**
     * Stops every node and removes the files. Idempotent.
     *
     * @throws MooncakeException INTERNAL when Ignite met a critical failure on a node that the test had not killed
     */
    @Override
    public void close() {
        for (Ignite client : clients) {
            Ignition.stop(client.name(), true);
        }
        clients.clear();
        for (int i = 0; i < servers.size(); i++) {
            Ignite server = servers.get(i);
            servers.set(i, null);
            if (server != null) {
                Ignition.stop(server.name(), true);
            }
        }
        try (Stream<Path> files = Files.walk(folder)) {
            for (Path file : files.sorted(Comparator.reverseOrder()).toList()) {
                Files.deleteIfExists(file);
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        String failure = failures.poll();
        if (failure != null) {
            throw new MooncakeException(MooncakeException.Code.INTERNAL, failure);
        }
    }

    /** In place of Ignite's own handler, which would halt the test's process. */
    private boolean failed(Ignite node, FailureContext context) {
        if (!expectedToFail.contains(node.name())) {
            failures.add("critical failure of node " + node.name() + ": " + context);
        }
        return true;
    }

    private MooncakeCluster start() {
        try {
            for (int i = 0; i < builder.nodes; i++) {
                startNode();
            }
            for (int i = 0; i < builder.clients; i++) {
                clients.add(Ignition.start(configuration("client-" + i, true)));
            }
            return this;
        } catch (RuntimeException e) {
            close();
            throw e;
        }
    }

    private IgniteConfiguration configuration(String node, boolean client) {
        MooncakePluginProvider plugin = new MooncakePluginProvider()
                // A node that is killed gives nothing to others first.
                .setDrainOnStopTimeoutMillis(0);
        plugin.setSecret("test-kit-secret-" + name);
        if (!client) {
            ModelExtension model = new ModelExtension();
            model.setName(MODEL);
            model.setUri(modelFile().toString());
            model.setThreads(1);
            plugin.setDram(builder.dram);
            // Tests say what is reused; a slow machine must not turn that into a miss.
            plugin.setFetchTimeoutMillis(20_000);
            plugin.setExtensions(List.of(model));
        }
        IgniteConfiguration config = new IgniteConfiguration()
                .setIgniteInstanceName(name + "-" + node)
                .setConsistentId(name + "-" + node)
                .setWorkDirectory(folder.resolve(node).toString())
                .setLocalHost("127.0.0.1")
                .setClientMode(client)
                .setMetricsLogFrequency(0)
                .setFailureDetectionTimeout(30_000)
                .setClientFailureDetectionTimeout(30_000)
                .setFailureHandler(this::failed)
                .setDiscoverySpi(new TcpDiscoverySpi().setIpFinder(finder).setLocalPort(builder.discoveryPort))
                .setPluginProviders(plugin);
        if (builder.communicationSpi) {
            TransferCommunicationSpi communication = new TransferCommunicationSpi();
            communication.setSecret("test-kit-secret-" + name);
            config.setCommunicationSpi(communication);
        }
        return builder.configurer.apply(config);
    }

    /** Collects what a cluster is to be. */
    public static final class Builder {
        private int nodes = 3;
        private int clients;
        private String dram = "64MiB";
        private long seed = 42;
        private int discoveryPort = 48500;
        private boolean communicationSpi;
        private UnaryOperator<IgniteConfiguration> configurer = UnaryOperator.identity();

        private Builder() {}

        /** Server nodes, 1..16. */
        public Builder nodes(int count) {
            if (count < 1 || count > 16) {
                throw MooncakeException.invalid("nodes", count, "1..16");
            }
            nodes = count;
            return this;
        }

        /** Thick clients, 0..4. */
        public Builder clients(int count) {
            if (count < 0 || count > 4) {
                throw MooncakeException.invalid("clients", count, "0..4");
            }
            clients = count;
            return this;
        }

        /** Off-heap memory for blocks a server node. */
        public Builder dram(String size) {
            dram = size;
            return this;
        }

        /** Seed of the model's weights. */
        public Builder seed(long value) {
            seed = value;
            return this;
        }

        /** First discovery port tried; each node takes the next free one of a hundred. */
        public Builder discoveryPort(int port) {
            discoveryPort = port;
            return this;
        }

        /** Whether Ignite's communication SPI owns the transfer engine. */
        public Builder communicationSpi(boolean owns) {
            communicationSpi = owns;
            return this;
        }

        /** Changes each node's configuration last, for example to add caches. */
        public Builder configure(UnaryOperator<IgniteConfiguration> change) {
            configurer = change;
            return this;
        }

        /** Starts it. */
        public MooncakeCluster start() {
            return new MooncakeCluster(this).start();
        }
    }
}
