// SPDX-License-Identifier: Apache-2.0
package io.mooncake.benchmarks.pool;

import io.mooncake.examples.cli.Home;
import io.mooncake.ignite.BlockResult;
import io.mooncake.ignite.KvBlocks;
import io.mooncake.ignite.Mooncake;
import io.mooncake.ignite.MooncakePluginProvider;
import io.mooncake.ignite.PoolBean;
import io.mooncake.ignite.PutOptions;
import io.mooncake.ignite.pool.ClusterKvPool;
import io.mooncake.memory.LocalKvPool;
import io.mooncake.memory.RemovalCause;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.apache.ignite.Ignite;
import org.apache.ignite.Ignition;
import org.apache.ignite.configuration.DataRegionConfiguration;
import org.apache.ignite.configuration.DataStorageConfiguration;
import org.apache.ignite.configuration.IgniteConfiguration;
import org.apache.ignite.lang.IgniteRunnable;
import org.apache.ignite.logger.slf4j.Slf4jLogger;
import org.apache.ignite.resources.IgniteInstanceResource;
import org.apache.ignite.spi.communication.tcp.TcpCommunicationSpi;
import org.apache.ignite.spi.discovery.tcp.TcpDiscoverySpi;
import org.apache.ignite.spi.discovery.tcp.ipfinder.vm.TcpDiscoveryVmIpFinder;
import org.jspecify.annotations.Nullable;

/**
 * A node of two: {@code PoolNodeMain ROLE TRANSPORT BASEPORT REDISPORT}. The client takes {@code measure CONTENDER OPERATION SIZE BATCH MILLIS PLACE}; what is remote
 * lies on the owner.
 */
final class PoolNodeMain {
    static final String ROLE = "bench.role";
    static final int BLOCK_TOKENS = 16;
    static final List<Integer> SIZES = List.of(4 << 10, 64 << 10, 1 << 20, 4 << 20);
    private static final String SECRET = "a secret of the pool benchmark";

    private PoolNodeMain() {}

    public static void main(String[] args) throws Exception {
        try (Ignite ignite = Ignition.start(configuration(args[0], args[1], Integer.parseInt(args[2])))) {
            BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
            System.out.println("READY " + ignite.cluster().nodes().size());
            for (String line = in.readLine(); line != null; line = in.readLine()) {
                System.out.println(answer(ignite, line.split(" "), Integer.parseInt(args[3])));
            }
        }
        System.exit(0);
    }

    private static String answer(Ignite ignite, String[] words, int redisPort) {
        try {
            int size = Integer.parseInt(words[3]);
            boolean remote = words[6].equals("remote");
            Calls calls =
                    switch (words[1]) {
                        case "mooncake-for-ignite" -> new PoolCalls(ignite, size, remote);
                        case "ignite" -> new CacheCalls(ignite, size, remote);
                        default -> new RedisCalls(redisPort, size);
                    };
            return PassTimer.measure(calls, words[2], size, Integer.parseInt(words[4]), Long.parseLong(words[5]));
        } catch (Exception e) {
            return "failed " + String.valueOf(e).replace('\n', ' ');
        }
    }

    static String pool(int size) {
        return "blocks-" + size;
    }

    /** A model whose blocks of {@value #BLOCK_TOKENS} tokens have that size. */
    private static PoolBean bean(int size) {
        int layers = Math.max(1, size >> 17);
        int numbers = size / BLOCK_TOKENS / layers / 2 / Float.BYTES;
        return new PoolBean()
                .setName(pool(size))
                .setModel("of the benchmark")
                .setLayers(layers)
                .setKvHeads(Math.max(1, numbers / 128))
                .setHeadSize(Math.min(numbers, 128))
                .setBlockTokens(BLOCK_TOKENS);
    }

    private static IgniteConfiguration configuration(String role, String transport, int port) {
        TcpDiscoverySpi discovery = new TcpDiscoverySpi()
                .setLocalPort(port)
                .setLocalPortRange(9)
                .setIpFinder(
                        new TcpDiscoveryVmIpFinder().setAddresses(List.of("127.0.0.1:" + port + ".." + (port + 9))));
        TcpCommunicationSpi communication = new TcpCommunicationSpi();
        communication.setLocalPort(port + 10).setLocalPortRange(9);
        MooncakePluginProvider plugin = new MooncakePluginProvider()
                .setSecret(SECRET)
                .setDram("1GiB")
                .setEvictionPolicy("lru")
                .setPools(SIZES.stream().map(PoolNodeMain::bean).toList())
                .setTransferProtocol(transport.equals("shm") ? "auto" : "tcp")
                .setDrainOnStopTimeoutMillis(0)
                .setPortFrom(port + 20)
                .setPortTo(port + 59);
        return new IgniteConfiguration()
                .setLocalHost("127.0.0.1")
                .setIgniteInstanceName("pool-" + transport + "-" + role)
                .setUserAttributes(Map.of(ROLE, role))
                .setWorkDirectory(Home.folder("target/bench/ignite-pool-" + transport + "-" + role)
                        .toString())
                .setGridLogger(new Slf4jLogger())
                .setMetricsLogFrequency(0)
                .setClientConnectorConfiguration(null)
                .setConnectorConfiguration(null)
                .setDataStorageConfiguration(new DataStorageConfiguration()
                        .setDefaultDataRegionConfiguration(new DataRegionConfiguration()
                                .setInitialSize(64L << 20)
                                .setMaxSize(512L << 20)))
                .setDiscoverySpi(discovery)
                .setCommunicationSpi(communication)
                .setPluginProviders(plugin);
    }

    /** Puts values on the node that runs it. */
    static final class Fill implements IgniteRunnable {
        private static final long serialVersionUID = 1L;

        private final int size;
        private final long seed;
        private final int count;

        @IgniteInstanceResource
        private transient @Nullable Ignite ignite;

        Fill(int size, long seed, int count) {
            this.size = size;
            this.seed = seed;
            this.count = count;
        }

        @Override
        public void run() {
            KvBlocks blocks = Mooncake.of(Objects.requireNonNull(ignite)).blocks(pool(size));
            ByteBuffer payload = ByteBuffer.allocateDirect(size);
            List<BlockResult> results =
                    blocks.put(PoolCalls.puts(blocks, payload, seed, count), new PutOptions(1, Duration.ofSeconds(20)));
            for (BlockResult result : results) {
                if (result.status() != BlockResult.Status.STORED) {
                    throw new IllegalStateException(result.toString());
                }
            }
        }
    }

    /** Removes everything from the node that runs it. */
    static final class Clear implements IgniteRunnable {
        private static final long serialVersionUID = 1L;

        private final int size;

        @IgniteInstanceResource
        private transient @Nullable Ignite ignite;

        Clear(int size) {
            this.size = size;
        }

        @Override
        public void run() {
            LocalKvPool pool =
                    ((ClusterKvPool) Mooncake.of(Objects.requireNonNull(ignite)).pool(pool(size))).local();
            List<io.mooncake.memory.BlockKey> keys = new ArrayList<>();
            for (int at = 0; at != LocalKvPool.WALK_END; ) {
                at = pool.forEachSlot(at, 1024, block -> keys.add(block.key()));
            }
            keys.forEach(key -> pool.remove(key, RemovalCause.REMOVED));
        }
    }
}
