// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.node;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;

import io.mooncake.ignite.Mooncake;
import io.mooncake.ignite.TestBlocks;
import io.mooncake.ignite.TestGrid;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.util.ArrayList;
import java.util.List;
import org.apache.ignite.Ignite;
import org.apache.ignite.Ignition;
import org.junit.jupiter.api.Test;

/** Nothing is left of a node that stopped, or that never came up. */
class LeakTest {
    private static List<String> threads() {
        return Thread.getAllStackTraces().keySet().stream()
                .map(Thread::getName)
                .filter(name -> name.startsWith("mooncake-"))
                .sorted()
                .toList();
    }

    private static void awaitNoThreads() {
        TestGrid.await(
                "no thread of the plugin is left: " + threads(), () -> threads().isEmpty());
    }

    private static void assertPortsFree(TestGrid grid) throws IOException {
        for (int port = grid.ports() + 32; port < grid.ports() + 64; port++) {
            try (ServerSocket free = new ServerSocket(port, 1, InetAddress.getLoopbackAddress())) {
                assertThat(free.isBound()).isTrue();
            }
        }
    }

    @Test
    void stop_afterTraffic_leavesNoThreadAndNoPort() throws IOException {
        awaitNoThreads();
        try (TestGrid grid = new TestGrid()) {
            Ignite first = grid.start("a");
            Ignite second = grid.start("b");
            int[] tokens = TestBlocks.prompt(1, 200);
            TestBlocks.store(Mooncake.of(first).pool("tiny"), tokens);
            TestGrid.await(
                    "fetched",
                    () -> TestBlocks.take(Mooncake.of(second).pool("tiny"), tokens)
                                    .matched()
                            == 192);
            // The router of a client goes: it finds the other node, and what the lost one held is void.
            Ignite client = grid.start("client", config -> config.setClientMode(true)
                    .setPluginProviders(grid.provider().setDram(null).setPools(List.of())));
            TestGrid.await(
                    "both hold it",
                    () -> Mooncake.of(client).explain("tiny", tokens).matches().size() == 2);
            Ignition.stop(first.name(), true);
            TestGrid.await(
                    "one holds it",
                    () -> Mooncake.of(client).explain("tiny", tokens).matches().size() == 1);
            assertThat(Mooncake.of(client).storeNodes())
                    .containsExactly(second.cluster().localNode().id());
            int[] later = TestBlocks.prompt(2, 100);
            TestBlocks.store(Mooncake.of(second).pool("tiny"), later);
            TestGrid.await(
                    "followed",
                    () -> !Mooncake.of(client).explain("tiny", later).matches().isEmpty());

            grid.close();
            awaitNoThreads();
            assertPortsFree(grid);
        }
    }

    @Test
    void start_refusedOrWithoutPorts_leavesNoThreadAndNoPort() throws IOException {
        awaitNoThreads();
        try (TestGrid grid = new TestGrid()) {
            List<ServerSocket> taken = new ArrayList<>();
            for (int port = grid.ports() + 34; port < grid.ports() + 64; port++) {
                taken.add(new ServerSocket(port, 1, InetAddress.getLoopbackAddress()));
            }
            try {
                assertThat(catchThrowable(() -> grid.start("no-third-port")))
                        .hasStackTraceContaining("no port is free");
            } finally {
                for (ServerSocket socket : taken) {
                    socket.close();
                }
            }
            awaitNoThreads();
            grid.start("plain", config -> config.setPluginProviders());
            assertThat(catchThrowable(
                            () -> grid.start("bad-extension", grid.provider().setExtensions(List.of(new Failing())))))
                    .hasStackTraceContaining("an extension that fails");
            awaitNoThreads();
            assertPortsFree(grid);
        }
    }

    /** An extension that throws what is no error of ours. */
    private static final class Failing implements io.mooncake.ignite.NodeExtension {
        @Override
        public String name() {
            return "failing";
        }

        @Override
        public void start(Mooncake mooncake) {
            throw new IllegalStateException("an extension that fails");
        }

        @Override
        public void stop() {}
    }
}
