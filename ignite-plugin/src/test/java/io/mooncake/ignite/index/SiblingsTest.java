// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.index;

import static org.assertj.core.api.Assertions.assertThat;

import io.mooncake.ignite.feed.BlockEvent;
import io.mooncake.ignite.feed.EventCursor;
import io.mooncake.ignite.feed.HolderSink;
import io.mooncake.ignite.feed.RemovalCode;
import io.mooncake.ignite.index.PoolIndex.Partial;
import io.mooncake.memory.BlockKey;
import io.mooncake.memory.KvDataType;
import io.mooncake.memory.KvIdentity;
import io.mooncake.memory.ReuseMode;
import io.mooncake.memory.block.ChainKeys;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;

/** Blocks of other nodes, found by their beginning. */
class SiblingsTest {
    private static final int TOKENS = 4;
    private static final UUID NODE = new UUID(1, 1);
    private static final UUID OTHER = new UUID(2, 2);
    private static final BlockKey PARENT = new BlockKey(5, 6, 7, 8);

    private final ChainKeys keys = new ChainKeys();

    private static PoolIndex index(ReuseMode mode, long maxTokens) {
        KvIdentity identity = new KvIdentity(
                "a".repeat(64), "b".repeat(64), "", "test-1", "none", mode, KvDataType.F32, 1, 1, 4, TOKENS, 1, 0);
        return new PoolIndex(identity, 10_000, maxTokens, () -> {});
    }

    private static HolderSink.Copy copy(PoolIndex index, UUID node) {
        HolderSink.Copy copy = index.sink(node).begin();
        copy.show();
        return copy;
    }

    private BlockKey store(HolderSink.Copy copy, BlockKey parent, int... tokens) {
        BlockKey key = keys.next(parent, tokens, 0, TOKENS);
        copy.apply(EventCursor.at(BlockEvent.stored(key, parent, 3, tokens)));
        return key;
    }

    private static void remove(HolderSink.Copy copy, BlockKey key) {
        copy.apply(EventCursor.at(BlockEvent.removed(key, RemovalCode.EVICTED)));
    }

    @Test
    void partial_severalSiblings_isTheLongestBeginning() {
        PoolIndex index = index(ReuseMode.FAST, 1_000);
        HolderSink.Copy copy = copy(index, NODE);
        store(copy, PARENT, 1, 2, 9, 9);
        BlockKey longest = store(copy, PARENT, 1, 2, 3, 9);
        store(copy, PARENT, 1, 9, 9, 9);
        store(copy, new BlockKey(1, 1, 1, 1), 1, 2, 3, 4);

        assertThat(index.partial(PARENT, new int[] {0, 1, 2, 3, 4, 5}, 1))
                .isEqualTo(new Partial(longest, 3, List.of(NODE)));
        assertThat(index.partial(PARENT, new int[] {7, 2, 3}, 0)).isNull();
        // The last token is always computed.
        assertThat(index.partial(PARENT, new int[] {1, 2, 3}, 0)).isNotNull().returns(2, Partial::tokens);
        assertThat(index.partial(PARENT, new int[] {1}, 0)).isNull();
        assertThat(index.partial(PARENT, new int[] {1, 2, 3}, 3)).isNull();
    }

    @Test
    void partial_exactPoolOrNoBudget_isNothingAndTakesNothing() {
        for (PoolIndex index :
                List.of(index(ReuseMode.EXACT, 1_000), index(ReuseMode.FAST, 0), index(ReuseMode.FAST, TOKENS - 1))) {
            HolderSink.Copy copy = copy(index, NODE);
            BlockKey key = store(copy, PARENT, 1, 2, 3, 4);

            assertThat(index.partial(PARENT, new int[] {1, 2, 3, 9}, 0)).isNull();
            assertThat(index.tokenBytes()).isZero();
            assertThat(index.holderCount(key)).isEqualTo(1);
        }
        assertThat(PoolIndex.tokenBytes(TOKENS, 0)).isZero();
    }

    @Test
    void partial_nobodyHasItAnyMore_isTheNextBest() {
        PoolIndex index = index(ReuseMode.FAST, 1_000);
        HolderSink.Copy copy = copy(index, NODE);
        HolderSink.Copy other = copy(index, OTHER);
        BlockKey shorter = store(other, PARENT, 1, 2, 9, 9);
        BlockKey longer = store(copy, PARENT, 1, 2, 3, 9);
        store(other, PARENT, 1, 2, 3, 9);
        int[] prompt = {1, 2, 3, 4, 5};

        assertThat(index.partial(PARENT, prompt, 0)).isEqualTo(new Partial(longer, 3, List.of(NODE, OTHER)));
        copy.lose();
        assertThat(index.partial(PARENT, prompt, 0)).isEqualTo(new Partial(longer, 3, List.of(OTHER)));
        remove(other, longer);
        assertThat(index.partial(PARENT, prompt, 0)).isEqualTo(new Partial(shorter, 2, List.of(OTHER)));
    }

    @Test
    void partial_ownerTellsOtherTokens_isNotFound() {
        PoolIndex index = index(ReuseMode.FAST, 1_000);
        HolderSink.Copy copy = copy(index, NODE);
        BlockKey lie = keys.next(PARENT, new int[] {4, 4, 4, 4}, 0, TOKENS);
        copy.apply(EventCursor.at(BlockEvent.stored(lie, PARENT, 3, new int[] {1, 2, 3, 4})));
        BlockKey told = keys.next(PARENT, new int[] {1, 2, 3, 5}, 0, TOKENS);
        copy.apply(EventCursor.at(BlockEvent.stored(told, PARENT, 3, new int[0])));

        assertThat(index.partial(PARENT, new int[] {1, 2, 3, 4, 5}, 0)).isNull();
        assertThat(index.holderCount(lie)).isEqualTo(1);
    }

