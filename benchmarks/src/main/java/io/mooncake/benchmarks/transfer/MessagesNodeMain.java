// SPDX-License-Identifier: Apache-2.0
package io.mooncake.benchmarks.transfer;

import io.mooncake.examples.cli.Home;
import io.mooncake.transfer.ignite.TransferCommunicationSpi;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import org.apache.ignite.Ignite;
import org.apache.ignite.IgniteCache;
import org.apache.ignite.IgniteCompute;
import org.apache.ignite.Ignition;
import org.apache.ignite.cache.affinity.Affinity;
import org.apache.ignite.configuration.CacheConfiguration;
import org.apache.ignite.configuration.DataRegionConfiguration;
import org.apache.ignite.configuration.DataStorageConfiguration;
import org.apache.ignite.configuration.IgniteConfiguration;
import org.apache.ignite.lang.IgniteCallable;
import org.apache.ignite.logger.slf4j.Slf4jLogger;
import org.apache.ignite.spi.communication.tcp.TcpCommunicationSpi;
import org.apache.ignite.spi.discovery.tcp.TcpDiscoverySpi;
import org.apache.ignite.spi.discovery.tcp.ipfinder.vm.TcpDiscoveryVmIpFinder;

/**
 * A node of two: {@code MessagesNodeMain MODE INDEX DISCOVERYPORT COMMUNICATIONPORT}. The second one takes the commands; what it asks for lies on
 * the first.
 */
final class MessagesNodeMain {
    private static final String SECRET = "a secret of the messages benchmark";
    private static final int KEYS = 64;

    private MessagesNodeMain() {}

    /** How Ignite's messages travel. */
    enum Mode {
        /** Ignite's own communication. */
        STOCK,
        /** The engine's SPI, messages as by Ignite. */
        PLAIN,
        /** The engine's SPI, messages over the engine. */
        ENGINE
    }

    public static void main(String[] args) throws Exception {
        int index = Integer.parseInt(args[1]);
        try (Ignite ignite = Ignition.start(
                configuration(Mode.valueOf(args[0]), index, Integer.parseInt(args[2]), Integer.parseInt(args[3])))) {
            BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
            IgniteCache<Integer, byte[]> cache =
                    ignite.getOrCreateCache(new CacheConfiguration<Integer, byte[]>("bench").setBackups(0));
            System.out.println("READY " + ignite.cluster().nodes().size());
            Stopwatch stopwatch = new Stopwatch();
            for (String line = in.readLine(); line != null; line = in.readLine()) {
                String[] words = line.split(" ");
                Stopwatch.Call call = call(ignite, cache, words[1], Integer.parseInt(words[2]));
                System.out.println(stopwatch.measure(call, Long.parseLong(words[6])));
            }
        }
        System.exit(0);
    }

    private static Stopwatch.Call call(Ignite ignite, IgniteCache<Integer, byte[]> cache, String word, int size) {
        byte[] value = new byte[size];
        if (word.equals("compute")) {
            IgniteCompute remote = ignite.compute(ignite.cluster().forRemotes());
            return turn -> remote.call(new Echo(value));
        }
        List<Integer> keys = remoteKeys(ignite);
        keys.forEach(key -> cache.put(key, value));
        return word.equals("get")
                ? turn -> cache.get(keys.get((int) (turn % KEYS)))
                : turn -> cache.put(keys.get((int) (turn % KEYS)), value);
    }

    private static List<Integer> remoteKeys(Ignite ignite) {
        Affinity<Integer> affinity = ignite.affinity("bench");
        List<Integer> keys = new ArrayList<>();
        for (int key = 0; keys.size() < KEYS; key++) {
            if (!affinity.isPrimary(ignite.cluster().localNode(), key)) {
                keys.add(key);
            }
        }
        return keys;
    }

    /** Comes back with the bytes it carries. */
    private static final class Echo implements IgniteCallable<byte[]> {
        private static final long serialVersionUID = 1L;

        private final byte[] bytes;

        Echo(byte[] bytes) {
            this.bytes = bytes;
        }

        @Override
        public byte[] call() {
            return bytes;
        }
    }

    private static IgniteConfiguration configuration(Mode mode, int index, int discoveryPort, int communicationPort)
            throws ReflectiveOperationException {
        TcpCommunicationSpi communication = new TcpCommunicationSpi();
        if (mode != Mode.STOCK) {
            TransferCommunicationSpi engine = new TransferCommunicationSpi().setSecret(SECRET);
            if (mode == Mode.ENGINE) {
                TransferCommunicationSpi.class
                        .getMethod(MessagesBench.SETTER, boolean.class)
                        .invoke(engine, true);
            }
            communication = engine;
        }
        communication.setLocalPort(communicationPort).setLocalPortRange(10);
        TcpDiscoverySpi discovery = new TcpDiscoverySpi()
                .setLocalPort(discoveryPort)
                .setLocalPortRange(10)
                .setIpFinder(new TcpDiscoveryVmIpFinder()
                        .setAddresses(List.of("127.0.0.1:" + discoveryPort + ".." + (discoveryPort + 9))));
        return new IgniteConfiguration()
                .setLocalHost("127.0.0.1")
                .setWorkDirectory(
                        Home.folder("target/bench/ignite-" + mode + "-" + index).toString())
                .setGridLogger(new Slf4jLogger())
                .setMetricsLogFrequency(0)
                .setDataStorageConfiguration(new DataStorageConfiguration()
                        .setDefaultDataRegionConfiguration(new DataRegionConfiguration()
                                .setInitialSize(192L << 20)
                                .setMaxSize(192L << 20)))
                .setDiscoverySpi(discovery)
                .setCommunicationSpi(communication);
    }
}
