// SPDX-License-Identifier: Apache-2.0
package io.mooncake.testkit;

import io.mooncake.ignite.MooncakePluginProvider;
import io.mooncake.ignite.PoolBean;
import io.mooncake.transfer.ignite.TransferCommunicationSpi;
import java.nio.file.Path;
import java.util.List;
import java.util.function.UnaryOperator;
import org.apache.ignite.configuration.ClientConnectorConfiguration;
import org.apache.ignite.configuration.IgniteConfiguration;
import org.apache.ignite.spi.communication.tcp.TcpCommunicationSpi;
import org.apache.ignite.spi.discovery.tcp.TcpDiscoverySpi;
import org.apache.ignite.spi.discovery.tcp.ipfinder.vm.TcpDiscoveryVmIpFinder;
import org.jspecify.annotations.Nullable;

/**
 * How the nodes of one cluster are configured.
 *
 * @param name the cluster's, part of its nodes' names
 * @param folder holds work directories and the model
 * @param pools of the servers; empty for the tiny model
 * @param dram memory for blocks a server
 * @param communicationSpi whether Ignite's communication SPI owns the engine
 * @param plugin changes the plugin of each node last
 * @param ignite changes each node's configuration last
 * @param firstPort of {@link #PORTS}
 */
record ClusterPlan(
        String name,
        Path folder,
        List<PoolBean> pools,
        String dram,
        boolean communicationSpi,
        UnaryOperator<MooncakePluginProvider> plugin,
        UnaryOperator<IgniteConfiguration> ignite,
        int firstPort) {
    /** Ports of a cluster: discovery, communication, client connectors, engines. */
    static final int PORTS = 128;

    private static final int NODES = 24;
    private static final int CONNECTORS = 2 * NODES;
    private static final int ENGINES = 64;
    /** So long may a busy machine stand still before its nodes drop each other. */
    private static final int STALL_MILLIS = 30_000;

    Path modelFile() {
        return folder.resolve("tiny.gguf");
    }

    String instance(String node) {
        return name + "-" + node;
    }

    /** Port of the thin and JDBC clients of server {@code index}, which has one below sixteen. */
    int connectorPort(int index) {
        return firstPort + CONNECTORS + index;
    }

    IgniteConfiguration server(int index, FailureLog failures) {
        MooncakePluginProvider own = common();
        own.setDram(dram)
                // Tests say what is reused; a slow machine must not turn that into a miss.
                .setFetchTimeoutMillis(20_000);
        if (pools.isEmpty()) {
            TinyModel.add(own, MooncakeCluster.MODEL, modelFile());
        } else {
            own.setPools(pools);
        }
        IgniteConfiguration config = base("node-" + index, own, failures);
        if (index < ENGINES - CONNECTORS) {
            config.setClientConnectorConfiguration(new ClientConnectorConfiguration()
                    .setHost("127.0.0.1")
                    .setPort(connectorPort(index))
                    .setPortRange(0));
        }
        return ignite.apply(config);
    }

    /** A client that holds nothing, unless {@code change} says otherwise. */
    IgniteConfiguration client(int index, UnaryOperator<MooncakePluginProvider> change, FailureLog failures) {
        return ignite.apply(
                base("client-" + index, change.apply(common()), failures).setClientMode(true));
    }

    /** A node of somebody who has no part in the pool. */
    IgniteConfiguration plain(String node, FailureLog failures) {
        return ignite.apply(base(node, null, failures));
    }

    private MooncakePluginProvider common() {
        return new MooncakePluginProvider()
                // Taken at once, and given back by the collector: many nodes live in one process.
                .setFeedRing("2MiB")
                // A node that is killed gives nothing to others first.
                .setDrainOnStopTimeoutMillis(0)
                .setPortFrom(firstPort + ENGINES)
                .setPortTo(firstPort + PORTS - 1)
                .setSecret(secret());
    }

    private String secret() {
        return "test-kit-secret-" + name;
    }

    private IgniteConfiguration base(String node, @Nullable MooncakePluginProvider own, FailureLog failures) {
        IgniteConfiguration config = new IgniteConfiguration()
                .setIgniteInstanceName(instance(node))
                .setConsistentId(instance(node))
                .setWorkDirectory(folder.resolve(node).toString())
                .setLocalHost("127.0.0.1")
                .setMetricsLogFrequency(0)
                .setConnectorConfiguration(null)
                .setClientConnectorConfiguration(null)
                .setFailureDetectionTimeout(STALL_MILLIS)
                .setClientFailureDetectionTimeout(STALL_MILLIS)
                .setFailureHandler(failures)
                .setCommunicationSpi(communication())
                .setDiscoverySpi(new TcpDiscoverySpi()
                        .setIpFinder(new TcpDiscoveryVmIpFinder()
                                .setAddresses(List.of("127.0.0.1:" + firstPort + ".." + (firstPort + NODES - 1))))
                        .setLocalPort(firstPort)
                        .setLocalPortRange(NODES - 1));
        return own == null ? config : config.setPluginProviders(plugin.apply(own));
    }

    private TcpCommunicationSpi communication() {
        TcpCommunicationSpi spi = communicationSpi
                ? new TransferCommunicationSpi()
                        .setSecret(secret())
                        .setTransferPortFrom(firstPort + ENGINES)
                        .setTransferPortTo(firstPort + PORTS - 1)
                : new TcpCommunicationSpi();
        spi.setLocalPort(firstPort + NODES).setLocalPortRange(NODES - 1);
        return spi;
    }
}
