// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.place;

import static org.assertj.core.api.Assertions.assertThat;

import io.mooncake.memory.BlockKey;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** What placement remembers of many blocks is bounded, and right. */
class MostUsedTest {
    private static final long TEN_MINUTES = TimeUnit.MINUTES.toNanos(10);

    private static BlockKey key(long number) {
        return new BlockKey(1, number, 3, 4);
    }

    @Test
    void sorted_manyBlocks_areTheFirstOfAllSorted() {
        long seed = Long.getLong("mooncake.seed", System.nanoTime());
        System.out.println("seed " + seed + " (-Dmooncake.seed=" + seed + ")");
        Random random = new Random(seed);
        for (int max : new int[] {1, 7, 100, 1_000}) {
            List<Held> all = new ArrayList<>();
            MostUsed most = new MostUsed(max);
            for (int i = 0; i < 500; i++) {
                Held block = new Held(key(i), key(i - 1), i, "default", random.nextInt(50));
                all.add(block);
                most.add(block);
            }
            all.sort(Held.MOST_USED);
            assertThat(most.sorted()).isEqualTo(all.subList(0, Math.min(max, all.size())));
        }
    }

    @Test
    void rests_copiedLately_untilTheTimeIsOverOrANodeIsLost() {
        Rests rests = new Rests(TEN_MINUTES);
        long start = Long.MAX_VALUE - 10;
        rests.copied(key(1), start);
        assertThat(rests.rests(key(1), start + TEN_MINUTES - 1)).isTrue();
        assertThat(rests.rests(key(1), start + TEN_MINUTES)).isFalse();
        assertThat(rests.rests(key(2), start)).isFalse();
        rests.copied(key(1), start + TEN_MINUTES);
        assertThat(rests.rests(key(1), start + TEN_MINUTES)).isTrue();
        rests.clear();
        assertThat(rests.rests(key(1), start + TEN_MINUTES)).isFalse();
    }

    @Test
    void rests_moreThanTheBound_forgetTheOldest() {
        Rests rests = new Rests(TEN_MINUTES);
        for (long i = 0; i <= Rests.MAX; i++) {
            rests.copied(key(i), 0);
        }
        assertThat(rests.rests(key(0), 1)).isFalse();
        assertThat(rests.rests(key(1), 1)).isTrue();
        assertThat(rests.rests(key(Rests.MAX), 1)).isTrue();
    }
}
