// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory.index;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.mooncake.memory.BlockKey;
import io.mooncake.memory.Seeds;
import io.mooncake.memory.block.ChainKeys;
import io.mooncake.memory.index.ChainIndex.Insert;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;

class ChainIndexTest {
    private static final int B = 4;
    private static final int VOCABULARY = 2000;
    private static final BlockKey ROOT = new BlockKey(1, 2, 3, 4);
    private static final int[] TWELVE = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};

    private final ChainKeys keys = new ChainKeys();
    private final PrefixMatch match = new PrefixMatch();

    private static ChainIndex index(int slots) {
        return new ChainIndex(B, VOCABULARY, slots);
    }

    private List<BlockKey> chain(int[] tokens) {
        List<BlockKey> chain = new ArrayList<>();
        BlockKey key = ROOT;
        for (int at = 0; at + B <= tokens.length; at += B) {
            key = keys.next(key, tokens, at, B);
            chain.add(key);
        }
        return chain;
    }

    /** Block {@code at} of {@code tokens} into {@code slot}, in generation 1. */
    private Insert insert(ChainIndex index, int[] tokens, int at, int slot) {
        List<BlockKey> chain = chain(tokens);
        BlockKey parent = at == 0 ? ROOT : chain.get(at - 1);
        return index.insert(parent, at == 0, chain.get(at), tokens, at * B, ChainIndex.id(slot, 1));
    }

    private int found(ChainIndex index, int[] tokens, int limit) {
        index.match(ROOT, tokens, limit, match);
        return match.blocks() * B + match.partialTokens();
    }

    @Test
    void id_slotAndGeneration_comeBack() {
        for (int slot : new int[] {0, 1, ChainIndex.MAX_SLOTS - 1}) {
            for (long generation : new long[] {0, 1, 1L << 37, (1L << 38) - 1}) {
                long id = ChainIndex.id(slot, generation);
                assertThat(id).isNotNegative();
                assertThat(ChainIndex.slot(id)).isEqualTo(slot);
                assertThat(ChainIndex.generation(id)).isEqualTo(generation);
            }
        }
    }

    @Test
    void match_chain_findsWholeBlocksThenPart() {
        ChainIndex index = index(10);
        for (int i = 0; i < 3; i++) {
            assertThat(insert(index, TWELVE, i, 7 - i)).isEqualTo(Insert.ADDED);
        }
        assertThat(found(index, TWELVE, 12)).isEqualTo(12);
        assertThat(match.blocks()).isEqualTo(3);
        assertThat(found(index, TWELVE, 11)).isEqualTo(11);
        assertThat(match.blocks()).isEqualTo(2);
        assertThat(match.id(1)).isEqualTo(ChainIndex.id(6, 1));
        assertThat(match.id(2)).as("the one in part").isEqualTo(ChainIndex.id(5, 1));
        assertThat(index.key(5)).isEqualTo(chain(TWELVE).get(2));
        assertThat(index.name(5)).isEqualTo(chain(TWELVE).get(2).word0());
        assertThat(found(index, TWELVE, 0)).isZero();
        index.match(new BlockKey(9, 9, 9, 9), TWELVE, 12, match);
        assertThat(match.blocks() + match.partialTokens()).as("another root").isZero();
    }

    @Test
    void insert_childrenBeforeTheirParents_areFoundByKeyAtOnceAndByTokensWhenAllIsThere() {
        ChainIndex index = index(10);
        List<BlockKey> chain = chain(TWELVE);
        assertThat(insert(index, TWELVE, 2, 2)).isEqualTo(Insert.ADDED);
        assertThat(insert(index, TWELVE, 1, 1)).isEqualTo(Insert.ADDED);
        assertThat(index.parked()).isEqualTo(2);
        assertThat(index.size()).isEqualTo(2);
        assertThat(index.find(chain.get(2))).isEqualTo(ChainIndex.id(2, 1));
        assertThat(index.find(chain.get(1))).isEqualTo(ChainIndex.id(1, 1));
        assertThat(index.find(chain.get(0))).isEqualTo(ChainIndex.ABSENT);
        assertThat(found(index, TWELVE, 12)).isZero();
        assertThat(index.isFollowed(1)).isTrue();
        assertThat(index.isFollowed(2)).isFalse();
        assertThat(insert(index, TWELVE, 0, 0)).isEqualTo(Insert.ADDED);
        assertThat(found(index, TWELVE, 12)).isEqualTo(12);
        assertThat(index.parked()).isZero();
        assertThat(index.isFollowed(0)).isTrue();
    }

    /** The middle of a chain whose beginning never comes goes again, from its end. */
    @Test
    void remove_parked_exposesTheParkedParent() {
        ChainIndex index = index(10);
        insert(index, TWELVE, 2, 2);
        insert(index, TWELVE, 1, 1);
        assertThatThrownBy(() -> index.remove(1)).hasMessageContaining("followed");
        assertThat(index.remove(2)).isEqualTo(1);
        assertThat(index.remove(1)).isEqualTo(-1);
        assertThat(index.size() + index.parked()).isZero();
        assertThat(insert(index, TWELVE, 0, 3)).isEqualTo(Insert.ADDED);
        assertThat(found(index, TWELVE, 12)).isEqualTo(4);
    }

    @Test
    void remove_chain_goesFromTheEndAndTheRootGoesWithTheLast() {
        ChainIndex index = index(10);
        for (int i = 0; i < 3; i++) {
            insert(index, TWELVE, i, i);
        }
        assertThatThrownBy(() -> index.remove(1)).hasMessageContaining("followed");
        assertThat(index.remove(2)).isEqualTo(1);
        assertThat(index.remove(1)).isZero();
        assertThat(index.remove(0)).isEqualTo(-1);
        assertThatThrownBy(() -> index.remove(0)).hasMessageContaining("empty");
        assertThat(index.find(chain(TWELVE).get(0))).isEqualTo(ChainIndex.ABSENT);
        assertThat(index.size()).isZero();
        // Tenants come and go: more of them than there are nodes.
        for (int tenant = 0; tenant < 1000; tenant++) {
            BlockKey root = new BlockKey(7, tenant, 0, 0);
            BlockKey key = keys.next(root, TWELVE, 0, B);
            assertThat(index.insert(root, true, key, TWELVE, 0, ChainIndex.id(4, tenant)))
                    .isEqualTo(Insert.ADDED);
            index.match(root, TWELVE, B, match);
            assertThat(match.id(0)).isEqualTo(ChainIndex.id(4, tenant));
            index.remove(4);
        }
    }

    @Test
    void insert_againOrInconsistent_isTold() {
        ChainIndex index = index(10);
        List<BlockKey> chain = chain(TWELVE);
        insert(index, TWELVE, 0, 0);
        insert(index, TWELVE, 2, 2); // parked
        long id = ChainIndex.id(5, 1);
        assertThat(insert(index, TWELVE, 0, 5)).isEqualTo(Insert.EXISTS);
        assertThat(insert(index, TWELVE, 2, 5)).isEqualTo(Insert.EXISTS);
        assertThat(index.find(chain.get(0))).isEqualTo(ChainIndex.id(0, 1));
        assertThat(index.insert(ROOT, true, chain.get(0), TWELVE, 1, id))
                .as("other tokens")
                .isEqualTo(Insert.CONFLICT);
        assertThat(index.insert(chain.get(1), false, chain.get(2), TWELVE, 1, id))
                .as("other tokens, parked")
                .isEqualTo(Insert.CONFLICT);
        assertThat(index.insert(chain.get(0), false, chain.get(2), TWELVE, 2 * B, id))
                .as("other parent")
                .isEqualTo(Insert.CONFLICT);
        assertThat(index.insert(ROOT, true, new BlockKey(5, 5, 5, 5), TWELVE, 0, id))
                .as("the tokens under another key")
                .isEqualTo(Insert.CONFLICT);
        assertThat(index.insert(ROOT, true, ROOT, TWELVE, 0, id)).isEqualTo(Insert.CONFLICT);
        assertThat(index.size()).isEqualTo(2);
        assertThatThrownBy(() -> insert(index, TWELVE, 1, 0)).hasMessageContaining("slot 0: has a block");
    }

    /** The tree's bound follows from the slots: prompts that part at every token fill them all, again and again. */
    @Test
    void insert_everyShape_isNeverFullBeforeTheSlotsAre() {
        SplittableRandom random = Seeds.random("insert_everyShape");
        int slots = 500;
        ChainIndex index = index(slots);
        long most = 0;
        for (int round = 0; round < 30; round++) {
            int[][] prompts = new int[slots][];
            for (int slot = 0; slot < slots; ) {
                // All of one root, parting late in the first block; or a tenant each.
                int[] tokens = {0, 0, round % 3 == 0 ? 0 : random.nextInt(VOCABULARY), random.nextInt(VOCABULARY)};
                BlockKey root = round % 3 == 2 ? new BlockKey(slot, round, 0, 0) : ROOT;
                BlockKey key = keys.next(root, tokens, 0, B);
                Insert outcome = index.insert(root, true, key, tokens, 0, ChainIndex.id(slot, round));
                if (outcome == Insert.ADDED) {
                    prompts[slot++] = tokens;
                } else {
                    assertThat(outcome).isEqualTo(Insert.EXISTS);
                }
            }
            assertThat(index.size()).isEqualTo(slots);
            if (round % 3 != 2) {
                for (int[] prompt : prompts) {
                    assertThat(found(index, prompt, B)).isEqualTo(B);
                }
            }
            for (int slot = 0; slot < slots; slot++) {
                index.remove(slot);
            }
            most = round == 2 ? index.memoryBytes() : most;
        }
        assertThat(index.memoryBytes())
                .as("nothing leaks")
                .isEqualTo(most)
                .isLessThanOrEqualTo(ChainIndex.maxMemoryBytes(B, slots));
    }

    /** What the documentation says: 200 bytes a block of 16 tokens where prompts are chains, 312 where they branch, some 300 more before their parents. */
    @Test
    void maxMemoryBytes_blocksOfSixteenTokens_isSmall() {
        assertThat(ChainIndex.maxMemoryBytes(16, 1 << 20)).isLessThan((312L + 304) << 20);
        ChainIndex index = new ChainIndex(16, VOCABULARY, 1 << 14);
        int[] tokens = new int[16];
        BlockKey parent = ROOT;
        for (int slot = 0; slot < 1 << 14; slot++) {
            tokens[slot % 16]++;
            BlockKey key = keys.next(parent, tokens, 0, 16);
            index.insert(parent, slot == 0, key, tokens, 0, ChainIndex.id(slot, 1));
            parent = key;
        }
        assertThat(index.size()).isEqualTo(1 << 14);
        assertThat(index.memoryBytes()).isLessThan(200L << 14);
    }

    @Test
    void match_comparisonOff_servesForeignData() {
        ChainIndex unchecked = new ChainIndex(B, VOCABULARY, 2000, 0xFF, false);
        ChainIndex checked = new ChainIndex(B, VOCABULARY, 2000, 0xFF, true);
        SplittableRandom random = Seeds.random("match_comparisonOff");
        int slot = 0;
        for (int i = 0; i < 2000; i++) {
            int[] tokens = random.ints(B, 0, 1000).toArray();
            insert(unchecked, tokens, 0, i);
            if (insert(checked, tokens, 0, slot) == Insert.ADDED) {
                slot++;
            }
        }
        int foreign = 0;
        int foreignKeys = 0;
        for (int i = 0; i < 1000; i++) {
            int[] unknown = random.ints(B, 0, 1000).toArray();
            unknown[B - 1] += 1000;
            BlockKey key = keys.next(ROOT, unknown, 0, B);
            foreign += found(unchecked, unknown, B) == B ? 1 : 0;
            foreignKeys += unchecked.find(key) == ChainIndex.ABSENT ? 0 : 1;
            assertThat(found(checked, unknown, B)).isLessThan(B);
            assertThat(checked.find(key)).isEqualTo(ChainIndex.ABSENT);
        }
        assertThat(foreign).isPositive();
        assertThat(foreignKeys).isPositive();
    }

    /** Readers without a lock beside a writer that hangs, parks and removes: what they find is always of the chain they asked for. */
    @Test
    void look_besideWriter_neverFindsForeignBlocks() throws Exception {
        SplittableRandom random = Seeds.random("look_besideWriter");
        int prompts = 200;
        int[][] tokens = new int[prompts][];
        List<List<BlockKey>> chains = new ArrayList<>();
        for (int i = 0; i < prompts; i++) {
            tokens[i] = random.ints(4 * B, 0, 2).toArray();
            chains.add(chain(tokens[i]));
        }
        ChainIndex index = index(300);
        AtomicBoolean stop = new AtomicBoolean();
        AtomicReference<String> failure = new AtomicReference<>();
        AtomicLong blocks = new AtomicLong();
        AtomicLong keys = new AtomicLong();
        Thread reader = new Thread(() -> {
            PrefixMatch mine = new PrefixMatch();
            for (int i = 0; !stop.get(); i = (i + 1) % prompts) {
                index.match(ROOT, tokens[i], 4 * B, mine);
                for (int at = 0; at < mine.blocks(); at++) {
                    // The generation says whose block it is.
                    if (ChainIndex.generation(mine.id(at))
                            != generation(chains.get(i).get(at))) {
                        failure.set("prompt " + i + " block " + at);
                    }
                }
                BlockKey key = chains.get(i).get(i % 4);
                long id = index.find(key);
                if (id != ChainIndex.ABSENT && ChainIndex.generation(id) != generation(key)) {
                    failure.set("key of prompt " + i);
                }
                blocks.addAndGet(mine.blocks());
                keys.addAndGet(id == ChainIndex.ABSENT ? 0 : 1);
            }
        });
        reader.start();
        List<Integer> free = new ArrayList<>();
        for (int slot = 0; slot < 300; slot++) {
            free.add(slot);
        }
        long end = System.nanoTime() + Seeds.count(1, 20) * 1_000_000_000L;
        long patience = end + 60_000_000_000L;
        // On a busy machine the reader may come late.
        while (System.nanoTime() < end || (blocks.get() == 0 || keys.get() == 0) && System.nanoTime() < patience) {
            int i = random.nextInt(prompts);
            int at = random.nextInt(4);
            BlockKey key = chains.get(i).get(at);
            long id = index.find(key);
            if (id == ChainIndex.ABSENT && !free.isEmpty()) {
                int slot = free.remove(random.nextInt(free.size()));
                BlockKey parent = at == 0 ? ROOT : chains.get(i).get(at - 1);
                index.insert(parent, at == 0, key, tokens[i], at * B, ChainIndex.id(slot, generation(key)));
            } else if (id != ChainIndex.ABSENT && !index.isFollowed(ChainIndex.slot(id))) {
                index.remove(ChainIndex.slot(id));
                free.add(ChainIndex.slot(id));
            }
        }
        stop.set(true);
        reader.join(60_000);
        assertThat(reader.isAlive()).isFalse();
        assertThat(failure.get()).isNull();
        assertThat(blocks).hasPositiveValue();
        assertThat(keys).hasPositiveValue();
    }

    private static long generation(BlockKey key) {
        return key.word0() >>> 26;
    }
}
