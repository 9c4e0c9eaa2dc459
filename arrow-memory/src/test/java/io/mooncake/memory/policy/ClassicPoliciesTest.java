// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory.policy;

import static org.assertj.core.api.Assertions.assertThat;

import io.mooncake.memory.Seeds;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.function.Function;
import org.junit.jupiter.api.Test;

/**
 * The known policies against plain versions of themselves on blocks without chains, and, where order by one number is all of it, on chains.
 * Each plain version says after every use what is cached.
 */
final class ClassicPoliciesTest {
    private static final int STEPS = 500;

    /** A cache of names; a use stores what is not there. */
    interface Plain {
        /** Among equals, which of them goes is told by what {@code others} still have. */
        void use(int block, Set<Integer> others);

        Set<Integer> cached();
    }

    private static void compare(
            String name, Function<Integer, EvictionPolicy> maker, Function<Integer, Plain> plainMaker) {
        SplittableRandom random = Seeds.random(name);
        for (int run = 0; run < Seeds.count(10, 1_000); run++) {
            int slots = 2 + random.nextInt(12);
            int names = slots + 1 + random.nextInt(3 * slots);
            ModelPool pool = new ModelPool(maker.apply(slots), slots);
            Plain plain = plainMaker.apply(slots);
            for (int i = 1; i <= STEPS; i++) {
                int block = Math.min(random.nextInt(names), random.nextInt(names));
                long[] chain = {block};
                List<Integer> held = pool.acquire(chain, i);
                ((LeafPolicy) pool.policy)
                        .hear(); // at once: uses heard together come in the order of the first of each
                pool.extend(chain, held, i);
                pool.release(held);
                Set<Integer> cached = new LinkedHashSet<>();
                pool.slots.keySet().forEach(one -> cached.add(one.intValue()));
                plain.use(block, cached);
                assertThat(cached)
                        .as("run %d, step %d, %d slots", run, i, slots)
                        .isEqualTo(plain.cached());
            }
        }
    }

    /** Whatever has the least of a number goes. */
    private abstract static class ByNumber implements Plain {
        final int slots;
        final Map<Integer, Double> cached = new HashMap<>();

        ByNumber(int slots) {
            this.slots = slots;
        }

        @Override
        public Set<Integer> cached() {
            return cached.keySet();
        }

        int evictLeast(Set<Integer> others) {
            int least = cached.entrySet().stream()
                    .min(Map.Entry.<Integer, Double>comparingByValue()
                            .thenComparing(entry -> others.contains(entry.getKey())))
                    .orElseThrow()
                    .getKey();
            evicting(cached.remove(least));
            return least;
        }

        void evicting(double value) {}
    }

    @Test
    void lru_randomUses_cachesAsThePlainOne() {
        compare("lru", Policies::lru, slots -> new ByNumber(slots) {
            private double time;

            @Override
            public void use(int block, Set<Integer> others) {
                if (!cached.containsKey(block) && cached.size() == slots) {
                    evictLeast(others);
                }
                cached.put(block, ++time);
            }
        });
    }

    @Test
    void lfu_randomUses_cachesAsThePlainOne() {
        compare("lfu", Policies::lfu, slots -> new ByNumber(slots) {
            private int time;

            @Override
            public void use(int block, Set<Integer> others) {
                if (!cached.containsKey(block) && cached.size() == slots) {
                    evictLeast(others);
                }
                double uses = Math.floor(cached.getOrDefault(block, 0.0)) + 1;
                cached.put(block, uses + ++time * 1e-6);
            }
        });
    }

    @Test
    void gdsf_randomUses_cachesAsThePlainOne() {
        compare("gdsf", slots -> Policies.gdsf(slots, 0.75, 0), slots -> new ByNumber(slots) {
            private final Map<Integer, Integer> counts = new HashMap<>();
            private double floor;

            @Override
            public void use(int block, Set<Integer> others) {
                if (!cached.containsKey(block)) {
                    if (cached.size() == slots) {
                        counts.remove(evictLeast(others));
                    }
                    counts.put(block, 0);
                }
                cached.put(block, floor + Math.pow(counts.merge(block, 1, Integer::sum), 0.75));
            }

            @Override
            void evicting(double value) {
                floor = Math.max(floor, value);
            }
        });
    }

