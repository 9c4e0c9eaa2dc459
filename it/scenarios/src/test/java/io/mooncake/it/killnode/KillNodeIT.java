// SPDX-License-Identifier: Apache-2.0
package io.mooncake.it.killnode;

import static org.assertj.core.api.Assertions.assertThat;

import io.mooncake.base.MooncakeException;
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
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.TimeUnit;
import org.apache.ignite.configuration.IgniteConfiguration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A node dies by {@code kill -9}: its running requests are lost, everything else goes on, and nobody believes its entries any more. */
class KillNodeIT {
    private static final int BLOCK = 64;

    @Test
    void kill_owner_costsItsRunningRequestsOnly(@TempDir Path folder) throws Exception {
        try (NodeProcesses cluster = new NodeProcesses(folder, NodeProcesses.exampleConfig("plugin-engine-node.xml"))) {
            List<ForkedJvm> nodes = List.of(cluster.launch("a"), cluster.launch("b"), cluster.launch("c"));
            nodes.forEach(cluster::awaitReady);
            Mooncake client = Mooncake.of(cluster.client(new IgniteConfiguration()
                    .setPluginProviders(
                            new MooncakePluginProvider().setRole(Role.OBSERVER).setSecret(cluster.secret()))));
            MooncakeCluster.await(
                    "three members",
                    Duration.ofSeconds(60),
                    () -> client.storeNodes().size() == 3);
            UUID victim = cluster.nodeId(nodes.get(0));
            UUID survivor = cluster.nodeId(nodes.get(1));

            int[] prompt = Prompts.random(7, 6 * BLOCK + 3);
            client.submit(Route.of(NodeProcesses.MODEL, prompt).onNode(victim), new CompareJob(2))
                    .toCompletableFuture()
                    .get(60, TimeUnit.SECONDS);
            MooncakeCluster.await(
                    "six entries",
                    Duration.ofSeconds(60),
                    () -> client.statistics().indexEntries() == 6);

            List<CompletableFuture<CompareJob.Both>> doomed = new ArrayList<>();
            List<CompletableFuture<CompareJob.Both>> others = new ArrayList<>();
            for (int i = 0; i < 4; i++) {
                int[] tokens = Prompts.random(100 + i, 20 * BLOCK);
                doomed.add(submit(client, tokens, victim));
                others.add(submit(client, tokens, survivor));
            }
            nodes.get(0).kill();
            long killed = System.nanoTime();

            for (CompletableFuture<CompareJob.Both> request : others) {
                assertThat(request.get(120, TimeUnit.SECONDS).identical()).isTrue();
            }
            for (CompletableFuture<CompareJob.Both> request : doomed) {
                try {
                    // One that had answered before the kill is fine; one that had not must end, and say why.
                    request.get(60, TimeUnit.SECONDS);
                } catch (java.util.concurrent.ExecutionException e) {
                    Throwable cause =
                            e.getCause() instanceof CompletionException wrapped ? wrapped.getCause() : e.getCause();
                    assertThat(cause).isInstanceOfSatisfying(MooncakeException.class, error -> assertThat(error.code())
                            .isEqualTo(MooncakeException.Code.PEER_UNREACHABLE));
                }
            }
            MooncakeCluster.await(
                    "the dead node's entries to be void",
                    Duration.ofSeconds(60),
                    () -> client.storeNodes().size() == 2
                            && client.explain(NodeProcesses.MODEL, prompt).matches().stream()
                                    .noneMatch(match -> match.nodeId().equals(victim)));
            assertThat(Duration.ofNanos(System.nanoTime() - killed)).isLessThan(Duration.ofMinutes(3));

            // Its blocks are computed again, and the bytes are right.
            CompareJob.Both again = submit(client, prompt, survivor).get(60, TimeUnit.SECONDS);
            assertThat(again.cached().remoteTokens()).isZero();
            assertThat(again.cached().storedBlocks()).isEqualTo(6);
            assertThat(again.identical()).isTrue();
            CompareJob.Both shared =
                    submit(client, prompt, cluster.nodeId(nodes.get(2))).get(60, TimeUnit.SECONDS);
            assertThat(shared.identical()).isTrue();

            // The dead node comes back as another incarnation and is used again.
            ForkedJvm reborn = cluster.start("a");
            MooncakeCluster.await(
                    "three members again",
                    Duration.ofSeconds(60),
                    () -> client.storeNodes().size() == 3);
            assertThat(submit(client, prompt, cluster.nodeId(reborn))
                            .get(60, TimeUnit.SECONDS)
                            .identical())
                    .isTrue();
        }
    }

    private static CompletableFuture<CompareJob.Both> submit(Mooncake client, int[] tokens, UUID node) {
        return client.submit(Route.of(NodeProcesses.MODEL, tokens).onNode(node), new CompareJob(2))
                .toCompletableFuture();
    }
}
