// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.conductor;

import static org.assertj.core.api.Assertions.assertThat;

import io.mooncake.ignite.Mooncake;
import io.mooncake.ignite.Role;
import io.mooncake.ignite.Route;
import io.mooncake.ignite.RouteDecision;
import io.mooncake.ignite.TestGrid;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.apache.ignite.Ignite;
import org.junit.jupiter.api.Test;

/** A burst at nodes that have run nothing yet: what a node has learned of its speed by other jobs would weigh on the decisions. */
class ClusterRouterBurstTest {
    /** Jobs wait for it; static, for jobs are serialised on their way. */
    private static final CountDownLatch GATE = new CountDownLatch(1);

    @Test
    void submit_burst_spreadsOverBothNodes() {
        try (TestGrid grid = new TestGrid()) {
            Ignite first = grid.start("first");
            Ignite second = grid.start("second");
            Ignite client = grid.start("client", config -> config.setClientMode(true)
                    .setPluginProviders(
                            grid.provider().setDram(null).setPools(List.of()).setRole(Role.OBSERVER)));
            Mooncake mooncake = Mooncake.of(client);
            TestGrid.await("two members", () -> mooncake.storeNodes().size() == 2);
            ConcurrentHashMap<UUID, Integer> counts = new ConcurrentHashMap<>();
            CompletableFuture<?>[] answers = new CompletableFuture<?>[6];
            try {
                for (int i = 0; i < answers.length; i++) {
                    Route route = Route.of("tiny", Blocks.prompt(3, i, 0, 4));
                    RouteDecision next = mooncake.decide(route);
                    counts.merge(next.nodeId(), 1, Integer::sum);
                    answers[i] = mooncake.submit(route, context -> GATE.await(120, TimeUnit.SECONDS))
                            .toCompletableFuture();
                }
            } finally {
                GATE.countDown();
            }
            CompletableFuture.allOf(answers).orTimeout(60, TimeUnit.SECONDS).join();

            assertThat(counts)
                    .containsEntry(first.cluster().localNode().id(), 3)
                    .containsEntry(second.cluster().localNode().id(), 3);
        }
    }
}
