// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.place;

import static org.assertj.core.api.Assertions.assertThat;

import io.mooncake.ignite.place.TargetChoice.Candidate;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.UUID;
import org.junit.jupiter.api.Test;

/** Copies spread, and an empty newcomer does not get them all. */
class TargetChoiceTest {
    private static final int DRAWS = 20_000;
    private static final long GROWN = TargetChoice.FULL_AGE_MILLIS;

    private final Random random = new Random(7);

    private static Candidate node(int number, double free, long age, boolean otherHost) {
        return new Candidate(new UUID(0, number), free, age, otherHost);
    }

    private Map<UUID, Integer> draw(List<Candidate> candidates) {
        Map<UUID, Integer> counts = new HashMap<>();
        for (int i = 0; i < DRAWS; i++) {
            counts.merge(TargetChoice.choose(candidates, random).orElseThrow(), 1, Integer::sum);
        }
        return counts;
    }

    @Test
    void choose_none_isEmpty() {
        assertThat(TargetChoice.choose(List.of(), random)).isEmpty();
    }

    @Test
    void choose_one_isIt() {
        Candidate only = node(1, 0, 0, false);
        assertThat(TargetChoice.choose(List.of(only), random)).contains(only.node());
    }

    @Test
    void choose_otherHosts_goFirst() {
        List<Candidate> candidates = List.of(node(1, 1, GROWN, false), node(2, 0, GROWN, true));
        assertThat(draw(candidates)).containsOnlyKeys(new UUID(0, 2));
    }

    @Test
    void choose_moreRoom_getsMoreButNotAll() {
        List<Candidate> candidates = new ArrayList<>();
        for (int i = 0; i < 8; i++) {
            candidates.add(node(i, i == 0 ? 0.9 : 0.1, GROWN, true));
        }
        // Two of eight are drawn, and it wins whenever it is one of them.
        assertThat(draw(candidates).get(new UUID(0, 0)) / (double) DRAWS).isBetween(0.22, 0.28);
    }

    @Test
    void choose_emptyNewcomer_getsLessThanItsShare() {
        List<Candidate> candidates = new ArrayList<>();
        for (int i = 0; i < 8; i++) {
            candidates.add(i == 0 ? node(0, 1, 1_000, true) : node(i, 0.1, GROWN, true));
        }
        assertThat(draw(candidates).getOrDefault(new UUID(0, 0), 0) / (double) DRAWS)
                .isBetween(0.001, 0.02);
    }

    @Test
    void choose_allNew_stillChooses() {
        List<Candidate> candidates = List.of(node(1, 1, 0, true), node(2, 1, 0, true), node(3, 1, 0, true));
        assertThat(draw(candidates).values())
                .allSatisfy(count -> assertThat(count).isPositive());
    }
}
