// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory.policy;

import static org.assertj.core.api.Assertions.assertThat;

import io.mooncake.memory.Seeds;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

/** Heap, map and queue of the policies against those of the platform. */
final class StructuresTest {
    private static final int STEPS = 20_000;

    @Test
    void slotHeap_randomChanges_givesTheLeastKey() {
        SplittableRandom random = Seeds.random("slotHeap");
        SlotHeap heap = new SlotHeap(40);
        Map<Integer, Long> plain = new HashMap<>();
        for (int i = 0; i < STEPS; i++) {
            int number = random.nextInt(40);
            if (random.nextInt(3) == 0) {
                heap.remove(number);
                plain.remove(number);
            } else {
                long key = random.nextLong(-20, 20);
                heap.put(number, key);
                plain.put(number, key);
            }
            assertThat(heap.size()).isEqualTo(plain.size());
            assertThat(heap.contains(number)).isEqualTo(plain.containsKey(number));
            if (plain.isEmpty()) {
                assertThat(heap.top()).isEqualTo(SlotHeap.NONE);
            } else {
                long least =
                        plain.values().stream().mapToLong(Long::longValue).min().orElseThrow();
                assertThat(heap.topKey()).isEqualTo(least);
                assertThat(plain.get(heap.top())).isEqualTo(least);
            }
        }
    }

    @Test
    void slotHeapKey_doubles_areOrderedAsNumbers() {
        double[] ordered = {Double.NEGATIVE_INFINITY, -2, -1e-300, 0, 1e-300, 0.5, 3, Double.POSITIVE_INFINITY};
        for (int i = 1; i < ordered.length; i++) {
            assertThat(SlotHeap.key(ordered[i - 1])).isLessThan(SlotHeap.key(ordered[i]));
        }
        assertThat(SlotHeap.key(-0.0)).isEqualTo(SlotHeap.key(0.0));
    }

    @Test
    void blockMap_randomChangesOfClashingNames_findsWhatIsThere() {
        SplittableRandom random = Seeds.random("blockMap");
        BlockMap map = new BlockMap(32);
        Map<Long, Integer> plain = new HashMap<>();
        for (int i = 0; i < STEPS; i++) {
            long name = random.nextInt(48) * (random.nextBoolean() ? 1L : 1L << 32);
            if (random.nextBoolean() && plain.size() < 32) {
                map.put(name, i);
                plain.put(name, i);
            } else {
                map.remove(name);
                plain.remove(name);
            }
            long other = random.nextInt(48);
            assertThat(map.find(other)).isEqualTo(plain.getOrDefault(other, BlockMap.NONE));
            assertThat(map.find(name)).isEqualTo(plain.getOrDefault(name, BlockMap.NONE));
        }
    }

    @Test
    void ghostQueue_randomChanges_dropsTheOldest() {
        SplittableRandom random = Seeds.random("ghostQueue");
        GhostQueue queue = new GhostQueue(8);
        LinkedHashMap<Long, Integer> plain = new LinkedHashMap<>();
        for (int i = 0; i < STEPS; i++) {
            long name = random.nextInt(20);
            switch (random.nextInt(4)) {
                case 0 -> assertThat(queue.remove(name)).isEqualTo(plain.remove(name) != null);
                case 1 -> {
                    int most = random.nextInt(9);
                    queue.trim(most);
                    dropOldest(plain, most);
                }
                default -> {
                    plain.remove(name);
                    dropOldest(plain, 7);
                    plain.put(name, i);
                    queue.add(name, i);
                }
            }
            assertThat(queue.size()).isEqualTo(plain.size());
            for (long one = 0; one < 20; one++) {
                assertThat(queue.contains(one)).isEqualTo(plain.containsKey(one));
                assertThat(queue.count(one)).isEqualTo(plain.getOrDefault(one, 0));
            }
        }
    }

    private static void dropOldest(LinkedHashMap<Long, Integer> plain, int most) {
        List<Long> names = new ArrayList<>(plain.keySet());
        for (int i = 0; i < names.size() - most; i++) {
            plain.remove(names.get(i));
        }
    }

    /** With counters for many more names than there are: nearly exact until it halves, and never too low. */
    @Test
    void frequencySketch_randomUses_countsAsThePlainOne() {
        SplittableRandom random = Seeds.random("frequencySketch");
        int exact = 0;
        int asked = 0;
        for (int run = 0; run < 20; run++) {
            FrequencySketch sketch = new FrequencySketch(512);
            Map<Long, Integer> plain = new HashMap<>();
            for (int i = 0; i < 1_000; i++) {
                long name = Math.min(random.nextInt(200), random.nextInt(200));
                sketch.increment(name);
                plain.merge(name, 1, (a, b) -> Math.min(a + b, 15));
            }
            for (long name = 0; name < 200; name++) {
                int count = plain.getOrDefault(name, 0);
                assertThat(sketch.frequency(name)).isGreaterThanOrEqualTo(count);
                exact += sketch.frequency(name) == count ? 1 : 0;
                asked++;
            }
        }
        assertThat(exact).isGreaterThan(asked * 9 / 10);
    }

    @Test
    void frequencySketch_manyUses_tellsOftenFromSeldom() {
        FrequencySketch sketch = new FrequencySketch(256);
        for (int i = 0; i < 12; i++) {
            sketch.increment(1);
        }
        sketch.increment(2);
        assertThat(sketch.frequency(1)).isGreaterThan(sketch.frequency(2));
        for (long other = 3; other < 3 + 256 * 20; other++) {
            sketch.increment(other);
        }
        assertThat(sketch.frequency(1)).as("old uses are forgotten").isLessThan(12);
    }
}