    @Test
    void s3Fifo_randomUses_cachesAsThePlainOne() {
        compare("s3-fifo", slots -> Policies.s3Fifo(slots, 0.25, 2), PlainS3Fifo::new);
    }

    private static final class PlainS3Fifo implements Plain {
        private final int slots;
        private final int target;
        private final List<Integer> small = new ArrayList<>();
        private final List<Integer> main = new ArrayList<>();
        private final List<Integer> ghosts = new ArrayList<>();
        private final Map<Integer, Integer> uses = new HashMap<>();

        PlainS3Fifo(int slots) {
            this.slots = slots;
            target = Math.max(1, slots / 4);
        }

        @Override
        public Set<Integer> cached() {
            Set<Integer> all = new LinkedHashSet<>(small);
            all.addAll(main);
            return all;
        }

        @Override
        public void use(int block, Set<Integer> others) {
            if (cached().contains(block)) {
                uses.merge(block, 1, (a, b) -> Math.min(a + b, 3));
                return;
            }
            if (small.size() + main.size() == slots) {
                evict();
            }
            uses.put(block, 0);
            (ghosts.remove((Integer) block) ? main : small).add(block);
        }

        private void evict() {
            while (true) {
                boolean fromSmall = !small.isEmpty() && (small.size() >= target || main.isEmpty());
                int oldest = (fromSmall ? small : main).remove(0);
                int count = uses.getOrDefault(oldest, 0);
                if (fromSmall && count >= 2) {
                    uses.put(oldest, 0);
                    main.add(oldest);
                } else if (!fromSmall && count > 0) {
                    uses.put(oldest, count - 1);
                    main.add(oldest);
                } else {
                    if (fromSmall) {
                        ghosts.add(oldest);
                        if (ghosts.size() > slots - target) {
                            ghosts.remove(0);
                        }
                    }
                    return;
                }
            }
        }
    }

    @Test
    void arc_randomUses_cachesAsThePlainOne() {
        compare("arc", Policies::arc, PlainArc::new);
    }

    /** As the paper's, but that a slot is freed before the split is moved, since a pool frees slots before it knows for whom. */
    private static final class PlainArc implements Plain {
        private final int slots;
        private final List<Integer> once = new ArrayList<>();
        private final List<Integer> again = new ArrayList<>();
        private final List<Integer> onceGone = new ArrayList<>();
        private final List<Integer> againGone = new ArrayList<>();
        private double target;

        PlainArc(int slots) {
            this.slots = slots;
        }

        @Override
        public Set<Integer> cached() {
            Set<Integer> all = new LinkedHashSet<>(once);
            all.addAll(again);
            return all;
        }

        @Override
        public void use(int block, Set<Integer> others) {
            Integer name = block;
            if (once.remove(name) || again.remove(name)) {
                again.add(name);
                return;
            }
            if (once.size() + again.size() == slots) {
                boolean fromOnce = !once.isEmpty() && (once.size() > target || again.isEmpty());
                (fromOnce ? onceGone : againGone).add((fromOnce ? once : again).remove(0));
            }
            double onceNames = Math.max(onceGone.size(), 1);
            double againNames = Math.max(againGone.size(), 1);
            if (onceGone.remove(name)) {
                target = Math.min(slots, target + Math.max(1, againNames / onceNames));
                again.add(name);
            } else if (againGone.remove(name)) {
                target = Math.max(0, target - Math.max(1, onceNames / againNames));
                again.add(name);
            } else {
                once.add(name);
            }
            while (onceGone.size() > slots - once.size()) {
                onceGone.remove(0);
            }
            while (againGone.size() > Math.max(0, 2 * slots - once.size() - again.size() - onceGone.size())) {
                againGone.remove(0);
            }
        }
    }

