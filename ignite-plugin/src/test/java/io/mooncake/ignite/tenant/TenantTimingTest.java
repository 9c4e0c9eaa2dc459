// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.tenant;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import io.mooncake.base.Deadline;
import io.mooncake.client.MooncakeService;
import io.mooncake.client.PromptExplanation;
import io.mooncake.ignite.Mooncake;
import io.mooncake.ignite.PoolBean;
import io.mooncake.ignite.conductor.Blocks;
import io.mooncake.memory.KvPool;
import io.mooncake.memory.PrefixLease;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Random;
import org.apache.ignite.client.IgniteClient;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * How well somebody tells a prompt that was asked before from one that was not, as the area under the ROC curve of what he sees: 1 is always,
 * 0.5 is a guess. In each turn one of two fresh prompts is stored by alice, and a spy asks for both, in random order: anna, who is of the same
 * tenant and has to see the difference, or else the measurement would show nothing, and bob, who is of another.
 *
 * <p>Under no difference the area of n turns has a standard deviation of 0.41 / sqrt(n). A measurement above the limit goes on until it has 16
 * times as many turns, where the limit is 8 deviations away.
 */
class TenantTimingTest {
    private static final String POOL = "spied";
    private static final double ACROSS = 0.55;
    private static final double WITHIN = 0.9;
    private static final int TURNS = Boolean.getBoolean("mooncake.long") ? 4_000 : 300;
    private static final int MOST_TURNS = 16 * TURNS;
    /** Steps of arithmetic that stand for the prefill of a token: some microseconds, which is far less than a model takes. */
    private static final int STEPS_PER_TOKEN = 4_000;
    /** Further tokens are computed in no time, so that the test ends soon. */
    private static final int MOST_COMPUTED = 64;

    private static final long SEED = Long.getLong("mooncake.seed", System.nanoTime());

    @TempDir
    static Path work;

    private final Random random = new Random(SEED);
    private long sink;

    /** What the spy saw of the stored prompts, and of the others. */
    private static final class Scores {
        private final List<Double> stored = new ArrayList<>();
        private final List<Double> fresh = new ArrayList<>();

        void add(boolean wasStored, double score) {
            (wasStored ? stored : fresh).add(score);
        }

        /** The chance that a stored prompt scores above another one, or below, whichever is the better guess. */
        double area() {
            double[] others =
                    fresh.stream().mapToDouble(Double::doubleValue).sorted().toArray();
            double wins = 0;
            for (double score : stored) {
                int below = first(others, score);
                int upTo = first(others, Math.nextUp(score));
                wins += below + (upTo - below) / 2.0;
            }
            double area = wins / stored.size() / others.length;
            return Math.max(area, 1 - area);
        }

        /** Index of the first of {@code sorted} that is not below {@code value}. */
        private static int first(double[] sorted, double value) {
            int at = Arrays.binarySearch(sorted, value);
            if (at < 0) {
                return -at - 1;
            }
            while (at > 0 && sorted[at - 1] == value) {
                at--;
            }
            return at;
        }
    }

    /** What one spy does with one prompt: names of what he measures, to the measures. */
    private interface Spy {
        Map<String, Double> look(int[] prompt);
    }

    @Test
    void area_ofKnownScores_isTheChance() {
        Scores scores = new Scores();
        for (double stored : new double[] {3, 4, 5}) {
            scores.add(true, stored);
        }
        for (double fresh : new double[] {1, 4, 4}) {
            scores.add(false, fresh);
        }
        // 1 + (1 + 1/2 + 1/2) + 3 of 9.
        assertThat(scores.area()).isCloseTo(6.0 / 9, within(1e-9));
    }

    @Test
    void prompts_ofAnotherTenant_areNotToldFromOthers() throws Exception {
        System.out.println("TenantTimingTest seed=" + SEED);
        PoolBean pool = new PoolBean()
                .setName(POOL)
                .setModel("weights")
                .setLayers(1)
                .setKvHeads(1)
                .setHeadSize(2)
                .setBlockTokens(8);
        try (TenantGrid nodes = new TenantGrid(work, pool);
                IgniteClient anna = nodes.thin("anna", 1);
                IgniteClient bob = nodes.thin("bob", 1)) {
            Mooncake node = Mooncake.of(nodes.second);
            KvPool alices = node.pool(POOL).forTenant(node.tenant("acme"));
            String holder = nodes.second.cluster().localNode().id().toString();
            for (int length : new int[] {8, 64, 1_024}) {
                Spy own = spy(alices, TenantGrid.service(anna, nodes.second), holder);
                assertWithin(length, alices, own);
                KvPool others = node.pool(POOL).forTenant(node.tenant("globex"));
                Spy stranger = spy(others, TenantGrid.service(bob, nodes.second), holder);
                assertAcross(length, alices, stranger);
            }
        }
        assertThat(sink).isNotEqualTo(1);
    }

