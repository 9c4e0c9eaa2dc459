// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.node;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.mooncake.base.Deadline;
import io.mooncake.ignite.Mooncake;
import io.mooncake.ignite.TestBlocks;
import io.mooncake.ignite.TestGrid;
import io.mooncake.memory.Tenant;
import io.mooncake.natives.NativeBridge;
import io.mooncake.transfer.PathReport;
import io.mooncake.transfer.PeerAddress;
import io.mooncake.transfer.TransferEngine;
import io.mooncake.transfer.ignite.ExternalAddress;
import io.mooncake.transfer.ignite.TransferCommunicationSpi;
import java.net.InetSocketAddress;
import java.util.List;
import java.util.Objects;
import java.util.UUID;
import org.apache.ignite.Ignite;
import org.apache.ignite.configuration.AddressResolver;
import org.apache.ignite.configuration.IgniteConfiguration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What an engine binds, what the others are told, and which way they then take; whoever owns the engine. */
class EngineAddressTest {
    private static TransferCommunicationSpi spi(TestGrid grid) {
        TransferCommunicationSpi spi = new TransferCommunicationSpi().setSecret(TestGrid.SECRET);
        spi.setTransferPortFrom(grid.ports() + 32).setTransferPortTo(grid.ports() + 63);
        spi.setLocalPort(grid.ports() + 16);
        spi.setLocalPortRange(14);
        return spi;
    }

    private static NodeRuntime runtime(Ignite ignite) {
        return ((MooncakeNode) Mooncake.of(ignite)).runtime();
    }

    private static PeerAddress told(Ignite node) {
        return Objects.requireNonNull(
                TransferCommunicationSpi.endpointOf(node.cluster().localNode()));
    }

    private static void fetchBetween(Ignite owner, Ignite reader) {
        int[] tokens = TestBlocks.prompt(31, 100);
        TestBlocks.store(Mooncake.of(owner).pool("tiny"), tokens);
        TestGrid.await("indexed", () -> !runtime(reader)
                .index()
                .holders("tiny", Tenant.DEFAULT, tokens)
                .isEmpty());
        // A busy machine may take longer than one fetch waits.
        TestGrid.await(
                "fetched",
                () -> TestBlocks.take(Mooncake.of(reader).pool("tiny"), tokens).matched() == 96);
    }

    /** Says that every address of this host is 127.0.0.3 outside; ports stay. */
    private static final class Elsewhere implements AddressResolver {
        @Override
        public List<InetSocketAddress> getExternalAddresses(InetSocketAddress address) {
            return List.of(new InetSocketAddress("127.0.0.3", address.getPort()));
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void endpoint_boundToAllAddressesBehindAResolver_isTheResolversAndWorks(boolean ownedBySpi) {
        try (TestGrid grid = new TestGrid()) {
            Ignite owner = grid.start("a", config -> {
                config.setAddressResolver(new Elsewhere());
                if (ownedBySpi) {
                    config.setCommunicationSpi(spi(grid).setTransferHost("0.0.0.0"))
                            .setPluginProviders(grid.provider());
                } else {
                    config.setPluginProviders(grid.provider().setHost("0.0.0.0"));
                }
            });
            Ignite reader = grid.start("b", config -> {
                config.setPluginProviders(grid.provider());
                if (ownedBySpi) {
                    config.setCommunicationSpi(spi(grid));
                }
            });
            assertThat(told(owner).host()).isEqualTo("127.0.0.3");
            assertThat(told(owner).dataPort())
                    .isEqualTo(runtime(owner).engine().address().dataPort());
            fetchBetween(owner, reader);
        }
    }

    @Test
    void endpoint_advertisedHostNamed_isThatOneWhateverTheResolverSays() {
        try (TestGrid grid = new TestGrid()) {
            Ignite owner = grid.start("a", config -> config.setAddressResolver(new Elsewhere())
                    .setPluginProviders(grid.provider().setHost("0.0.0.0").setAdvertisedHost("127.0.0.4")));
            Ignite reader = grid.start("b");
            assertThat(told(owner).host()).isEqualTo("127.0.0.4");
            fetchBetween(owner, reader);
        }
    }

    @Test
    void external_resolverMapsPorts_areTheMappedOnes() throws Exception {
        PeerAddress own = new PeerAddress(UUID.randomUUID(), "10.0.0.1", 1, 2, 3, List.of("10.0.1.1"));
        AddressResolver mapping = address -> List.of(new InetSocketAddress(
                address.getHostString().equals("10.0.0.1") ? "192.0.2.1" : "192.0.2.2", 30_000 + address.getPort()));

        assertThat(ExternalAddress.of(own, mapping).encode())
                .isEqualTo("mooncake1:" + own.incarnation() + "@192.0.2.1,192.0.2.2/30001/30002/30003");
        assertThat(ExternalAddress.of(own, null)).isEqualTo(own);
        assertThat(ExternalAddress.of(own, address -> List.of()).host()).isEqualTo("10.0.0.1");
        assertThatThrownBy(() -> ExternalAddress.of(
                        own, address -> List.of(new InetSocketAddress("192.0.2." + address.getPort(), 5))))
                .hasMessageContaining("one host for its three ports");
    }

    @ParameterizedTest
    @ValueSource(strings = {"auto", "tcp", "shm"})
    void path_byProtocol_isSharedMemoryUnlessTcp(String protocol) {
        assumeTrue(NativeBridge.available(), "native bridge");
        try (TestGrid grid = new TestGrid()) {
            Ignite owner = grid.start("a", grid.provider().setTransferProtocol(protocol));
            Ignite reader = grid.start("b", grid.provider().setTransferProtocol(protocol));
            PathReport report = runtime(reader).engine().path(told(owner), Deadline.ofMillis(10_000));
            assertThat(report.reads())
                    .as(report.reason())
                    .isEqualTo(protocol.equals("tcp") ? PathReport.Kind.TCP : PathReport.Kind.SHARED_MEMORY);
            fetchBetween(owner, reader);
            long served = runtime(owner).engine().statistics().requestsServed();
            assertThat(served > 0).as("TCP requests: %d", served).isEqualTo(protocol.equals("tcp"));
        }
    }

    @Test
    void engine_nodeRestarted_isAnotherIncarnationAndTheOldOneIsRefused() {
        try (TestGrid grid = new TestGrid()) {
            Ignite first = grid.start(
                    "a", config -> config.setCommunicationSpi(spi(grid)).setPluginProviders(grid.provider()));
            Ignite other = grid.start(
                    "b", config -> config.setCommunicationSpi(spi(grid)).setPluginProviders(grid.provider()));
            PeerAddress old = told(other);
            IgniteConfiguration again =
                    grid.configuration("b").setCommunicationSpi(spi(grid)).setPluginProviders(grid.provider());
            other.close();
            TestGrid.await("gone", () -> first.cluster().nodes().size() == 1);
            Ignite back = grid.start("b", config -> config.setCommunicationSpi(again.getCommunicationSpi())
                    .setPluginProviders(again.getPluginProviders()));
            assertThat(told(back).incarnation()).isNotEqualTo(old.incarnation());
            TransferEngine engine = runtime(first).engine();
            TestGrid.await(
                    "the old life is gone",
                    () -> engine.path(old, Deadline.ofMillis(1_000)).reason().contains("gone"));
            fetchBetween(back, first);
        }
    }
}
