// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory.ssd;

import static org.assertj.core.api.Assertions.assertThat;

import io.mooncake.memory.BlockKey;
import io.mooncake.memory.Seeds;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

/** T24 in the index of the SSD store: keys that hash alike, and equal in all words but one. */
final class SlotTableTest {
    private static final int SLOTS = 64;

    private static SlotTable open() {
        SlotTable table = new SlotTable(SLOTS);
        table.openSlots(0, SLOTS);
        return table;
    }

    private static int store(SlotTable table, BlockKey key) {
        int slot = table.begin(key);
        if (slot != SlotTable.NONE) {
            assertThat(table.stored(slot, 1, 0)).isTrue();
        }
        return slot;
    }

    @Test
    void pin_keysThatDifferInOneWordOnly_findNoForeignRecord() {
        SlotTable table = open();
        BlockKey plain = new BlockKey(7, 8, 9, 10);
        List<BlockKey> others = List.of(
                new BlockKey(6, 8, 9, 10),
                new BlockKey(7, 7, 9, 10),
                new BlockKey(7, 8, 8, 10),
                new BlockKey(7, 8, 9, 11));
        int slot = store(table, plain);
        for (BlockKey other : others) {
            assertThat(table.known(other)).isFalse();
            assertThat(table.pin(other)).isEqualTo(SlotTable.NONE);
            assertThat(table.remove(other)).isEqualTo(SlotTable.NONE);
            assertThat(store(table, other))
                    .as("its own slot")
                    .isNotEqualTo(slot)
                    .isNotNegative();
        }
        assertThat(table.pin(plain)).isEqualTo(slot);
        assertThat(table.remove(plain)).isEqualTo(slot);
        others.forEach(other -> assertThat(table.readable(other)).isTrue());
    }

    /** All in one or two chains of the hash, which wrap around its end; what is removed leaves holes that others must be found over. */
    @Test
    void anyCall_hashOfOneBit_givesWhatAMapGives() {
        SplittableRandom random = Seeds.random("slot table with a hash of one bit");
        SlotTable table = open();
        Map<BlockKey, Integer> truth = new HashMap<>();
        List<BlockKey> keys = new ArrayList<>();
        for (int i = 0; i < 2 * SLOTS; i++) {
            // The second has its home at the very end of the table.
            long word0 = i % 2 == 0 ? 0 : lastHome();
            keys.add(new BlockKey(word0, i % 3, i % 5, i));
        }
        int steps = Seeds.count(30_000, 3_000_000);
        for (int i = 0; i < steps; i++) {
            BlockKey key = keys.get(random.nextInt(keys.size()));
            if (random.nextBoolean()) {
                int slot = store(table, key);
                assertThat(slot == SlotTable.NONE).isEqualTo(truth.containsKey(key) || truth.size() == SLOTS);
                if (slot != SlotTable.NONE) {
                    assertThat(truth.values()).doesNotContain(slot);
                    truth.put(key, slot);
                }
            } else {
                Integer expected = truth.remove(key);
                int slot = table.remove(key);
                assertThat(slot).isEqualTo(expected == null ? SlotTable.NONE : expected);
                if (expected != null) {
                    table.removalDurable(slot);
                }
            }
            BlockKey asked = keys.get(random.nextInt(keys.size()));
            assertThat(table.standing(asked)).as("step %d", i).isEqualTo(truth.getOrDefault(asked, SlotTable.NONE));
            assertThat(table.live()).isEqualTo(truth.size());
        }
        truth.forEach((key, slot) -> assertThat(table.key(slot)).isEqualTo(key));
    }

    /** A word whose product with the table's multiplier ends, shifted, in ones: the last place of a table of any size. */
    private static long lastHome() {
        for (long word = 1; ; word++) {
            if ((int) ((word * 0x9E37_79B9_7F4A_7C15L) >>> 32 & 0xFF) == 0xFF) {
                return word;
            }
        }
    }
}
