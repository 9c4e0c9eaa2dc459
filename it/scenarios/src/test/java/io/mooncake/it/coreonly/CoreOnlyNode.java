// SPDX-License-Identifier: Apache-2.0
package io.mooncake.it.coreonly;

import io.mooncake.base.Deadline;
import io.mooncake.ignite.Mooncake;
import io.mooncake.ignite.MooncakePluginProvider;
import io.mooncake.ignite.PoolBean;
import io.mooncake.ignite.Route;
import io.mooncake.memory.BlockWriter;
import io.mooncake.memory.KvPool;
import io.mooncake.memory.PrefixLease;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.apache.ignite.Ignite;
import org.apache.ignite.Ignition;
import org.apache.ignite.configuration.ClientConnectorConfiguration;
import org.apache.ignite.configuration.IgniteConfiguration;
import org.apache.ignite.spi.discovery.tcp.TcpDiscoverySpi;
import org.apache.ignite.spi.discovery.tcp.ipfinder.vm.TcpDiscoveryVmIpFinder;

/** Two nodes of one process on ignite-core alone: stores on one, fetches on the other, routes a job, and says {@code CORE OK}. */
public final class CoreOnlyNode {
    private static final int BLOCK = 16;

    private CoreOnlyNode() {}

    /** Arguments: first discovery port, first port of client connectors. */
    public static void main(String[] args) throws Exception {
        TcpDiscoveryVmIpFinder finder = new TcpDiscoveryVmIpFinder(true);
        int port = Integer.parseInt(args[0]);
        int connector = Integer.parseInt(args[1]);
        try (Ignite a = Ignition.start(configuration("a", finder, port, connector));
                Ignite b = Ignition.start(configuration("b", finder, port, connector))) {
            int[] tokens = IntStream.range(0, 3 * BLOCK + 1).toArray();
            KvPool owner = Mooncake.of(a).pool("p");
            try (PrefixLease lease = owner.acquire(tokens, Deadline.ofMillis(1_000));
                    BlockWriter writer = owner.extend(lease, tokens)) {
                while (writer.hasNext()) {
                    byte[] bytes = new byte[owner.layout().payloadBytes()];
                    Arrays.fill(bytes, (byte) writer.blockIndex());
                    writer.next().setBytes(0, bytes);
                }
                writer.publish();
            }
            long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(60);
            while (Mooncake.of(b).statistics().indexEntries() < 3 && System.nanoTime() < end) {
                Thread.sleep(10);
            }
            try (PrefixLease lease = Mooncake.of(b).pool("p").acquire(tokens, Deadline.ofMillis(60_000))) {
                if (lease.remoteTokens() != 3 * BLOCK || lease.block(2).getByte(7) != 2) {
                    throw new IllegalStateException(
                            "fetched " + lease.remoteTokens() + " tokens: " + lease.missReason());
                }
            }
            String ran = Mooncake.of(b)
                    .submit(Route.of("p", tokens), context -> context.ignite().name())
                    .toCompletableFuture()
                    .get(30, TimeUnit.SECONDS);
            System.out.println("CORE OK " + ran + " on Ignite " + a.version());
            while (System.in.read() >= 0) {
                // Stays until the test closes the pipe.
            }
        }
    }

    private static IgniteConfiguration configuration(
            String name, TcpDiscoveryVmIpFinder finder, int port, int connector) {
        PoolBean pool = new PoolBean()
                .setName("p")
                .setModel("core-only")
                .setLayers(2)
                .setKvHeads(1)
                .setHeadSize(8)
                .setBlockTokens(BLOCK);
        return new IgniteConfiguration()
                .setIgniteInstanceName(name)
                .setLocalHost("127.0.0.1")
                .setWorkDirectory(System.getProperty("java.io.tmpdir"))
                .setMetricsLogFrequency(0)
                .setClientConnectorConfiguration(
                        new ClientConnectorConfiguration().setHost("127.0.0.1").setPort(connector))
                .setDiscoverySpi(new TcpDiscoverySpi().setIpFinder(finder).setLocalPort(port))
                .setPluginProviders(new MooncakePluginProvider()
                        .setSecret("core-only-secret")
                        .setFetchTimeoutMillis(20_000)
                        .setDram("1MiB")
                        .setPools(List.of(pool)));
    }
}
