// SPDX-License-Identifier: Apache-2.0
package io.mooncake.it.drain;

import static org.assertj.core.api.Assertions.assertThat;

import io.mooncake.ignite.Mooncake;
import io.mooncake.ignite.MooncakePluginProvider;
import io.mooncake.ignite.Role;
import io.mooncake.ignite.Route;
import io.mooncake.ignite.RoutedJob;
import io.mooncake.it.support.NodeProcesses;
import io.mooncake.testkit.ForkedJvm;
import io.mooncake.testkit.MooncakeCluster;
import io.mooncake.testkit.SeededBlocks;
import java.nio.file.Path;
import java.time.Duration;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import org.apache.ignite.configuration.IgniteConfiguration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** {@code ./mooncake node} is told to end by SIGTERM, as a service manager does: it gives what only it has to others and ends well. */
class DrainIT {
    private static final int BLOCKS = 6;
    private static final int WHOLE = BLOCKS * 16;

    @Test
    void sigterm_soleHolder_othersHaveItsBlocksAndItEndsWell(@TempDir Path folder) throws Exception {
        try (NodeProcesses cluster = new NodeProcesses(folder, NodeProcesses.testConfig("pool-node.xml"))) {
            ForkedJvm leaving = cluster.launch("a");
            ForkedJvm staying = cluster.launch("b");
            cluster.awaitReady(leaving);
            cluster.awaitReady(staying);
            UUID from = cluster.nodeId(leaving);
            UUID to = cluster.nodeId(staying);
            Mooncake client = Mooncake.of(cluster.client(new IgniteConfiguration()
                    .setPluginProviders(
                            new MooncakePluginProvider().setRole(Role.OBSERVER).setSecret(cluster.secret()))));
            MooncakeCluster.await("two members", () -> client.storeNodes().size() == 2);
            int[] prompt = SeededBlocks.prompt(5, WHOLE + 1);
            assertThat(run(
                            client,
                            prompt,
                            from,
                            context -> SeededBlocks.store(
                                    context.pool(), context.route().tokens())))
                    .isEqualTo(BLOCKS);
            awaitSoleHolder(client, prompt, from);

            leaving.terminate();
            assertThat(leaving.exitCode(Duration.ofSeconds(120)))
                    .as(leaving.output())
                    // The JVM's own code for SIGTERM: its hooks ran to their end.
                    .isEqualTo(128 + 15);
            assertThat(leaving.output()).contains("STOPPED a");

            awaitSoleHolder(client, prompt, to);
            // Every byte is checked there.
            assertThat(run(client, prompt, to, context -> SeededBlocks.take(
                                    context.pool(), context.route().tokens())
                            .local()))
                    .isEqualTo(WHOLE);
        }
    }

    private static void awaitSoleHolder(Mooncake client, int[] prompt, UUID holder) {
        MooncakeCluster.await("the client to know the one holder", () -> {
            var matches = client.explain(NodeProcesses.MODEL, prompt).matches();
            return matches.size() == 1
                    && matches.get(0).nodeId().equals(holder)
                    && matches.get(0).tokens() == WHOLE;
        });
    }

    private static int run(Mooncake client, int[] prompt, UUID node, RoutedJob<Integer> job) throws Exception {
        return client.submit(Route.of(NodeProcesses.MODEL, prompt).onNode(node), job)
                .toCompletableFuture()
                .get(60, TimeUnit.SECONDS);
    }
}
