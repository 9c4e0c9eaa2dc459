// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.ignite;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.mooncake.base.Deadline;
import io.mooncake.base.MooncakeException;
import io.mooncake.transfer.PeerAddress;
import io.mooncake.transfer.TransferEngine;
import java.nio.file.Path;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import org.apache.ignite.Ignite;
import org.apache.ignite.IgniteCache;
import org.apache.ignite.Ignition;
import org.apache.ignite.cache.affinity.rendezvous.RendezvousAffinityFunction;
import org.apache.ignite.configuration.CacheConfiguration;
import org.apache.ignite.configuration.IgniteConfiguration;
import org.apache.ignite.logger.NullLogger;
import org.apache.ignite.spi.communication.CommunicationSpi;
import org.apache.ignite.spi.communication.tcp.TcpCommunicationSpi;
import org.apache.ignite.spi.discovery.tcp.TcpDiscoverySpi;
import org.apache.ignite.spi.discovery.tcp.ipfinder.vm.TcpDiscoveryVmIpFinder;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The engine inside real Ignite nodes. */
final class TransferCommunicationSpiIT {
    private static final String SECRET = "the secret of the test cluster";
    private final TcpDiscoveryVmIpFinder finder = new TcpDiscoveryVmIpFinder(true);

    @TempDir
    Path work;

    private IgniteConfiguration node(String name, CommunicationSpi<?> spi) {
        return new IgniteConfiguration()
                .setIgniteInstanceName(name + UUID.randomUUID())
                .setConsistentId(name)
                .setWorkDirectory(work.resolve(name).toString())
                .setLocalHost("127.0.0.1")
                .setGridLogger(new NullLogger())
                .setMetricsLogFrequency(0)
                .setFailureDetectionTimeout(20_000)
                .setDiscoverySpi(new TcpDiscoverySpi().setIpFinder(finder))
                .setCommunicationSpi(spi);
    }

    private static TransferCommunicationSpi spi() {
        return new TransferCommunicationSpi().setSecret(SECRET);
    }

    private static CacheConfiguration<Integer, Integer> fewPartitions() {
        return new CacheConfiguration<Integer, Integer>("c").setAffinity(new RendezvousAffinityFunction(false, 8));
    }

    @Test
    void spi_twoNodes_publishEndpointsAndAnswerEachOther() throws Exception {
        TransferCommunicationSpi first = spi();
        TransferCommunicationSpi second = spi();
        TransferEngine firstEngine;
        try (Ignite a = Ignition.start(node("a", first));
                Ignite b = Ignition.start(node("b", second))) {
            firstEngine = first.engine();
            firstEngine.control().handle("ping", (from, payload) -> payload);
            PeerAddress seen = TransferCommunicationSpi.endpointOf(
                    b.cluster().node(a.cluster().localNode().id()));
            assertThat(seen).isEqualTo(firstEngine.address());
            byte[] reply = second.engine()
                    .control()
                    .request(seen, "ping", new byte[] {42}, Deadline.ofMillis(10_000))
                    .toCompletableFuture()
                    .get(10, TimeUnit.SECONDS);
            assertThat(reply).containsExactly(42);
            IgniteCache<Integer, Integer> onA = a.getOrCreateCache(fewPartitions());
            b.<Integer, Integer>cache("c").put(1, 2);
            assertThat(onA.get(1)).isEqualTo(2);
            a.cluster().localNode().attributes().values().forEach(value -> assertThat(String.valueOf(value))
                    .doesNotContain(SECRET));
            // Ignite 2.17 frees a stopping node's page memory while its system threads may still create the partitions
            // that a
            // node lost a moment before has left behind, which crashes the process: a waits for the new topology, then
            // stops.
            b.close();
            onA.put(2, 3);
        }
        assertThatThrownBy(first::engine).isInstanceOf(MooncakeException.class);
        assertThatThrownBy(() -> firstEngine.registerMemory(4096, 1, (o, l, g) -> true))
                .extracting("code")
                .isEqualTo(MooncakeException.Code.ILLEGAL_STATE);
    }

    @Test
    void spi_plainNodeJoins_isRefusedByIgnite() {
        try (Ignite a = Ignition.start(node("a", spi()))) {
            assertThat(a.cluster().nodes()).hasSize(1);
            assertThatThrownBy(() ->
                            Ignition.start(node("b", new TcpCommunicationSpi())).close())
                    .hasStackTraceContaining("Remote SPI with the same name is of different type");
        }
    }

    @Test
    void spi_secretMissing_refusesTheStartAndNamesIt() {
        assertThatThrownBy(() -> Ignition.start(node("a", new TransferCommunicationSpi()))
                        .close())
                .hasStackTraceContaining("TransferCommunicationSpi.secret: missing");
    }
}