    @Test
    void partial_moreThanTheBudget_findsTheLastOnesAndTakesNoMore() {
        int blocks = 50;
        PoolIndex index = index(ReuseMode.FAST, blocks * TOKENS);
        HolderSink.Copy copy = copy(index, NODE);
        for (int i = 0; i < 10 * blocks; i++) {
            store(copy, PARENT, i, 2, 3, 4);
        }

        for (int i = 0; i < 10 * blocks; i++) {
            Partial found = index.partial(PARENT, new int[] {i, 2, 3, 9, 9}, 0);
            assertThat(found != null).as("block %s", i).isEqualTo(i >= 9 * blocks);
        }
        assertThat(index.tokenBytes()).isPositive().isLessThanOrEqualTo(PoolIndex.tokenBytes(TOKENS, blocks * TOKENS));
    }

    @Test
    void partial_anyHistory_isWhatAModelSays() {
        long first = Long.getLong("mooncake.seed", System.nanoTime());
        int runs = System.getProperty("mooncake.seed") != null ? 1 : Boolean.getBoolean("mooncake.long") ? 2_000 : 50;
        for (int run = 0; run < runs; run++) {
            try {
                checkAgainstModel(new Random(first + run));
            } catch (AssertionError | RuntimeException e) {
                throw new AssertionError("replay with -Dmooncake.seed=" + (first + run), e);
            }
        }
        System.out.println("siblings: " + runs + " runs from seed " + first);
    }

    /** Few enough blocks that none is past the last steps of a chain or out of the ring. */
    private void checkAgainstModel(Random random) {
        PoolIndex index = index(ReuseMode.FAST, 100_000);
        List<HolderSink.Copy> copies = List.of(copy(index, NODE), copy(index, OTHER));
        Map<BlockKey, int[]> tokens = new HashMap<>();
        Map<BlockKey, BlockKey> parents = new HashMap<>();
        List<Map<BlockKey, Boolean>> held = List.of(new HashMap<>(), new HashMap<>());
        List<BlockKey> all = new ArrayList<>(List.of(PARENT, new BlockKey(1, 2, 3, 4)));
        for (int step = 0; step < 60; step++) {
            int holder = random.nextInt(2);
            BlockKey parent = all.get(random.nextInt(all.size()));
            if (random.nextInt(3) > 0) {
                int[] block = random.ints(TOKENS, 0, 3).toArray();
                BlockKey key = store(copies.get(holder), parent, block);
                held.get(holder).put(key, true);
                tokens.put(key, block);
                parents.put(key, parent);
                all.add(key);
            } else {
                remove(copies.get(holder), parent);
                held.get(holder).remove(parent);
            }
            int[] prompt = random.ints(1 + random.nextInt(7), 0, 3).toArray();
            BlockKey asked = all.get(random.nextInt(all.size()));
            int most = 0;
            for (BlockKey key : tokens.keySet()) {
                if (parents.get(key).equals(asked) && held.stream().anyMatch(of -> of.containsKey(key))) {
                    int common = Arrays.mismatch(prompt, tokens.get(key));
                    most = Math.max(most, Math.min(common < 0 ? TOKENS : common, prompt.length - 1));
                }
            }
            Partial found = index.partial(asked, prompt, 0);
            assertThat(found == null ? 0 : found.tokens()).isEqualTo(most);
            if (found != null) {
                assertThat(found.holders()).hasSize((int)
                        held.stream().filter(of -> of.containsKey(found.key())).count());
            }
        }
    }

    @Test
    void partial_whileRecordsAreOverwritten_isAlwaysTrue() throws Exception {
        Siblings siblings = new Siblings(TOKENS, 8 * TOKENS);
        AtomicBoolean stop = new AtomicBoolean();
        CompletableFuture<Void> writer = CompletableFuture.runAsync(() -> {
            Random random = new Random(1);
            ChainKeys own = new ChainKeys();
            long[] parent = {PARENT.word0(), PARENT.word1(), PARENT.word2(), PARENT.word3()};
            while (!stop.get()) {
                int[] block = random.ints(TOKENS, 0, 3).toArray();
                BlockKey key = own.next(PARENT, block, 0, TOKENS);
                siblings.add(parent, new long[] {key.word0(), key.word1(), key.word2(), key.word3()}, block);
            }
        });
        try {
            Map<BlockKey, int[]> known = new HashMap<>();
            for (int i = 0; i < 81; i++) {
                int[] block = {i / 27, i / 9 % 3, i / 3 % 3, i % 3};
                known.put(keys.next(PARENT, block, 0, TOKENS), block);
            }
            Random random = new Random(2);
            int found = 0;
            long until = System.nanoTime() + TimeUnit.SECONDS.toNanos(60);
            for (int look = 0; (look < 100_000 || found == 0) && System.nanoTime() < until; look++) {
                int[] prompt = random.ints(TOKENS, 0, 3).toArray();
                Siblings.Found one = siblings.find(PARENT, prompt, 0, TOKENS, key -> true);
                if (one != null) {
                    found++;
                    int common = Arrays.mismatch(prompt, known.get(one.key()));
                    assertThat(one.tokens()).isEqualTo(common < 0 ? TOKENS : common);
                }
            }
            assertThat(found).isPositive();
        } finally {
            stop.set(true);
            writer.get(60, TimeUnit.SECONDS);
        }
    }
}
