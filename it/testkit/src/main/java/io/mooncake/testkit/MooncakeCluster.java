// SPDX-License-Identifier: Apache-2.0
package io.mooncake.testkit;

import io.mooncake.base.MooncakeException;
import io.mooncake.djl.ModelExtension;
import io.mooncake.ignite.DrainResult;
import io.mooncake.ignite.Mooncake;
import io.mooncake.ignite.MooncakePluginProvider;
import io.mooncake.ignite.PoolBean;
import io.mooncake.memory.KvPool;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Objects;
import java.util.UUID;
import java.util.function.BooleanSupplier;
import java.util.function.UnaryOperator;
import java.util.stream.Stream;
import org.apache.ignite.Ignite;
import org.apache.ignite.Ignition;
import org.apache.ignite.configuration.IgniteConfiguration;
import org.apache.ignite.spi.communication.tcp.TcpCommunicationSpi;
import org.apache.ignite.spi.discovery.tcp.TcpDiscoverySpi;
import org.jspecify.annotations.Nullable;

/**
 * Real Ignite nodes in one process, each with the plugin and either the model {@value #MODEL}, a tiny Llama with seeded random weights, or
 * the pools that the test names. With pools it needs no DJL on the class path.
 *
 * <p>Nodes find each other on the loopback address, on ports of their own. Ownership: close it; that stops every node and removes its
 * files. Threading: one test thread.
 */
public final class MooncakeCluster implements AutoCloseable {
    /** Name of the model and of its pool on every node. */
    public static final String MODEL = "tiny";

    private static final Duration PATIENCE = Duration.ofSeconds(60);

    private final Builder builder;
    private final ClusterPlan plan;
    private final List<@Nullable Ignite> servers = new ArrayList<>();
    private final List<Ignite> clients = new ArrayList<>();
    private final List<Ignite> plain = new ArrayList<>();
    private final FailureLog failures = new FailureLog();