    private void assertWithin(int length, KvPool alices, Spy spy) {
        Map<String, Scores> seen = new LinkedHashMap<>();
        for (int most = TURNS / 4; most <= MOST_TURNS; most *= 4) {
            turns(seen, length, alices, spy, most);
            if (area(seen, "call time") >= WITHIN && area(seen, "explain") >= WITHIN) {
                break;
            }
        }
        assertThat(area(seen, "explain")).as("explain, %d tokens", length).isEqualTo(1);
        assertThat(area(seen, "call time"))
                .as("time of a call, %d tokens", length)
                .isGreaterThanOrEqualTo(WITHIN);
    }

    private void assertAcross(int length, KvPool alices, Spy spy) {
        Map<String, Scores> seen = new LinkedHashMap<>();
        for (int most = TURNS; most <= MOST_TURNS; most *= 4) {
            turns(seen, length, alices, spy, most);
            if (seen.values().stream().allMatch(scores -> scores.area() <= ACROSS)) {
                break;
            }
        }
        assertThat(area(seen, "explain")).as("explain, %d tokens", length).isEqualTo(0.5);
        seen.forEach((what, scores) -> {
            System.out.printf("across, %d tokens, %s: %.3f of %d%n", length, what, scores.area(), scores.stored.size());
            assertThat(scores.area()).as("%s, %d tokens", what, length).isLessThanOrEqualTo(ACROSS);
        });
    }

    private static double area(Map<String, Scores> seen, String what) {
        return Objects.requireNonNull(seen.get(what)).area();
    }

    /** Until {@code spy} has seen {@code most} stored prompts and as many others. */
    private void turns(Map<String, Scores> seen, int length, KvPool alices, Spy spy, int most) {
        int done = seen.values().stream()
                .mapToInt(scores -> scores.stored.size())
                .findFirst()
                .orElse(0);
        for (int turn = done; turn < most; turn++) {
            int[] stored = random.ints(length + 1, 0, 1 << 20).toArray();
            int[] fresh = random.ints(length + 1, 0, 1 << 20).toArray();
            Blocks.store(alices, stored.clone());
            boolean storedFirst = random.nextBoolean();
            for (boolean isStored : new boolean[] {storedFirst, !storedFirst}) {
                spy.look(isStored ? stored : fresh)
                        .forEach((what, score) -> seen.computeIfAbsent(what, first -> new Scores())
                                .add(isStored, score));
            }
        }
    }

    private Spy spy(KvPool pool, MooncakeService service, String holder) {
        return prompt -> {
            Map<String, Double> seen = new LinkedHashMap<>();
            // The best of some tries: he asks often, and what disturbs a try is no signal.
            long best = Long.MAX_VALUE;
            for (int i = 0; i < 3; i++) {
                best = Math.min(best, call(pool, prompt));
            }
            seen.put("call time", (double) best);
            long start = System.nanoTime();
            PromptExplanation explained = PromptExplanation.of(service.explain(POOL, prompt));
            seen.put("explain time", (double) (System.nanoTime() - start));
            int held = explained.matches().values().stream()
                    .mapToInt(Integer::intValue)
                    .sum();
            seen.put(
                    "explain",
                    (double) held * 1_000
                            + explained.pieces().size() * 100
                            + explained.gaps().hashCode() % 100);
            start = System.nanoTime();
            String chosen = service.route(POOL, prompt);
            seen.put("route time", (double) (System.nanoTime() - start));
            seen.put("route", chosen.equals(holder) ? 1.0 : 0.0);
            return seen;
        };
    }

    /** Nanoseconds until the first token: looking up, then computing what was not found. Stores nothing. */
    private long call(KvPool pool, int[] prompt) {
        long start = System.nanoTime();
        int left;
        try (PrefixLease lease = pool.acquire(prompt, Deadline.ofMillis(60_000))) {
            left = prompt.length - lease.matchedTokens();
        }
        long state = prompt[0];
        for (int i = 0; i < Math.min(left, MOST_COMPUTED) * STEPS_PER_TOKEN; i++) {
            state = state * 6364136223846793005L + 1442695040888963407L;
        }
        sink += state;
        return System.nanoTime() - start;
    }
}
