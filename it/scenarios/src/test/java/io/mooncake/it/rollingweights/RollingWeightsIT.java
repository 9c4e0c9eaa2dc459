// SPDX-License-Identifier: Apache-2.0
package io.mooncake.it.rollingweights;

import static org.assertj.core.api.Assertions.assertThat;

import io.mooncake.it.support.PoolProcesses;
import io.mooncake.it.support.PoolProcesses.Node;
import io.mooncake.testkit.MooncakeCluster;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Processes are given new weights under the pool's old name, one after the other: two pools beside each other until the last old one is gone. */
class RollingWeightsIT {
    private static final String OLD = "pool.weights=of last month";
    private static final String NEW = "pool.weights=of this month";
    private static final int LENGTH = 6 * PoolProcesses.BLOCK_TOKENS + 1;
    private static final int WHOLE = LENGTH - 1;

    @Test
    void roll_fromOldWeightsToNew_neverMeetAndEachIsSharedByItsOwn(@TempDir Path folder) {
        try (PoolProcesses cluster = new PoolProcesses(folder, Duration.ofSeconds(30))) {
            Node first = cluster.launch("a", OLD);
            Node second = cluster.launch("b", OLD);
            Node third = cluster.launch("c", OLD);
            PoolProcesses.awaitTogether(List.of(first, second, third));
            first.ask("store 1 " + LENGTH);
            awaitHolders(second, 1, Set.of(first));
            assertThat(second.take(1, LENGTH)).containsExactly(WHOLE, WHOLE);

            // One of three is new: nothing of the old is for it, and nothing of its own for them.
            third.process().kill();
            Node renewed = cluster.launch("c", NEW);
            PoolProcesses.awaitTogether(List.of(first, second, renewed));
            assertThat(renewed.take(1, LENGTH)).containsExactly(0, 0);
            renewed.ask("store 1 " + LENGTH);
            renewed.ask("store 2 " + LENGTH);
            awaitHolders(first, 1, Set.of(first, second));
            awaitHolders(renewed, 1, Set.of(renewed));

            // Two of three: they share what is new; the last old one keeps its own.
            second.process().kill();
            Node next = cluster.launch("b", NEW);
            PoolProcesses.awaitTogether(List.of(first, next, renewed));
            awaitHolders(next, 2, Set.of(renewed));
            assertThat(next.take(2, LENGTH)).containsExactly(WHOLE, WHOLE);
            assertThat(first.take(1, LENGTH)).containsExactly(WHOLE, 0);
            assertThat(first.take(2, LENGTH)).containsExactly(0, 0);

            first.process().kill();
            Node last = cluster.launch("a", NEW);
            PoolProcesses.awaitTogether(List.of(last, next, renewed));
            awaitHolders(last, 2, Set.of(next, renewed));
            awaitHolders(last, 1, Set.of(renewed));
            assertThat(last.take(2, LENGTH)).containsExactly(WHOLE, WHOLE);
        }
    }

    private static void awaitHolders(Node at, int seed, Set<Node> holders) {
        MooncakeCluster.await(at.name() + " to know the holders of " + seed, () -> at.holders(seed, LENGTH)
                .equals(holders.stream().map(Node::id).collect(java.util.stream.Collectors.toSet())));
    }
}
