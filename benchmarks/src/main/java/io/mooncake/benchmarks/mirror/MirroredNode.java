// SPDX-License-Identifier: Apache-2.0
package io.mooncake.benchmarks.mirror;

import io.mooncake.base.Deadline;
import io.mooncake.examples.cli.Home;
import io.mooncake.ignite.Mooncake;
import io.mooncake.ignite.MooncakePluginProvider;
import io.mooncake.ignite.PoolBean;
import io.mooncake.memory.BlockWriter;
import io.mooncake.memory.KvPool;
import io.mooncake.memory.PrefixLease;
import java.util.List;
import java.util.Random;
import org.apache.ignite.DataRegionMetrics;
import org.apache.ignite.Ignite;
import org.apache.ignite.IgniteCache;
import org.apache.ignite.Ignition;
import org.apache.ignite.cache.affinity.rendezvous.RendezvousAffinityFunction;
import org.apache.ignite.cache.query.SqlFieldsQuery;
import org.apache.ignite.cluster.ClusterState;
import org.apache.ignite.configuration.CacheConfiguration;
import org.apache.ignite.configuration.DataRegionConfiguration;
import org.apache.ignite.configuration.DataStorageConfiguration;
import org.apache.ignite.configuration.IgniteConfiguration;
import org.apache.ignite.logger.slf4j.Slf4jLogger;
import org.apache.ignite.spi.communication.tcp.TcpCommunicationSpi;
import org.apache.ignite.spi.discovery.tcp.TcpDiscoverySpi;
import org.apache.ignite.spi.discovery.tcp.ipfinder.vm.TcpDiscoveryVmIpFinder;

/** One node in this process, alone in its cluster, with a pool of small blocks. */
final class MirroredNode implements AutoCloseable {
    private static final String POOL = "mirrored";
    private static final int BLOCK_TOKENS = 16;
    private static final int CHAIN = 512;
    private static final int SLOT_BYTES = 8 << 10;
    private static final int DISCOVERY_PORT = 48_700;
    private static final int ENGINE_PORT = 48_800;
    private static final int COMMUNICATION_PORT = 48_710;
    private static final long PATIENCE_NANOS = 120_000_000_000L;
    private static final long SEED = 20_261_130;

    private final Ignite ignite;
    private final IgniteCache<Object, Object> any;
    private int stored;

    MirroredNode(int blocks) {
        TcpDiscoverySpi discovery = new TcpDiscoverySpi()
                .setLocalPort(DISCOVERY_PORT)
                .setLocalPortRange(1)
                .setIpFinder(new TcpDiscoveryVmIpFinder().setAddresses(List.of("127.0.0.1:" + DISCOVERY_PORT)));
        PoolBean pool = new PoolBean()
                .setName(POOL)
                .setModel("no model")
                .setLayers(1)
                .setKvHeads(1)
                .setHeadSize(4)
                .setBlockTokens(BLOCK_TOKENS);
        MooncakePluginProvider provider = new MooncakePluginProvider()
                .setSecret("a secret of the benchmark")
                .setDram(((long) (blocks + CHAIN) * SLOT_BYTES >> 20) + 16 + "MiB")
                .setPools(List.of(pool))
                .setDrainOnStopTimeoutMillis(0)
                .setPortFrom(ENGINE_PORT)
                .setPortTo(ENGINE_PORT + 60);
        ignite = Ignition.start(new IgniteConfiguration()
                .setIgniteInstanceName("bench-mirror")
                .setLocalHost("127.0.0.1")
                .setDiscoverySpi(discovery)
                .setCommunicationSpi(new TcpCommunicationSpi()
                        .setLocalPort(COMMUNICATION_PORT)
                        .setLocalPortRange(5))
                .setClientConnectorConfiguration(null)
                .setConnectorConfiguration(null)
                .setMetricsLogFrequency(0)
                .setGridLogger(new Slf4jLogger())
                .setWorkDirectory(Home.folder("target/bench/ignite").toString())
                .setDataStorageConfiguration(new DataStorageConfiguration()
                        .setDefaultDataRegionConfiguration(new DataRegionConfiguration().setMaxSize(64L << 20)))
                .setPluginProviders(provider));
        any = ignite.getOrCreateCache(
                new CacheConfiguration<>("any").setAffinity(new RendezvousAffinityFunction(false, 8)));
    }

    /** Stores chains until at least {@code blocks} are there, and waits until the rows show them. @return how many */
    int store(int blocks) throws InterruptedException {
        KvPool pool = Mooncake.of(ignite).pool(POOL);
        while (stored < blocks) {
            int[] tokens = new Random(SEED + stored)
                    .ints((long) CHAIN * BLOCK_TOKENS, 0, 30_000)
                    .toArray();
            try (PrefixLease hit = pool.acquire(tokens, Deadline.ofMillis(10_000));
                    BlockWriter writer = pool.extend(hit, tokens)) {
                while (writer.hasNext()) {
                    writer.next().setZero(0, pool.layout().payloadBytes());
                }
                stored += writer.publish();
            }
        }
        await("rows of " + stored + " blocks", () -> metric("blocks") == stored);
        return stored;
    }

    /** Bytes of the mirror's data region that are used. */
    long regionBytes() {
        DataRegionMetrics metrics = ignite.dataRegionMetrics("mooncake");
        return metrics.getTotalUsedSize();
    }

    /** Has all rows written into an empty cache. @return what the pass took */
    double rewriteSeconds() throws InterruptedException {
        ignite.cache("mooncake.prefixes").clear();
        ignite.cluster().state(ClusterState.ACTIVE_READ_ONLY);
        await("the mirror pauses", () -> metric("paused") == 1);
        long before = metric("rewrites");
        ignite.cluster().state(ClusterState.ACTIVE);
        await("all rows are written", () -> metric("rewrites") > before);
        return metric("rewriteMicros") / 1e6;
    }

    private long metric(String name) {
        SqlFieldsQuery query =
                new SqlFieldsQuery("SELECT VALUE FROM SYS.METRICS WHERE NAME = 'mooncake.mirror." + name + "'");
        return Long.parseLong(
                (String) any.query(query.setLocal(true)).getAll().get(0).get(0));
    }

    private static void await(String what, java.util.function.BooleanSupplier condition) throws InterruptedException {
        long begun = System.nanoTime();
        while (!condition.getAsBoolean()) {
            if (System.nanoTime() - begun > PATIENCE_NANOS) {
                throw new IllegalStateException("not within two minutes: " + what);
            }
            Thread.sleep(20);
        }
    }

    @Override
    public void close() {
        Ignition.stop(ignite.name(), true);
    }
}
