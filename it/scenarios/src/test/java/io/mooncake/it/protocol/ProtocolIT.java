// SPDX-License-Identifier: Apache-2.0
package io.mooncake.it.protocol;

import static org.assertj.core.api.Assertions.assertThat;

import io.mooncake.it.support.PoolProcesses;
import io.mooncake.testkit.MooncakeCluster;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.UUID;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Processes that speak the previous protocol beside those of this one, and one node after the other taken over to the new one. */
class ProtocolIT {
    private static final String PREVIOUS = "mooncake.protocol.max=1";
    private static final int LENGTH = 6 * PoolProcesses.BLOCK_TOKENS + 1;
    private static final int WHOLE = 6 * PoolProcesses.BLOCK_TOKENS;

    @Test
    void roll_fromThePreviousProtocolToThisOne_blocksAreFoundThroughout(@TempDir Path folder) {
        try (PoolProcesses cluster = new PoolProcesses(folder, Duration.ofSeconds(30))) {
            PoolProcesses.Node old = cluster.launch("a", PREVIOUS);
            PoolProcesses.Node next = cluster.launch("b", PREVIOUS);
            PoolProcesses.awaitTogether(List.of(old, next));
            old.ask("store 1 " + LENGTH);
            awaitHolder(next, 1, old.id());

            // The second comes back with this version's protocol, beside the first.
            next.process().kill();
            PoolProcesses.Node rolled = cluster.launch("b");
            PoolProcesses.awaitTogether(List.of(old, rolled));
            awaitHolder(rolled, 1, old.id());
            assertThat(rolled.take(1, LENGTH)).containsExactly(WHOLE, WHOLE);
            rolled.ask("store 2 " + LENGTH);
            awaitHolder(old, 2, rolled.id());
            assertThat(old.take(2, LENGTH)).containsExactly(WHOLE, WHOLE);

            // And the first as well; what the second took from it outlives it.
            old.process().kill();
            PoolProcesses.Node last = cluster.launch("a");
            PoolProcesses.awaitTogether(List.of(last, rolled));
            awaitHolder(last, 1, rolled.id());
            assertThat(last.take(1, LENGTH)).containsExactly(WHOLE, WHOLE);
            assertThat(last.take(2, LENGTH)).containsExactly(WHOLE, WHOLE);
        }
    }

    private static void awaitHolder(PoolProcesses.Node at, int seed, UUID holder) {
        MooncakeCluster.await(at.name() + " to know the holder of " + seed, () -> at.holders(seed, LENGTH)
                .equals(Set.of(holder)));
    }
}
