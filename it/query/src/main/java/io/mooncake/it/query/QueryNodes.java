// SPDX-License-Identifier: Apache-2.0
package io.mooncake.it.query;

import io.mooncake.base.Deadline;
import io.mooncake.ignite.Mooncake;
import io.mooncake.ignite.MooncakePluginProvider;
import io.mooncake.ignite.PoolBean;
import io.mooncake.memory.BlockWriter;
import io.mooncake.memory.KvPool;
import io.mooncake.memory.PrefixLease;
import io.mooncake.testkit.TestPorts;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.function.UnaryOperator;
import java.util.stream.IntStream;
import org.apache.ignite.Ignite;
import org.apache.ignite.Ignition;
import org.apache.ignite.configuration.ClientConnectorConfiguration;
import org.apache.ignite.configuration.DataRegionConfiguration;
import org.apache.ignite.configuration.DataStorageConfiguration;
import org.apache.ignite.configuration.IgniteConfiguration;
import org.apache.ignite.spi.discovery.tcp.TcpDiscoverySpi;
import org.apache.ignite.spi.discovery.tcp.ipfinder.vm.TcpDiscoveryVmIpFinder;

/** Two nodes of this process; the first holds a prompt of three blocks and a token. */
final class QueryNodes implements AutoCloseable {
    static final String POOL = "asked";
    static final int BLOCK_TOKENS = 16;
    static final int HELD = 3 * BLOCK_TOKENS;

    private final List<Ignite> nodes = new ArrayList<>();
    private final int connector;
    private final int metrics;

    QueryNodes(Path work, UnaryOperator<IgniteConfiguration> engine) {
        int discovery = TestPorts.free(12);
        connector = discovery + 10;
        metrics = discovery + 11;
        for (String name : List.of("first", "second")) {
            boolean first = name.equals("first");
            IgniteConfiguration config = configuration(name, work.resolve(name), discovery);
            if (first) {
                config.setClientConnectorConfiguration(new ClientConnectorConfiguration()
                        .setHost("127.0.0.1")
                        .setPort(connector)
                        .setPortRange(0));
            }
            config.setPluginProviders(provider(first ? metrics : 0));
            nodes.add(Ignition.start(engine.apply(config)));
        }
        store(Mooncake.of(first()).pool(POOL), prompt(HELD + 1));
    }

    Ignite first() {
        return nodes.get(0);
    }

    Ignite second() {
        return nodes.get(1);
    }

    /** Port of thin and JDBC clients of the first node. */
    int connector() {
        return connector;
    }

    /** Port of the first node's metrics. */
    int metrics() {
        return metrics;
    }

    static int[] prompt(int tokens) {
        return IntStream.range(0, tokens).toArray();
    }

    /** Waits a minute at most. */
    static void await(String what, Callable<Boolean> condition) throws Exception {
        long end = System.nanoTime() + 60_000_000_000L;
        while (!condition.call()) {
            if (System.nanoTime() - end > 0) {
                throw new AssertionError("not within a minute: " + what);
            }
            Thread.sleep(20);
        }
    }

    private static void store(KvPool pool, int[] tokens) {
        try (PrefixLease lease = pool.acquire(tokens, Deadline.ofMillis(60_000));
                BlockWriter writer = pool.extend(lease, tokens)) {
            while (writer.hasNext()) {
                byte[] bytes = new byte[pool.layout().payloadBytes()];
                Arrays.fill(bytes, (byte) writer.blockIndex());
                writer.next().setBytes(0, bytes);
            }
            writer.publish();
        }
    }

    private static MooncakePluginProvider provider(int metricsPort) {
        PoolBean pool = new PoolBean()
                .setName(POOL)
                .setModel("weights")
                .setLayers(2)
                .setKvHeads(1)
                .setHeadSize(8)
                .setBlockTokens(BLOCK_TOKENS);
        return new MooncakePluginProvider()
                .setSecret("a secret of the test")
                .setDram("4MiB")
                .setMetricsPort(metricsPort)
                // The suites count holders: copies are made by fetches alone.
                .setReplicas(1)
                .setWarmUpShare(0)
                .setPools(List.of(pool));
    }

    private static IgniteConfiguration configuration(String name, Path work, int discovery) {
        return new IgniteConfiguration()
                .setIgniteInstanceName(name + "-" + discovery)
                .setConsistentId(name)
                .setLocalHost("127.0.0.1")
                .setWorkDirectory(work.toString())
                .setMetricsLogFrequency(0)
                .setConnectorConfiguration(null)
                .setClientConnectorConfiguration(null)
                .setDataStorageConfiguration(new DataStorageConfiguration()
                        .setDefaultDataRegionConfiguration(new DataRegionConfiguration()
                                .setInitialSize(10L << 20)
                                .setMaxSize(64L << 20)))
                .setDiscoverySpi(new TcpDiscoverySpi()
                        .setLocalPort(discovery)
                        .setLocalPortRange(9)
                        .setIpFinder(new TcpDiscoveryVmIpFinder()
                                .setAddresses(List.of("127.0.0.1:" + discovery + ".." + (discovery + 9)))));
    }

    @Override
    public void close() {
        for (int i = nodes.size() - 1; i >= 0; i--) {
            Ignition.stop(nodes.get(i).name(), true);
        }
    }
}