    private MooncakeCluster(Builder builder) {
        this.builder = builder;
        try {
            this.plan = new ClusterPlan(
                    "mooncake-" + UUID.randomUUID().toString().substring(0, 8),
                    Files.createTempDirectory("mooncake-cluster"),
                    builder.pools,
                    builder.dram,
                    builder.communicationSpi,
                    builder.plugin,
                    builder.configurer,
                    TestPorts.free(ClusterPlan.PORTS));
            if (builder.pools.isEmpty()) {
                TinyModel.write(plan.modelFile(), builder.seed);
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Collects what the cluster is to be. */
    public static Builder builder() {
        return new Builder();
    }

    /** A small pool for {@link Builder#pools}: two layers, two heads of four F32, sixteen tokens a block; 2,048 bytes of payload a block. */
    public static PoolBean smallPool(String name) {
        return new PoolBean()
                .setName(name)
                .setModel("weights of " + name)
                .setLayers(2)
                .setKvHeads(2)
                .setHeadSize(4)
                .setBlockTokens(16);
    }

    /** The model's GGUF file. */
    public Path modelFile() {
        return plan.modelFile();
    }

    /** Starts one more server node and returns its index. */
    public int startNode() {
        int index = servers.size();
        servers.add(Ignition.start(plan.server(index, failures)));
        return index;
    }

    /** Starts server node {@code index}, which was stopped or killed, again: another life under the same consistent id. */
    public void restartNode(int index) {
        if (servers.get(index) != null) {
            throw new MooncakeException(MooncakeException.Code.ILLEGAL_STATE, "node " + index + " runs");
        }
        servers.set(index, Ignition.start(plan.server(index, failures)));
    }

    /** Starts one more thick client, an observer unless {@code change} says otherwise, and returns its index. */
    public int startClient(UnaryOperator<MooncakePluginProvider> change) {
        clients.add(Ignition.start(plan.client(clients.size(), change, failures)));
        return clients.size() - 1;
    }

    /** Starts a server without the plugin, as a user of Ignite has it; it stops with the cluster. */
    public Ignite startPlainNode(String name) {
        Ignite node = Ignition.start(plan.plain(name, failures));
        plain.add(node);
        return node;
    }

    /** Server nodes ever started, those killed since included. */
    public int size() {
        return servers.size();
    }

    /** Server node {@code index}. */
    public Ignite ignite(int index) {
        Ignite ignite = servers.get(index);
        if (ignite == null) {
            throw new MooncakeException(MooncakeException.Code.ILLEGAL_STATE, "node " + index + " was stopped");
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

    /** The model's pool on server node {@code index}, or the first of those that the test named. */
    public KvPool pool(int index) {
        return node(index).pool(poolName());
    }

    private String poolName() {
        return builder.pools.isEmpty()
                ? MODEL
                : builder.pools.get(0).toDefinition().name();
    }

    /** The model on server node {@code index}. */
    public ModelExtension model(int index) {
        return node(index).extension(MODEL, ModelExtension.class);
    }

    /** Id of server node {@code index}. */
    public UUID nodeId(int index) {
        return ignite(index).cluster().localNode().id();
    }

    /** Port of thin and JDBC clients of server node {@code index}, one of the first sixteen. */
    public int connectorPort(int index) {
        return plan.connectorPort(index);
    }

    /**
     * Takes node {@code index} out without a farewell: its sockets break first, so that the others see a failure, then its threads end.
     * For the death of a real process use {@link ForkedJvm#kill()}.
     */
    public void killNode(int index) {
        Ignite victim = ignite(index);
        servers.set(index, null);
        failures.expect(victim.name());
        ((TcpDiscoverySpi) victim.configuration().getDiscoverySpi()).simulateNodeFailure();
        ((TcpCommunicationSpi) victim.configuration().getCommunicationSpi()).simulateNodeFailure();
        Ignition.stop(victim.name(), true);
        awaitTopology("the others to see node " + index + " gone");
    }

    /** Stops node {@code index} in an orderly way; it drains first where the plugin's options say so. */
    public void stopNode(int index) {
        Ignite leaving = ignite(index);
        servers.set(index, null);
        Ignition.stop(leaving.name(), true);
        awaitTopology("the others to see node " + index + " leave");
    }

    /** Gives what only node {@code index} holds to others; it takes no requests any more, until {@link Mooncake#resume()}. */
    public DrainResult drain(int index) {
        return node(index).drain(PATIENCE);
    }

    private void awaitTopology(String what) {
        int left = (int) alive().count() + clients.size() + plain.size();
        await(what, PATIENCE, () -> Stream.concat(alive(), clients.stream())
                .allMatch(node -> node.cluster().nodes().size() == left));
    }

    private Stream<Ignite> alive() {
        return servers.stream().filter(Objects::nonNull);
    }

    /** Waits until every node's index holds exactly the blocks that the other nodes hold. */
    public void awaitIndexed() {
        await("indexes to equal the owners' blocks", PATIENCE, this::indexed);
    }

    private boolean indexed() {
        List<Mooncake> nodes = alive().map(Mooncake::of).toList();
        long total =
                nodes.stream().mapToLong(node -> node.statistics().blocks()).sum();
        for (Mooncake node : nodes) {
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

    /** Waits until every node says that {@code holders} nodes have all whole blocks of {@code tokens}. */
    public void awaitHolders(int[] tokens, int holders) {
        int blockTokens = pool(firstAlive()).identity().blockTokens();
        // The last token is always computed, so a prompt of whole blocks is never reused to its end.
        int whole = (tokens.length - 1) / blockTokens * blockTokens;
        await(holders + " holders of " + whole + " tokens", PATIENCE, () -> alive().allMatch(
                        node -> Mooncake.of(node).explain(poolName(), tokens).matches().stream()
                                        .filter(match -> match.tokens() == whole)
                                        .count()
                                == holders));
    }

    private int firstAlive() {
        for (int i = 0; i < servers.size(); i++) {
            if (servers.get(i) != null) {
                return i;
            }
        }
        throw new MooncakeException(MooncakeException.Code.ILLEGAL_STATE, "no node runs");
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

    /** The same, a minute at most. */
    public static void await(String what, BooleanSupplier condition) {
        await(what, PATIENCE, condition);
    }

    /**
     * Stops every node and removes the files. Idempotent.
     *
     * @throws MooncakeException INTERNAL when Ignite met a critical failure on a node that the test had not killed
     */
    @Override
    public void close() {
        clients.forEach(client -> Ignition.stop(client.name(), true));
        clients.clear();
        for (int i = 0; i < servers.size(); i++) {
            Ignite server = servers.get(i);
            servers.set(i, null);
            if (server != null) {
                Ignition.stop(server.name(), true);
            }
        }
        plain.forEach(node -> Ignition.stop(node.name(), true));
        plain.clear();
        try (Stream<Path> files = Files.exists(plan.folder()) ? Files.walk(plan.folder()) : Stream.empty()) {
            for (Path file : files.sorted(Comparator.reverseOrder()).toList()) {
                Files.deleteIfExists(file);
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        String failure = failures.first();
        if (failure != null) {
            throw new MooncakeException(MooncakeException.Code.INTERNAL, failure);
        }
    }

    private MooncakeCluster start() {
        try {
            for (int i = 0; i < builder.nodes; i++) {
                startNode();
            }
            for (int i = 0; i < builder.clients; i++) {
                startClient(UnaryOperator.identity());
            }
            return this;
        } catch (RuntimeException e) {
            close();
            throw e;
        }
    }

    /** Collects what a cluster is to be. */
    public static final class Builder {
        private int nodes = 3;
        private int clients;
        private String dram = "64MiB";
        private long seed = 42;
        private List<PoolBean> pools = List.of();
        private boolean communicationSpi;
        private UnaryOperator<MooncakePluginProvider> plugin = UnaryOperator.identity();
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

        /** Pools of every server instead of the model, for example {@link #smallPool}. */
        public Builder pools(PoolBean... beans) {
            pools = List.of(beans);
            return this;
        }

        /** Whether Ignite's communication SPI owns the transfer engine. */
        public Builder communicationSpi(boolean owns) {
            communicationSpi = owns;
            return this;
        }

        /** Changes the plugin of each node, clients included, last. */
        public Builder plugin(UnaryOperator<MooncakePluginProvider> change) {
            plugin = change;
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
