// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.pool;

import static org.assertj.core.api.Assertions.assertThat;

import io.mooncake.ignite.index.PoolIndex.Run;
import io.mooncake.memory.BlockKey;
import io.mooncake.transfer.PeerAddress;
import io.mooncake.transfer.topology.Locality;
import io.mooncake.transfer.topology.PathMatrix;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

final class SourceChoiceTest {
    private static final UUID A = new UUID(0, 1);
    private static final UUID B = new UUID(0, 2);
    private static final UUID C = new UUID(0, 3);
    private static final int BLOCK = 1 << 20;

    private final PathMatrix matrix = new PathMatrix();

    /** Node ids stand for incarnations, too. */
    private record Places(Map<UUID, Locality.Closeness> near) implements Holders {
        @Override
        public List<Run> runs(List<BlockKey> keys, int from) {
            return List.of();
        }

        @Override
        public @Nullable PeerAddress address(UUID nodeId) {
            return near.containsKey(nodeId) ? new PeerAddress(nodeId, "h", 1, 2, 3) : null;
        }

        @Override
        public Locality.Closeness closeness(UUID nodeId) {
            return near.get(nodeId);
        }
    }

    private SourceChoice choice(Locality.Closeness a, Locality.Closeness b) {
        return new SourceChoice(new Places(Map.of(A, a, B, b)), matrix, BLOCK);
    }

    private void measured(UUID peer, long nanosABlock) {
        matrix.observe(peer, 0, 64, 100_000);
        matrix.observe(peer, 0, BLOCK, nanosABlock);
    }

    @Test
    void best_longerRun_winsWhateverItCosts() {
        measured(A, 900_000_000);
        measured(B, 1_000_000);
        SourceChoice choice = choice(Locality.Closeness.ELSEWHERE, Locality.Closeness.SAME_HOST);
        assertThat(choice.best(List.of(new Run(A, 3), new Run(B, 2)))).contains(new Run(A, 3));
        assertThat(choice.best(List.of())).isEmpty();
    }

    @Test
    void best_equalRuns_isTheFasterPeer() {
        measured(A, 50_000_000);
        measured(B, 5_000_000);
        SourceChoice choice = choice(Locality.Closeness.SAME_RACK, Locality.Closeness.SAME_RACK);
        assertThat(choice.best(List.of(new Run(A, 2), new Run(B, 2)))).contains(new Run(B, 2));
    }

    @Test
    void best_equalRuns_isThePeerWhoseRailsCarryMoreTogether() {
        measured(B, 5_000_000);
        for (int rail = 0; rail < 3; rail++) {
            matrix.observe(A, rail, 64, 100_000);
            matrix.observe(A, rail, BLOCK, 8_000_000);
        }
        SourceChoice choice = choice(Locality.Closeness.SAME_RACK, Locality.Closeness.SAME_RACK);
        assertThat(choice.best(List.of(new Run(B, 2), new Run(A, 2)))).contains(new Run(A, 2));
        matrix.failed(A, 1);
        matrix.failed(A, 2);
        assertThat(choice.best(List.of(new Run(B, 2), new Run(A, 2)))).contains(new Run(B, 2));
    }

    @Test
    void best_holderThatKeptItsCallersWaiting_isPassedOver() {
        matrix.unfinished(A, BLOCK, 1000, 1_000_000_000);
        SourceChoice choice = choice(Locality.Closeness.SAME_HOST, Locality.Closeness.SAME_RACK);
        for (int i = 0; i < 64; i++) {
            assertThat(choice.best(List.of(new Run(A, 2), new Run(B, 2)))).contains(new Run(B, 2));
        }
    }

    @Test
    void best_nothingMeasured_isTheNearerPeer() {
        SourceChoice choice = choice(Locality.Closeness.ELSEWHERE, Locality.Closeness.SAME_RACK);
        assertThat(choice.best(List.of(new Run(A, 2), new Run(B, 2)))).contains(new Run(B, 2));
        // One that has just left comes last.
        assertThat(choice.best(List.of(new Run(C, 2), new Run(B, 2)))).contains(new Run(B, 2));
    }

    @Test
    void best_equalsInEverything_shareTheWork() {
        SourceChoice choice = choice(Locality.Closeness.SAME_RACK, Locality.Closeness.SAME_RACK);
        Set<UUID> chosen = new HashSet<>();
        for (int i = 0; i < 64; i++) {
            chosen.add(choice.best(List.of(new Run(A, 2), new Run(B, 2)))
                    .orElseThrow()
                    .nodeId());
        }
        assertThat(chosen).containsExactlyInAnyOrder(A, B);
    }
}
