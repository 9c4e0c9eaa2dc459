// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite;

import java.net.InetAddress;
import java.net.ServerSocket;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.function.Consumer;
import org.apache.ignite.Ignite;
import org.apache.ignite.Ignition;
import org.apache.ignite.cache.affinity.rendezvous.RendezvousAffinityFunction;
import org.apache.ignite.configuration.CacheConfiguration;
import org.apache.ignite.configuration.DataRegionConfiguration;
import org.apache.ignite.configuration.DataStorageConfiguration;
import org.apache.ignite.configuration.IgniteConfiguration;
import org.apache.ignite.failure.StopNodeFailureHandler;
import org.apache.ignite.logger.slf4j.Slf4jLogger;
import org.apache.ignite.spi.communication.tcp.TcpCommunicationSpi;
import org.apache.ignite.spi.discovery.tcp.TcpDiscoverySpi;
import org.apache.ignite.spi.discovery.tcp.ipfinder.vm.TcpDiscoveryVmIpFinder;

/** Nodes in this JVM that find each other on the loopback and nobody else's. Close stops all of them. */
public final class TestGrid implements AutoCloseable {
    public static final String SECRET = "a secret of the tests";
    private static final int WINDOW = 64;
    /** So long may a machine that is busy with other things stand still, before its nodes drop each other. */
    private static final long STALL_MILLIS = 60_000;

    private final int ports;
    private final String prefix = "grid-" + Long.toHexString(System.nanoTime()) + "-";
    private final List<Ignite> nodes = new ArrayList<>();

    public TestGrid() {
        this(freeWindow());
    }

    /** Nodes that join those of another process, whose grid has these ports. */
    public TestGrid(int ports) {
        this.ports = ports;
    }

    /** A provider with the test's secret, ports of this grid, patience for slow fetches and 16 MiB, of the pool {@code tiny}. */
    public MooncakePluginProvider provider() {
        return new MooncakePluginProvider()
                .setSecret(SECRET)
                .setDram("16MiB")
                // Taken at once, and given back by the collector: many nodes live in one process here.
                .setFeedRing("2MiB")
                .setPools(List.of(pool("tiny")))
                .setHeartbeatMillis(200)
                .setDrainOnStopTimeoutMillis(0)
                .setFetchTimeoutMillis(20_000)
                .setPortFrom(ports + 32)
                .setPortTo(ports + WINDOW - 1);
    }

    /** Two layers, two heads of four F32, sixteen tokens a block. */
    public static PoolBean pool(String name) {
        return new PoolBean()
                .setName(name)
                .setModel("weights of " + name)
                .setLayers(2)
                .setKvHeads(2)
                .setHeadSize(4)
                .setBlockTokens(16);
    }

    /** A configuration that the test may change before {@link #start}. */
    public IgniteConfiguration configuration(String name) {
        TcpDiscoveryVmIpFinder finder = new TcpDiscoveryVmIpFinder();
        finder.setAddresses(List.of("127.0.0.1:" + ports + ".." + (ports + 14)));
        TcpDiscoverySpi discovery = new TcpDiscoverySpi();
        discovery.setIpFinder(finder).setLocalPort(ports).setLocalPortRange(14);
        discovery.setJoinTimeout(60_000);
        // A refused node waits this long for the ring to let it go, before its start returns.
        discovery.setNetworkTimeout(1_000);
        TcpCommunicationSpi communication = new TcpCommunicationSpi();
        communication.setLocalPort(ports + 16);
        communication.setLocalPortRange(14);
        return new IgniteConfiguration()
                .setIgniteInstanceName(prefix + name)
                .setConsistentId(prefix + name)
                .setLocalHost("127.0.0.1")
                .setDiscoverySpi(discovery)
                .setCommunicationSpi(communication)
                .setClientConnectorConfiguration(null)
                .setConnectorConfiguration(null)
                .setMetricsLogFrequency(0)
                .setPeerClassLoadingEnabled(false)
                .setSystemThreadPoolSize(4)
                .setPublicThreadPoolSize(4)
                .setStripedPoolSize(2)
                .setFailureHandler(new StopNodeFailureHandler())
                .setFailureDetectionTimeout(STALL_MILLIS)
                .setClientFailureDetectionTimeout(STALL_MILLIS)
                .setGridLogger(new Slf4jLogger())
                .setDataStorageConfiguration(new DataStorageConfiguration()
                        .setDefaultDataRegionConfiguration(new DataRegionConfiguration()
                                .setInitialSize(10L << 20)
                                .setMaxSize(64L << 20)));
    }

    /** Starts a server with the plugin. */
    public Ignite start(String name) {
        return start(name, provider());
    }

    /** Starts a server with {@code provider}. */
    public Ignite start(String name, MooncakePluginProvider provider) {
        return start(name, config -> config.setPluginProviders(provider));
    }

    /** Starts a node whose configuration was changed. */
    public Ignite start(String name, Consumer<IgniteConfiguration> change) {
        IgniteConfiguration config = configuration(name);
        change.accept(config);
        Ignite ignite = Ignition.start(config);
        nodes.add(ignite);
        return ignite;
    }

    /** One of two ports that no node takes by itself, for thin clients; not of those that the system hands out to others. */
    public int connectorPort(int which) {
        return ports + 15 + 16 * which;
    }

    /** First of the grid's ports. */
    public int ports() {
        return ports;
    }

    @Override
    public void close() {
        for (int i = nodes.size() - 1; i >= 0; i--) {
            Ignition.stop(nodes.get(i).name(), true);
        }
    }

    /**
     * A cache of few partitions. Ignite 2.17 frees a stopping node's page memory while its system threads may still create the partitions
     * that a node lost a moment before has left behind; with the default 1,024 that takes long enough to crash the process.
     */
    public static <K, V> CacheConfiguration<K, V> smallCache(String name) {
        return new CacheConfiguration<K, V>(name).setAffinity(new RendezvousAffinityFunction(false, 8));
    }

    /** Waits until {@code condition} holds. */
    public static void await(String what, java.util.concurrent.Callable<Boolean> condition) {
        long until = System.nanoTime() + 60_000_000_000L;
        Throwable last = null;
        while (System.nanoTime() < until) {
            try {
                if (condition.call()) {
                    return;
                }
                last = null;
            } catch (Exception | AssertionError e) {
                last = e;
            }
            try {
                Thread.sleep(10);
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
        }
        throw new AssertionError("not within 60 s: " + what, last);
    }

    /** The first of as many ports that nobody listens on; below the range that the system hands out. */
    private static int freeWindow() {
        Random random = new Random();
        for (int attempt = 0; attempt < 200; attempt++) {
            int base = 12_000 + random.nextInt(300) * WINDOW;
            if (free(base)) {
                return base;
            }
        }
        throw new IllegalStateException("no " + WINDOW + " free ports in a row");
    }

    private static boolean free(int base) {
        for (int port = base; port < base + WINDOW; port++) {
            try (ServerSocket socket = new ServerSocket(port, 1, InetAddress.getLoopbackAddress())) {
                assert socket.isBound();
            } catch (java.io.IOException e) {
                return false;
            }
        }
        return true;
    }
}
