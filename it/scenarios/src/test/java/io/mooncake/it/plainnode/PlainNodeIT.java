// SPDX-License-Identifier: Apache-2.0
package io.mooncake.it.plainnode;

import static org.assertj.core.api.Assertions.assertThat;

import io.mooncake.ignite.Mooncake;
import io.mooncake.ignite.MooncakePluginProvider;
import io.mooncake.ignite.Role;
import io.mooncake.ignite.Route;
import io.mooncake.it.support.CompareJob;
import io.mooncake.it.support.NodeProcesses;
import io.mooncake.it.support.Prompts;
import io.mooncake.testkit.ForkedJvm;
import io.mooncake.testkit.MooncakeCluster;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.apache.ignite.configuration.IgniteConfiguration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Plain Ignite nodes and clients, on a class path without a jar of ours, beside a cluster that runs the plugin. */
class PlainNodeIT {
    private static final Duration START = Duration.ofSeconds(120);

    @Test
    void join_pluginOwnsEngine_nobodyIsHarmed(@TempDir Path folder) throws Exception {
        try (NodeProcesses cluster = new NodeProcesses(folder, NodeProcesses.exampleConfig("plugin-engine-node.xml"))) {
            ForkedJvm a = cluster.launch("a");
            ForkedJvm b = cluster.launch("b");
            cluster.awaitReady(a);
            cluster.awaitReady(b);
            Mooncake client = Mooncake.of(cluster.client(new IgniteConfiguration()
                    .setPluginProviders(
                            new MooncakePluginProvider().setRole(Role.OBSERVER).setSecret(cluster.secret()))));
            int[] prompt = Prompts.random(3, 200);
            client.submit(Route.of(NodeProcesses.MODEL, prompt).onNode(cluster.nodeId(a)), new CompareJob(2))
                    .toCompletableFuture()
                    .get(60, TimeUnit.SECONDS);

            try (ForkedJvm server = plain("server", cluster);
                    ForkedJvm plainClient = plain("client", cluster)) {
                server.awaitLine("PLAIN OK", START);
                plainClient.awaitLine("PLAIN OK", START);
                // The pool goes on beside them, and they are not members.
                assertThat(client.storeNodes()).hasSize(2);
                MooncakeCluster.await(
                        "three entries",
                        Duration.ofSeconds(60),
                        () -> client.statistics().indexEntries() >= 3);
                CompareJob.Both remote = client.submit(
                                Route.of(NodeProcesses.MODEL, prompt).onNode(cluster.nodeId(b)), new CompareJob(2))
                        .toCompletableFuture()
                        .get(60, TimeUnit.SECONDS);
                assertThat(remote.cached().remoteTokens()).isEqualTo(192);
                assertThat(remote.identical()).isTrue();
                server.terminate();
                plainClient.terminate();
                server.exitCode(Duration.ofSeconds(30));
                plainClient.exitCode(Duration.ofSeconds(30));
            }
            assertThat(a.alive()).isTrue();
            assertThat(b.alive()).isTrue();
        }
    }

    @Test
    void join_communicationSpiOwnsEngine_isRefused(@TempDir Path folder) throws Exception {
        try (NodeProcesses cluster = new NodeProcesses(folder, NodeProcesses.exampleConfig("demo-node.xml"))) {
            ForkedJvm a = cluster.start("a");
            try (ForkedJvm server = plain("server", cluster);
                    ForkedJvm client = plain("client", cluster)) {
                for (ForkedJvm plain : List.of(server, client)) {
                    assertThat(plain.exitCode(START)).isNotZero();
                    assertThat(plain.output()).contains("Remote SPI with the same name is of different type");
                }
            }
            assertThat(a.alive()).isTrue();
        }
    }

    private static ForkedJvm plain(String kind, NodeProcesses cluster) {
        return ForkedJvm.of(PlainNode.class.getName())
                .jvmArguments("-Xmx256m")
                .classPath(PlainNodeIT::isForeign)
                .arguments(kind, cluster.discoveryAddress())
                .start();
    }

    /** Ignite and this test's own classes; nothing of the product. */
    private static boolean isForeign(String entry) {
        return entry.endsWith("test-classes") || !(entry.contains("mooncake-") || entry.endsWith("classes"));
    }
}
