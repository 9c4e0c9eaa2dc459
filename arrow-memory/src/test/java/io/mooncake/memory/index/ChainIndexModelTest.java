// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory.index;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.mooncake.memory.BlockKey;
import io.mooncake.memory.Seeds;
import io.mooncake.memory.block.ChainKeys;
import io.mooncake.memory.index.ChainIndex.Insert;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Random operations on a {@link ChainIndex}, blocks of two tenants in any order, against plain maps. */
class ChainIndexModelTest {
    private static final int SLOTS = 150;
    private static final List<BlockKey> ROOTS = List.of(new BlockKey(1, 2, 3, 4), new BlockKey(5, 6, 7, 8));

    /** A block that is in the index. */
    private record Block(int slot, long generation, BlockKey root, BlockKey parent, int[] prefix) {
        long id() {
            return ChainIndex.id(slot, generation);
        }
    }

    private final ChainKeys keys = new ChainKeys();
    private final Map<BlockKey, Block> blocks = new HashMap<>();
    private final ArrayDeque<Integer> free = new ArrayDeque<>();
    private final PrefixMatch match = new PrefixMatch();

    @ParameterizedTest
    @ValueSource(ints = {1, 3, 8})
    void operations_random_agreeWithPlainMaps(int blockTokens) {
        agree("operations_random " + blockTokens, blockTokens, -1, Seeds.count(4_000, 300_000));
    }

    /** Hashes of 4 bits collide all the time, and nothing changes. */
    @Test
    void operations_hashesOfFourBits_agreeWithPlainMaps() {
        agree("operations_hashesOfFourBits", 4, 0xF, Seeds.count(4_000, 100_000));
    }

    private void agree(String name, int blockTokens, int hashMask, int operations) {
        SplittableRandom random = Seeds.random(name);
        ChainIndex index = new ChainIndex(blockTokens, 10, SLOTS, hashMask, true);
        for (int slot = 0; slot < SLOTS; slot++) {
            free.add(slot);
        }
        int parked = 0;
        for (int i = 0; i < operations; i++) {
            BlockKey root = ROOTS.get(random.nextInt(ROOTS.size()));
            int[] prompt = random.ints(blockTokens * random.nextInt(1, 6) + random.nextInt(blockTokens), 0, 3)
                    .toArray();
            if (random.nextInt(100) < (i / 1000 % 2 == 0 ? 70 : 40)) {
                insert(index, random, root, prompt, blockTokens, i);
            } else {
                remove(index, random);
            }
            check(index, root, prompt, random.nextInt(prompt.length + 1), blockTokens);
            parked = Math.max(parked, index.parked());
        }
        assertThat(parked).as("blocks before their parents").isGreaterThan(3);
        checkAll(index);
        while (!blocks.isEmpty()) {
            remove(index, random);
        }
        assertThat(index.size() + index.parked()).isZero();
    }

    private void insert(
            ChainIndex index, SplittableRandom random, BlockKey root, int[] prompt, int blockTokens, int generation) {
        int at = random.nextInt(prompt.length / blockTokens);
        List<BlockKey> chain = chain(root, prompt, blockTokens);
        BlockKey parent = at == 0 ? root : chain.get(at - 1);
        BlockKey key = chain.get(at);
        if (free.isEmpty()) {
            return;
        }
        int slot = free.getFirst();
        long id = ChainIndex.id(slot, generation);
        // As it is in a prompt, or alone.
        int from = random.nextBoolean() ? at * blockTokens : 0;
        int[] own = from > 0 ? prompt : Arrays.copyOfRange(prompt, at * blockTokens, (at + 1) * blockTokens);
        Insert outcome = index.insert(parent, at == 0, key, own, from, id);
        assertThat(outcome).isEqualTo(blocks.containsKey(key) ? Insert.EXISTS : Insert.ADDED);
        if (outcome == Insert.ADDED) {
            free.removeFirst();
            int[] prefix = Arrays.copyOf(prompt, (at + 1) * blockTokens);
            blocks.put(key, new Block(slot, generation, root, parent, prefix));
        }
    }

    private boolean followed(BlockKey key) {
        return blocks.values().stream().anyMatch(other -> other.parent.equals(key));
    }

    private void remove(ChainIndex index, SplittableRandom random) {
        if (blocks.isEmpty()) {
            return;
        }
        List<BlockKey> all = new ArrayList<>(blocks.keySet());
        BlockKey key = all.get(random.nextInt(all.size()));
        Block block = blocks.get(key);
        assertThat(index.isFollowed(block.slot)).isEqualTo(followed(key));
        if (followed(key)) {
            assertThatThrownBy(() -> index.remove(block.slot)).hasMessageContaining("followed");
            return;
        }
        blocks.remove(key);
        Block parent = blocks.get(block.parent);
        int exposed = parent == null || followed(block.parent) ? -1 : parent.slot;
        assertThat(index.remove(block.slot)).isEqualTo(exposed);
        free.addLast(block.slot);
    }

    private void check(ChainIndex index, BlockKey root, int[] prompt, int limit, int blockTokens) {
        List<BlockKey> chain = chain(root, prompt, blockTokens);
        int whole = 0;
        while ((whole + 1) * blockTokens <= limit && blocks.containsKey(chain.get(whole))) {
            whole++;
        }
        index.match(root, prompt, limit, match);
        assertThat(match.blocks()).isEqualTo(whole);
        for (int i = 0; i < whole; i++) {
            assertThat(match.id(i)).isEqualTo(blocks.get(chain.get(i)).id());
        }
        for (BlockKey key : chain) {
            Block block = blocks.get(key);
            assertThat(index.find(key)).isEqualTo(block == null ? ChainIndex.ABSENT : block.id());
        }
        BlockKey last = whole == 0 ? root : chain.get(whole - 1);
        int from = whole * blockTokens;
        int common = 0;
        Set<Long> longest = new HashSet<>();
        for (Block block : blocks.values()) {
            if (block.parent.equals(last)) {
                int mismatch = Arrays.mismatch(block.prefix, from, from + blockTokens, prompt, from, limit);
                int shared = mismatch < 0 ? blockTokens : mismatch;
                if (shared > common) {
                    common = shared;
                    longest.clear();
                }
                if (shared == common) {
                    longest.add(block.id());
                }
            }
        }
        assertThat(match.partialTokens()).isEqualTo(common);
        if (common > 0) {
            assertThat(longest).contains(match.id(whole));
        }
        assertThat(index.size()).isEqualTo(blocks.size());
    }

    private void checkAll(ChainIndex index) {
        Set<Integer> shown = new HashSet<>();
        index.forEachSlot(slot -> {
            Block block = blocks.get(index.key(slot));
            assertThat(block.slot).isEqualTo(slot);
            shown.add(slot);
        });
        assertThat(shown).hasSize(blocks.size());
    }

    private List<BlockKey> chain(BlockKey root, int[] tokens, int blockTokens) {
        List<BlockKey> chain = new ArrayList<>();
        BlockKey key = root;
        for (int at = 0; at + blockTokens <= tokens.length; at += blockTokens) {
            key = keys.next(key, tokens, at, blockTokens);
            chain.add(key);
        }
        return chain;
    }
}
