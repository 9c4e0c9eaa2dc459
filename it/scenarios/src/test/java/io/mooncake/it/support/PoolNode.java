// SPDX-License-Identifier: Apache-2.0
package io.mooncake.it.support;

import io.mooncake.ignite.Mooncake;
import io.mooncake.ignite.MooncakePluginProvider;
import io.mooncake.ignite.PoolBean;
import io.mooncake.memory.KvPool;
import io.mooncake.testkit.SeededBlocks;
import io.mooncake.testkit.SeededBlocks.Taken;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.stream.Collectors;
import org.apache.ignite.Ignite;
import org.apache.ignite.IgniteState;
import org.apache.ignite.Ignition;
import org.apache.ignite.cluster.ClusterNode;
import org.apache.ignite.configuration.DataRegionConfiguration;
import org.apache.ignite.configuration.DataStorageConfiguration;
import org.apache.ignite.configuration.IgniteConfiguration;
import org.apache.ignite.logger.slf4j.Slf4jLogger;
import org.apache.ignite.spi.communication.tcp.TcpCommunicationSpi;
import org.apache.ignite.spi.discovery.tcp.TcpDiscoverySpi;
import org.apache.ignite.spi.discovery.tcp.ipfinder.vm.TcpDiscoveryVmIpFinder;

/**
 * A process with one node and one pool of {@link SeededBlocks}, told by its standard input what to do: {@code ID COMMAND ...}, answered by
 * {@code #ID ...}. Many commands may run at once. It ends with its input or its node, without an orderly stop.
 */
public final class PoolNode {
    static final String POOL = "tiny";

    private static final int STOPPED_BY_ITSELF = 3;

    private final Ignite ignite;
    private final KvPool pool;

    private PoolNode(Ignite ignite) {
        this.ignite = ignite;
        this.pool = Mooncake.of(ignite).pool(POOL);
    }

    /** Arguments: name; address to bind; addresses to join through; first port; failure detection in ms. */
    public static void main(String[] args) throws Exception {
        PoolNode node = new PoolNode(Ignition.start(
                configuration(args[0], args[1], args[2], Integer.parseInt(args[3]), Long.parseLong(args[4]))));
        // A node that stopped by itself takes its process with it; in real life a supervisor starts it again.
        Ignition.addListener((name, state) -> {
            if (state != IgniteState.STARTED) {
                Runtime.getRuntime().halt(STOPPED_BY_ITSELF);
            }
        });
        System.out.println("POOL NODE " + node.ignite.cluster().localNode().id());
        ExecutorService threads = Executors.newCachedThreadPool();
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] words = line.split(" ");
            threads.execute(() -> System.out.println("#" + words[0] + " " + node.answer(words)));
        }
        Runtime.getRuntime().halt(0);
    }

    private String answer(String[] words) {
        try {
            return switch (words[1]) {
                case "store" -> Integer.toString(SeededBlocks.store(pool, prompt(words)));
                case "take" -> {
                    Taken taken = SeededBlocks.take(pool, prompt(words));
                    yield taken.matched() + " " + taken.local() + " " + taken.remote() + " " + taken.reason();
                }
                case "holders" -> holders(prompt(words));
                case "sources" ->
                    ids(Mooncake.of(ignite).explain(POOL, prompt(words)).pieces().stream()
                            .map(piece -> piece.nodeId())
                            .toList());
                case "nodes" ->
                    ids(ignite.cluster().forServers().nodes().stream()
                            .map(ClusterNode::id)
                            .toList());
                case "members" -> ids(Mooncake.of(ignite).storeNodes());
                default -> "ERROR command " + words[1];
            };
        } catch (RuntimeException | AssertionError e) {
            return "ERROR " + String.valueOf(e).replace('\n', ' ');
        }
    }

    /** Those that have all whole blocks of the prompt. */
    private String holders(int[] tokens) {
        int blockTokens = pool.identity().blockTokens();
        int whole = (tokens.length - 1) / blockTokens * blockTokens;
        return ids(Mooncake.of(ignite).explain(POOL, tokens).matches().stream()
                .filter(match -> match.tokens() == whole)
                .map(match -> match.nodeId())
                .toList());
    }

    private static int[] prompt(String[] words) {
        return SeededBlocks.prompt(Long.parseLong(words[2]), Integer.parseInt(words[3]));
    }

    private static String ids(List<UUID> ids) {
        return ids.stream().map(UUID::toString).collect(Collectors.joining(" "));
    }

    private static IgniteConfiguration configuration(
            String name, String host, String addresses, int firstPort, long failureDetectionMillis) {
        TcpCommunicationSpi communication = new TcpCommunicationSpi();
        communication.setLocalPort(firstPort + 16).setLocalPortRange(14);
        return new IgniteConfiguration()
                .setIgniteInstanceName(name)
                .setConsistentId(name)
                .setLocalHost(host)
                .setWorkDirectory(System.getProperty("java.io.tmpdir"))
                .setMetricsLogFrequency(0)
                .setGridLogger(new Slf4jLogger())
                .setConnectorConfiguration(null)
                .setClientConnectorConfiguration(null)
                .setFailureDetectionTimeout(failureDetectionMillis)
                .setSystemThreadPoolSize(4)
                .setPublicThreadPoolSize(4)
                .setStripedPoolSize(2)
                .setPeerClassLoadingEnabled(true)
                .setDataStorageConfiguration(new DataStorageConfiguration()
                        .setDefaultDataRegionConfiguration(new DataRegionConfiguration()
                                .setInitialSize(10L << 20)
                                .setMaxSize(64L << 20)))
                .setCommunicationSpi(communication)
                .setDiscoverySpi(new TcpDiscoverySpi()
                        .setLocalPort(firstPort)
                        .setLocalPortRange(14)
                        .setIpFinder(new TcpDiscoveryVmIpFinder().setAddresses(List.of(addresses.split(",")))))
                .setPluginProviders(plugin(firstPort));
    }

    private static MooncakePluginProvider plugin(int firstPort) {
        return new MooncakePluginProvider()
                .setSecret(PoolProcesses.SECRET)
                .setDram(System.getProperty("pool.dram", "32MiB"))
                .setReplicas(Integer.getInteger("pool.replicas", 1))
                .setTransferProtocol(System.getProperty("pool.protocol", "auto"))
                .setFetchTimeoutMillis(20_000)
                .setDrainOnStopTimeoutMillis(0)
                .setPortFrom(firstPort + 32)
                .setPortTo(firstPort + 63)
                .setPools(List.of(new PoolBean()
                        .setName(POOL)
                        .setModel(System.getProperty("pool.weights", "weights"))
                        .setLayers(Integer.getInteger("pool.layers", 2))
                        .setKvHeads(8)
                        .setHeadSize(32)
                        .setBlockTokens(PoolProcesses.BLOCK_TOKENS)));
    }
}