    @Test
    void tinyLfu_randomUses_cachesAsThePlainOne() {
        for (double share : new double[] {0.01, 0.3, 0.6}) {
            compare(
                    "w-tinylfu " + share,
                    slots -> Policies.tinyLfu(slots, share),
                    slots -> new PlainTinyLfu(slots, share));
        }
    }

    /**
     * As the paper's, but that the contest for a place is held when the next block needs it, since a pool frees slots before it knows for whom.
     * The sketch is the policy's: {@link StructuresTest} holds it against exact counts.
     */
    private static final class PlainTinyLfu implements Plain {
        private final int slots;
        private final int windowTarget;
        private final FrequencySketch sketch;
        private final List<Integer> window = new ArrayList<>();
        private final List<Integer> probation = new ArrayList<>();
        private final List<Integer> main = new ArrayList<>();
        private boolean filled;

        PlainTinyLfu(int slots, double windowShare) {
            this.slots = slots;
            windowTarget = Math.max(1, (int) (slots * windowShare));
            sketch = new FrequencySketch(slots);
        }

        @Override
        public Set<Integer> cached() {
            Set<Integer> all = new LinkedHashSet<>(window);
            all.addAll(probation);
            all.addAll(main);
            return all;
        }

        @Override
        public void use(int block, Set<Integer> others) {
            Integer name = block;
            if (window.remove(name)) {
                window.add(name);
            } else if (probation.remove(name) || main.remove(name)) {
                main.add(name);
                if (main.size() > (int) ((slots - windowTarget) * 0.8)) {
                    probation.add(main.remove(0));
                }
            } else {
                if (cached().size() == slots) {
                    evict();
                }
                filled |= cached().size() + 1 == slots;
                (filled || window.size() < windowTarget ? window : probation).add(name);
            }
            sketch.increment(block);
        }

        private void evict() {
            List<Integer> from = probation.isEmpty() ? main : probation;
            if (from.isEmpty()) {
                window.remove(0);
            } else if (window.size() < windowTarget) {
                from.remove(0);
            } else if (sketch.frequency(window.get(0)) > sketch.frequency(from.get(0))) {
                from.remove(0);
                probation.add(window.remove(0));
            } else {
                window.remove(0);
            }
        }
    }

    @Test
    void lru_randomChains_cachesAsThePlainOne() {
        SplittableRandom random = Seeds.random("lru chains");
        for (int run = 0; run < Seeds.count(10, 1_000); run++) {
            int slots = 6 + random.nextInt(12);
            ModelPool pool = new ModelPool(Policies.lru(slots), slots);
            Map<Long, Integer> times = new HashMap<>();
            for (int i = 1; i <= 500; i++) {
                long[] chain = {1 + random.nextInt(2), 10 + random.nextInt(4), 0, 0};
                chain[1] = chain[0] * 100 + chain[1];
                chain[2] = chain[1] * 100 + random.nextInt(3);
                chain[3] = chain[2] * 100 + random.nextInt(3);
                List<Integer> held = pool.acquire(chain, i);
                pool.extend(chain, held, i);
                pool.release(held);
                for (int at = 0; at < chain.length; at++) {
                    if (!times.containsKey(chain[at]) && times.size() == slots) {
                        long[] kept = java.util.Arrays.copyOf(chain, at);
                        times.remove(oldestLeaf(times, kept));
                    }
                    times.put(chain[at], i);
                }
                Set<Integer> stays = new LinkedHashSet<>(times.values());
                Set<Integer> poolStays = new LinkedHashSet<>();
                pool.slots.keySet().forEach(block -> poolStays.add(times.getOrDefault(block, -1)));
                // Leaves of one age may go in any order, so ages are compared, not names.
                assertThat(poolStays).as("run %d, step %d", run, i).isEqualTo(stays);
            }
        }
    }

    private static long oldestLeaf(Map<Long, Integer> times, long[] kept) {
        return times.keySet().stream()
                .filter(block -> times.keySet().stream().noneMatch(other -> other / 100 == block))
                .filter(block -> java.util.Arrays.stream(kept).noneMatch(one -> one == block))
                .min(java.util.Comparator.<Long>comparingInt(times::get).thenComparing(block -> -block))
                .orElseThrow();
    }
}
