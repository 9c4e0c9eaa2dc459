// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.node;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;

import io.mooncake.ignite.Mooncake;
import io.mooncake.ignite.TestBlocks;
import io.mooncake.ignite.TestGrid;
import io.mooncake.memory.Tenant;
import io.mooncake.transfer.TransferEngine;
import io.mooncake.transfer.ignite.TransferCommunicationSpi;
import java.util.function.Consumer;
import org.apache.ignite.Ignite;
import org.apache.ignite.Ignition;
import org.apache.ignite.configuration.IgniteConfiguration;
import org.junit.jupiter.api.Test;

/** The engine is the SPI's where it brings one, else the plugin's. */
class EngineOwnershipTest {
    private static TransferCommunicationSpi spi(TestGrid grid) {
        TransferCommunicationSpi spi = new TransferCommunicationSpi();
        spi.setTransferPortFrom(grid.ports() + 32).setTransferPortTo(grid.ports() + 63);
        spi.setLocalPort(grid.ports() + 16);
        spi.setLocalPortRange(14);
        return spi;
    }

    private static NodeRuntime runtime(Ignite ignite) {
        return ((MooncakeNode) Mooncake.of(ignite)).runtime();
    }

    @Test
    void engine_spiConfigured_isTheSpis() {
        try (TestGrid grid = new TestGrid()) {
            // The secret stands in one bean only: in the SPI's on one node, in the plugin's on the other.
            TransferCommunicationSpi first = spi(grid).setSecret(TestGrid.SECRET);
            Consumer<IgniteConfiguration> spiNamesIt = config -> config.setCommunicationSpi(first)
                    .setPluginProviders(grid.provider().setSecret(null));
            Consumer<IgniteConfiguration> pluginNamesIt =
                    config -> config.setCommunicationSpi(spi(grid)).setPluginProviders(grid.provider());
            Ignite owner = grid.start("a", spiNamesIt);
            Ignite reader = grid.start("b", pluginNamesIt);
            assertThat(runtime(owner).engine()).isSameAs(first.engine());

            int[] tokens = TestBlocks.prompt(11, 100);
            TestBlocks.store(Mooncake.of(owner).pool("tiny"), tokens);
            TestGrid.await("indexed", () -> !runtime(reader)
                    .index()
                    .holders("tiny", Tenant.DEFAULT, tokens)
                    .isEmpty());
            assertThat(TestBlocks.take(Mooncake.of(reader).pool("tiny"), tokens).remote())
                    .isEqualTo(96);
            TransferEngine engine = first.engine();
            TestGrid.await("bytes are counted", () -> engine.statistics().bytesServed() > 0);
        }
    }

    @Test
    void join_plainNodeBesideTheSpi_isRefusedByIgnite() {
        try (TestGrid grid = new TestGrid()) {
            grid.start("a", config -> config.setCommunicationSpi(spi(grid)).setPluginProviders(grid.provider()));
            for (boolean client : new boolean[] {false, true}) {
                IgniteConfiguration plain = grid.configuration("plain").setClientMode(client);
                Throwable error = catchThrowable(() -> Ignition.start(plain));
                assertThat(error).as("refused, client " + client).isNotNull();
                assertThat(error).hasStackTraceContaining("Remote SPI with the same name is of different type");
            }
        }
    }

    @Test
    void secret_namedDifferently_isRefused() {
        try (TestGrid grid = new TestGrid()) {
            IgniteConfiguration config = grid.configuration("a")
                    .setCommunicationSpi(spi(grid).setSecret("another secret, long enough"))
                    .setPluginProviders(grid.provider());
            assertThat(catchThrowable(() -> Ignition.start(config)))
                    .hasStackTraceContaining("the same as TransferCommunicationSpi.secret");
        }
    }

    @Test
    void engine_noSpi_isThePluginsAndClosesWithTheNode() {
        TransferEngine engine;
        try (TestGrid grid = new TestGrid()) {
            Ignite node = grid.start("a");
            engine = runtime(node).engine();
            assertThat(node.cluster().localNode().<String>attribute("mooncake.endpoint"))
                    .isEqualTo(engine.address().encode());
            assertThat(engine.address().dataPort()).isBetween(grid.ports() + 32, grid.ports() + 63);
        }
        assertThat(catchThrowable(() -> engine.registerMemory(4096, 4096, (offset, length, generation) -> true)))
                .isNotNull();
    }
}
