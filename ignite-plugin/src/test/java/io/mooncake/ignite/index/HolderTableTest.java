// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.index;

import static org.assertj.core.api.Assertions.assertThat;

import io.mooncake.memory.BlockKey;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

class HolderTableTest {
    private static BlockKey key(long i) {
        return new BlockKey(i * 0x9E3779B97F4A7C15L, i, ~i, 7);
    }

    private static List<BlockKey> keys(int count) {
        List<BlockKey> keys = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            keys.add(key(i));
        }
        return keys;
    }

    private static long[] words(BlockKey key) {
        return PoolIndex.words(List.of(key), 0);
    }

    private static boolean store(HolderTable table, int slot, BlockKey key) {
        return table.store(slot, Marks.MEMORY, words(key));
    }

    private static boolean remove(HolderTable table, int slot, BlockKey key) {
        return table.remove(slot, words(key), Graves.EVICTED);
    }

    private static boolean holds(HolderTable table, int slot, BlockKey key) {
        return table.holds(slot, words(key));
    }

    /** Blocks in a row by slot. */
    private static int[] counts(HolderTable table, List<BlockKey> keys, int from) {
        HolderMatch match = new HolderMatch();
        long[] words = PoolIndex.words(keys, 0);
        // In two parts, as a prompt whose keys are made in batches.
        int half = from + (keys.size() - from) / 2;
        if (table.walk(words, from, half, match)) {
            table.walk(words, half, keys.size(), match);
        }
        int[] counts = new int[200];
        for (int i = 0; i < match.size(); i++) {
            assertThat(counts[match.slot(i)]).isZero();
            counts[match.slot(i)] = table.lives(match, i) ? match.blocks(i) : 0;
        }
        return counts;
    }

    private static int holderCount(HolderTable table, BlockKey key) {
        return (int) Arrays.stream(counts(table, List.of(key), 0))
                .filter(count -> count > 0)
                .count();
    }

    @Test
    void match_severalHolders_countsUpToTheFirstGap() {
        HolderTable table = new HolderTable(100_000);
        int first = table.open();
        int second = table.open();
        int hidden = table.open();
        for (int i = 0; i < 10; i++) {
            store(table, first, key(i));
            store(table, hidden, key(i));
            if (i != 4) {
                store(table, second, key(i));
            }
        }
        table.show(first);
        table.show(second);
        assertThat(counts(table, keys(10), 0)).startsWith(10, 4, 0);
        assertThat(counts(table, keys(10), 5)).startsWith(5, 5, 0);
        assertThat(holderCount(table, key(4))).isEqualTo(1);
        table.drop(first, true);
        assertThat(counts(table, keys(10), 0)).startsWith(0, 4, 0);
        assertThat(table.pairs()).isEqualTo(19);
    }

    @Test
    void shownPairs_ofACopyThatIsBeingFilled_areNone() {
        HolderTable table = new HolderTable(100);
        int slot = table.open();
        store(table, slot, key(1));
        store(table, slot, key(2));
        assertThat(table.shownPairs()).isZero();
        table.show(slot);
        assertThat(table.shownPairs()).isEqualTo(2);
        store(table, slot, key(3));
        remove(table, slot, key(1));
        assertThat(table.shownPairs()).isEqualTo(2);
        int other = table.open();
        store(table, other, key(2));
        table.drop(other, false);
        table.drop(slot, false);
        assertThat(table.shownPairs()).isZero();
        assertThat(table.pairs()).isZero();
    }

    @Test
    void store_moreThan64Holders_keepsThemApart() {
        HolderTable table = new HolderTable(100_000);
        for (int slot = 0; slot < 150; slot++) {
            assertThat(table.open()).isEqualTo(slot);
            for (int i = 0; i <= slot; i++) {
                store(table, slot, key(i));
            }
            table.show(slot);
        }
        int[] counts = counts(table, keys(150), 0);
        for (int slot = 0; slot < 150; slot++) {
            assertThat(counts[slot]).as("slot " + slot).isEqualTo(slot + 1);
        }
        assertThat(holderCount(table, key(0))).isEqualTo(150);
    }

    /** T24: a hash of eight bits, and of none, changes nothing but the speed: keys are compared in full. */
    @Test
    void store_collidingHashes_neverMixKeys() {
        for (int mask : new int[] {0xFF, 0}) {
            HolderTable table = new HolderTable(1_000, mask);
            int slot = table.open();
            table.show(slot);
            for (int i = 0; i < 500; i++) {
                store(table, slot, key(2L * i));
            }
            for (int i = 0; i < 500; i++) {
                assertThat(holds(table, slot, key(2L * i))).isTrue();
                assertThat(holds(table, slot, key(2L * i + 1))).isFalse();
                assertThat(holderCount(table, key(2L * i + 1))).isZero();
            }
            for (int i = 0; i < 500; i += 3) {
                assertThat(remove(table, slot, key(2L * i))).isTrue();
            }
            for (int i = 0; i < 500; i++) {
                assertThat(holds(table, slot, key(2L * i))).isEqualTo(i % 3 != 0);
            }
        }
    }

    @Test
    void randomChanges_equalASimpleModel() {
        long first = Long.getLong("mooncake.seed", System.nanoTime());
        int runs = System.getProperty("mooncake.seed") != null ? 1 : Boolean.getBoolean("mooncake.long") ? 2_000 : 60;
        for (int run = 0; run < runs; run++) {
            try {
                checkAgainstModel(new Random(first + run));
            } catch (AssertionError | RuntimeException e) {
                throw new AssertionError("replay with -Dmooncake.seed=" + (first + run), e);
            }
        }
        System.out.println("holder table: " + runs + " runs from seed " + first);
    }

    private static void checkAgainstModel(Random random) {
        HolderTable table = new HolderTable(1_000, random.nextBoolean() ? -1 : random.nextInt(64));
        Map<Integer, Map<BlockKey, Integer>> model = new HashMap<>();
        int keys = 1 + random.nextInt(300);
        for (int step = 0; step < 2_000; step++) {
            int choice = random.nextInt(100);
            if (model.isEmpty() || choice == 0 && model.size() < 130) {
                int slot = table.open();
                assertThat(model).doesNotContainKey(slot);
                model.put(slot, new HashMap<>());
                table.show(slot);
                continue;
            }
            List<Integer> slots = new ArrayList<>(model.keySet());
            int slot = slots.get(random.nextInt(slots.size()));
            BlockKey key = key(random.nextInt(keys));
            if (choice == 1) {
                table.drop(slot, true);
                model.remove(slot);
            } else if (choice < 60) {
                int place = random.nextInt(4);
                assertThat(table.store(slot, place, words(key)))
                        .isEqualTo(model.get(slot).put(key, place) == null);
            } else {
                assertThat(remove(table, slot, key)).isEqualTo(model.get(slot).remove(key) != null);
            }
        }
        assertThat(table.pairs())
                .isEqualTo(model.values().stream().mapToLong(Map::size).sum());
        for (int i = 0; i < keys; i++) {
            BlockKey key = key(i);
            assertThat(holderCount(table, key)).isEqualTo((int) model.values().stream()
                    .filter(held -> held.getOrDefault(key, Marks.FILLING) != Marks.FILLING)
                    .count());
            HolderMatch match = new HolderMatch();
            table.walk(words(key), 0, 1, match);
            for (int j = 0; j < match.size(); j++) {
                if (table.lives(match, j)) {
                    assertThat(match.cold(j)).isEqualTo(model.get(match.slot(j)).get(key) == Marks.SSD ? 1 : 0);
                }
            }
        }
    }

    private static void awaitSwept(HolderTable table) {
        try {
            table.awaitSwept();
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    @Test
    void match_whileOthersWrite_neverCountsWhatWasNeverThere() throws InterruptedException {
        HolderTable table = new HolderTable(100_000);
        int steady = table.open();
        List<BlockKey> wanted = keys(50);
        wanted.forEach(key -> store(table, steady, key));
        table.show(steady);
        AtomicBoolean stop = new AtomicBoolean();
        AtomicLong lives = new AtomicLong();
        Thread writer = new Thread(() -> {
            Random random = new Random(1);
            while (!stop.get()) {
                int slot = table.open();
                for (int i = 0; i < 500; i++) {
                    store(table, slot, key(1_000 + random.nextInt(5_000)));
                }
                table.show(slot);
                table.drop(slot, true);
                if (lives.incrementAndGet() % 1_000 == 0) {
                    // Else a sweeper that comes late leaves no slots to open.
                    awaitSwept(table);
                }
            }
        });
        writer.start();
        try {
            long patience = System.nanoTime() + 60_000_000_000L;
            for (int i = 0; i < 20_000 || lives.get() == 0 && System.nanoTime() < patience; i++) {
                int[] counts = counts(table, wanted, 0);
                assertThat(counts[steady]).isEqualTo(50);
                assertThat(Arrays.stream(counts).sum()).isEqualTo(50);
            }
            assertThat(writer.isAlive()).isTrue();
            assertThat(lives.get()).isPositive();
        } finally {
            stop.set(true);
            writer.join();
        }
    }

    /** Entries get other keys all the time: a look-up beside that finds a key's own holders or none, never another key's. */
    @Test
    void match_entriesGetOtherKeysMeanwhile_neverMixesHolders() throws InterruptedException {
        HolderTable table = new HolderTable(64);
        for (int slot = 0; slot < 8; slot++) {
            table.open();
            table.show(slot);
        }
        AtomicBoolean stop = new AtomicBoolean();
        AtomicLong found = new AtomicLong();
        // Key i is held by slot i % 8 alone; some by all eight, whose set is on the heap.
        Thread writer = new Thread(() -> {
            Random random = new Random(1);
            while (!stop.get()) {
                int i = random.nextInt(200);
                if (i % 9 == 0) {
                    for (int slot = 0; slot < 8; slot++) {
                        store(table, slot, key(i));
                    }
                    for (int slot = 0; slot < 8; slot++) {
                        remove(table, slot, key(i));
                    }
                } else {
                    store(table, i % 8, key(i));
                    remove(table, (i + 100) % 200 % 8, key((i + 100) % 200));
                }
            }
        });
        writer.start();
        try {
            Random random = new Random(2);
            for (int i = 0; i < 300_000 || found.get() < 1_000; i++) {
                int wanted = random.nextInt(200);
                int[] counts = counts(table, List.of(key(wanted)), 0);
                for (int slot = 0; slot < 8; slot++) {
                    if (counts[slot] > 0) {
                        found.incrementAndGet();
                        assertThat(wanted % 9 == 0 || wanted % 8 == slot)
                                .as("key %d in %d", wanted, slot)
                                .isTrue();
                    }
                }
            }
        } finally {
            stop.set(true);
            writer.join();
        }
    }

    /** The next entry of a chain is looked at first: another key that comes into it does not lend it its holders. */
    @Test
    void match_nextEntryGetsAnotherKeyMeanwhile_neverMixesHolders() throws InterruptedException {
        HolderTable table = new HolderTable(64);
        int right = table.open();
        int wrong = table.open();
        table.show(right);
        table.show(wrong);
        store(table, right, key(0));
        store(table, wrong, key(0));
        AtomicBoolean stop = new AtomicBoolean();
        Thread writer = new Thread(() -> {
            while (!stop.get()) {
                store(table, right, key(1));
                remove(table, right, key(1));
                store(table, wrong, key(2));
                remove(table, wrong, key(2));
            }
        });
        writer.start();
        try {
            long[] words = PoolIndex.words(keys(2), 0);
            HolderMatch match = new HolderMatch();
            int loops = Boolean.getBoolean("mooncake.long") ? 200_000_000 : 2_000_000;
            for (int i = 0; i < loops; i++) {
                match.clear();
                table.walk(words, 0, 2, match);
                for (int j = 0; j < match.size(); j++) {
                    if (match.slot(j) == wrong && match.blocks(j) > 1) {
                        throw new AssertionError("look-up " + i + " found the holder of another key");
                    }
                }
            }
        } finally {
            stop.set(true);
            writer.join();
        }
    }

    @Test
    void sweep_failsOnce_isTriedAgain() throws InterruptedException {
        AtomicLong calls = new AtomicLong();
        Sweeper sweeper = new Sweeper(() -> {
            if (calls.incrementAndGet() == 1) {
                throw new IllegalStateException("made to fail once");
            }
            return false;
        });
        sweeper.wake();
        sweeper.awaitIdle();
        sweeper.wake();
        sweeper.awaitIdle();
        assertThat(calls.get()).isEqualTo(2);
    }

    @Test
    void drop_manyEntries_isSeenAtOnceAndGivesItsSlotBackLater() throws InterruptedException {
        HolderTable table = new HolderTable(50_000);
        int first = table.open();
        int second = table.open();
        table.show(first);
        table.show(second);
        for (int i = 0; i < 50_000; i++) {
            store(table, first, key(i));
            if (i % 2 == 0) {
                store(table, second, key(i));
            }
        }
        table.drop(first, true);
        assertThat(counts(table, keys(3), 0)).startsWith(0, 1);
        assertThat(table.pairs()).isEqualTo(25_000);
        table.awaitSwept();
        assertThat(table.open()).isEqualTo(first);
        for (int i = 1; i < 50_000; i += 2) {
            assertThat(store(table, second, key(100_000L + i))).isTrue();
        }
        assertThat(table.refused()).isZero();
    }

    @Test
    void store_noRoom_isCountedAndLosesNothing() {
        HolderTable table = new HolderTable(100);
        int slot = table.open();
        table.show(slot);
        for (int i = 0; i < 130; i++) {
            assertThat(store(table, slot, key(i))).isEqualTo(i < 100);
        }
        assertThat(table.refused()).isEqualTo(30);
        assertThat(table.pairs()).isEqualTo(100);
        assertThat(counts(table, keys(130), 0)).startsWith(100);
        assertThat(remove(table, slot, key(50))).isTrue();
        assertThat(store(table, slot, key(129))).isTrue();
    }

    @Test
    void bytes_fullTable_areAtMost64AnEntry() {
        int entries = 200_000;
        HolderTable table = new HolderTable(entries);
        int slot = table.open();
        for (int i = 0; i < entries; i++) {
            assertThat(store(table, slot, key(i))).isTrue();
        }
        assertThat(table.bytes()).isLessThanOrEqualTo(64L * entries);
    }
}
