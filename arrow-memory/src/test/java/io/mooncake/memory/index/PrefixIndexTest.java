// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory.index;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.mooncake.memory.BlockKey;
import io.mooncake.memory.Seeds;
import io.mooncake.memory.block.ChainKeys;
import io.mooncake.memory.index.PrefixIndex.Insert;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;

class PrefixIndexTest {
    private static final int B = 4;
    private static final BlockKey ROOT = new BlockKey(1, 2, 3, 4);
    private final ChainKeys keys = new ChainKeys();
    private final IndexMatch match = new IndexMatch();

    @Test
    void match_chain_findsWholeBlocksThenPart() {
        PrefixIndex index = new PrefixIndex(B, 100);
        int[] tokens = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
        List<BlockKey> chain = insertChain(index, tokens, 100);
        index.match(ROOT, tokens, 0, 12, true, match);
        assertThat(match.blocks()).isEqualTo(3);
        assertThat(match.partialTokens()).isZero();
        index.match(ROOT, tokens, 0, 11, true, match);
        assertThat(match.blocks()).isEqualTo(2);
        assertThat(match.partialTokens()).isEqualTo(3);
        assertThat(match.value(2)).isEqualTo(102);
        assertThat(match.key(2)).isEqualTo(chain.get(2));
        index.match(ROOT, tokens, 0, 11, false, match);
        assertThat(match.partialTokens()).isZero();
        index.match(chain.get(0), tokens, 4, 12, true, match);
        assertThat(match.blocks()).isEqualTo(2);
        assertThat(match.key(0)).isEqualTo(chain.get(1));
        index.match(new BlockKey(9, 9, 9, 9), tokens, 0, 12, true, match);
        assertThat(match.blocks()).isZero();
        assertThatThrownBy(() -> match.key(0)).isInstanceOf(IndexOutOfBoundsException.class);
    }

    @Test
    void insert_childBeforeParent_isFoundOnceParentIsThere() {
        PrefixIndex index = new PrefixIndex(B, 100);
        int[] tokens = {1, 2, 3, 4, 5, 6, 7, 8};
        BlockKey first = keys.next(ROOT, tokens, 0, B);
        BlockKey second = keys.next(first, tokens, B, B);
        assertThat(index.insert(first, second, tokens, B, 2)).isEqualTo(Insert.ADDED);
        assertThat(index.find(second)).isEqualTo(2);
        assertThat(index.find(first)).isEqualTo(PrefixIndex.ABSENT);
        assertThat(index.parent(first)).isNull();
        assertThat(index.parent(second)).isEqualTo(first);
        index.match(ROOT, tokens, 0, 8, true, match);
        assertThat(match.blocks()).isZero();
        assertThat(index.insert(ROOT, first, tokens, 0, 1)).isEqualTo(Insert.ADDED);
        index.match(ROOT, tokens, 0, 8, true, match);
        assertThat(match.blocks()).isEqualTo(2);
        assertThat(index.hasChildren(first)).isTrue();
        assertThat(index.hasChildren(second)).isFalse();
    }

    @Test
    void remove_innerNode_hidesChildrenAndLeaksNothing() {
        PrefixIndex index = new PrefixIndex(B, 100);
        int[] tokens = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
        List<BlockKey> chain = insertChain(index, tokens, 100);
        assertThat(index.nodeCount()).isEqualTo(4);
        assertThat(index.take(chain.get(1))).isEqualTo(new PrefixIndex.Removal(101, PrefixIndex.ABSENT));
        index.match(ROOT, tokens, 0, 12, true, match);
        assertThat(match.blocks()).isEqualTo(1);
        assertThat(match.partialTokens()).isZero();
        assertThat(index.find(chain.get(2))).isEqualTo(102);
        assertThat(index.insert(chain.get(0), chain.get(1), tokens, B, 7)).isEqualTo(Insert.ADDED);
        index.match(ROOT, tokens, 0, 12, true, match);
        assertThat(match.blocks()).isEqualTo(3);
        index.remove(chain.get(1));
        assertThat(index.take(chain.get(2))).isEqualTo(new PrefixIndex.Removal(102, 100));
        assertThat(index.nodeCount()).isEqualTo(2);
        assertThat(index.remove(chain.get(0))).isEqualTo(100);
        assertThat(index.nodeCount()).isZero();
        assertThat(index.size()).isZero();
        assertThat(index.remove(chain.get(0))).isEqualTo(PrefixIndex.ABSENT);
    }

    @Test
    void insert_boundReached_isRefusedAndRoomComesBack() {
        PrefixIndex index = new PrefixIndex(B, 3);
        int[] tokens = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
        BlockKey first = keys.next(ROOT, tokens, 0, B);
        BlockKey second = keys.next(first, tokens, B, B);
        BlockKey third = keys.next(second, tokens, 2 * B, B);
        assertThat(index.insert(ROOT, first, tokens, 0, 1)).isEqualTo(Insert.ADDED);
        assertThat(index.insert(second, third, tokens, 2 * B, 3)).isEqualTo(Insert.FULL);
        assertThat(index.insert(first, second, tokens, B, 2)).isEqualTo(Insert.ADDED);
        assertThat(index.insert(second, third, tokens, 2 * B, 3)).isEqualTo(Insert.FULL);
        index.remove(second);
        assertThat(index.insert(first, second, tokens, B, 2)).isEqualTo(Insert.ADDED);
    }

    @Test
    void insert_againOrInconsistent_isTold() {
        PrefixIndex index = new PrefixIndex(B, 100);
        int[] tokens = {1, 2, 3, 4, 5, 6, 7, 8};
        List<BlockKey> chain = insertChain(index, tokens, 0);
        assertThat(index.insert(ROOT, chain.get(0), tokens, 0, 5)).isEqualTo(Insert.EXISTS);
        assertThat(index.find(chain.get(0))).isZero();
        assertThat(index.replace(chain.get(0), 5)).isZero();
        assertThat(index.find(chain.get(0))).isEqualTo(5);
        assertThat(index.insert(ROOT, chain.get(0), tokens, 1, 5))
                .as("other tokens")
                .isEqualTo(Insert.CONFLICT);
        assertThat(index.insert(ROOT, chain.get(1), tokens, B, 5))
                .as("other parent")
                .isEqualTo(Insert.CONFLICT);
        assertThat(index.insert(ROOT, new BlockKey(5, 5, 5, 5), tokens, 0, 5))
                .as("the tokens under another key")
                .isEqualTo(Insert.CONFLICT);
        assertThat(index.insert(ROOT, ROOT, tokens, 0, 5)).isEqualTo(Insert.CONFLICT);
        assertThat(index.size()).isEqualTo(2);
    }

    @Test
    void operations_random_agreeWithPlainMap() {
        agree("operations_random", -1, Seeds.count(20_000, 300_000));
    }

    /** T24 for the index: hashes of 8 bits collide all the time, and nothing changes. */
    @Test
    void operations_hashesOfEightBits_agreeWithPlainMap() {
        agree("operations_hashesOfEightBits", 0xFF, Seeds.count(5_000, 100_000));
    }

    @Test
    void match_hashesCollideAndComparisonOff_servesForeignData() {
        PrefixIndex index = new PrefixIndex(B, 1 << 16, 0xFF, false);
        PrefixIndex checked = new PrefixIndex(B, 1 << 16, 0xFF, true);
        SplittableRandom random = Seeds.random("match_hashesCollide");
        for (int i = 0; i < 2000; i++) {
            int[] tokens = random.ints(B, 0, 1000).toArray();
            BlockKey key = keys.next(ROOT, tokens, 0, B);
            index.insert(ROOT, key, tokens, 0, i);
            checked.insert(ROOT, key, tokens, 0, i);
        }
        int foreign = 0;
        for (int i = 0; i < 1000; i++) {
            int[] unknown = random.ints(B, 1000, 2000).toArray();
            index.match(ROOT, unknown, 0, B, false, match);
            foreign += match.blocks();
            checked.match(ROOT, unknown, 0, B, false, match);
            assertThat(match.blocks()).isZero();
        }
        assertThat(foreign).isPositive();
    }

    private void agree(String name, int hashMask, int operations) {
        SplittableRandom random = Seeds.random(name);
        PrefixIndex index = new PrefixIndex(B, 1 << 20, hashMask, true);
        Map<BlockKey, Long> values = new HashMap<>();
        Map<BlockKey, int[]> prompts = new HashMap<>();
        List<BlockKey> known = new ArrayList<>();
        for (int i = 0; i < operations; i++) {
            int[] prompt = random.ints(B * random.nextInt(1, 5), 0, 3).toArray();
            List<BlockKey> chain = chain(prompt);
            int at = random.nextInt(chain.size());
            BlockKey key = chain.get(at);
            if (random.nextInt(100) < (values.size() < 300 ? 70 : 40)) {
                Insert outcome = index.insert(at == 0 ? ROOT : chain.get(at - 1), key, prompt, at * B, i);
                assertThat(outcome).isEqualTo(values.containsKey(key) ? Insert.EXISTS : Insert.ADDED);
                if (values.putIfAbsent(key, (long) i) == null) {
                    prompts.put(key, Arrays.copyOf(prompt, (at + 1) * B));
                    known.add(key);
                }
            } else if (!known.isEmpty()) {
                BlockKey gone = known.get(random.nextInt(known.size()));
                Long had = values.remove(gone);
                assertThat(index.remove(gone)).isEqualTo(had == null ? PrefixIndex.ABSENT : had);
            }
            check(index, values, prompts, prompt, random.nextInt(prompt.length + 1));
        }
        Set<BlockKey> seen = new HashSet<>();
        index.forEach((key, parent, tokens, value) -> {
            assertThat(values).containsEntry(key, value);
            assertThat(keys.next(parent, tokens, 0, B)).isEqualTo(key);
            seen.add(key);
        });
        assertThat(seen).hasSize(values.size());
        values.keySet().forEach(index::remove);
        assertThat(index.nodeCount()).as("nothing leaks").isZero();
    }

    private void check(
            PrefixIndex index, Map<BlockKey, Long> values, Map<BlockKey, int[]> prompts, int[] prompt, int limit) {
        List<BlockKey> chain = chain(prompt);
        int whole = 0;
        while ((whole + 1) * B <= limit && values.containsKey(chain.get(whole))) {
            whole++;
        }
        index.match(ROOT, prompt, 0, limit, true, match);
        assertThat(match.blocks()).isEqualTo(whole);
        for (int i = 0; i < whole; i++) {
            assertThat(match.value(i)).isEqualTo(values.get(chain.get(i)));
            assertThat(match.key(i)).isEqualTo(chain.get(i));
        }
        assertThat(index.size()).isEqualTo(values.size());
        if (values.size() > 400) {
            return; // the search by hand below is slow
        }
        int common = 0;
        for (BlockKey key : values.keySet()) {
            int[] other = prompts.get(key);
            if (other.length == (whole + 1) * B && Arrays.equals(other, 0, whole * B, prompt, 0, whole * B)) {
                int mismatch = Arrays.mismatch(other, whole * B, other.length, prompt, whole * B, limit);
                common = Math.max(common, mismatch < 0 ? limit - whole * B : mismatch);
            }
        }
        assertThat(match.partialTokens()).isEqualTo(common);
        if (common > 0) {
            assertThat(values.get(match.key(whole))).isEqualTo(match.value(whole));
        }
    }

    /** Readers without a lock beside a writer that changes, frees and grows: what they see is always of the chain they asked for. */
    @Test
    void match_besideWriter_neverSeesForeignNodes() throws Exception {
        SplittableRandom random = Seeds.random("match_besideWriter");
        PrefixIndex index = new PrefixIndex(B, 1 << 20);
        int prompts = 200;
        int[][] tokens = new int[prompts][];
        List<List<BlockKey>> chains = new ArrayList<>();
        for (int i = 0; i < prompts; i++) {
            tokens[i] = random.ints(4 * B, 0, 2).toArray();
            chains.add(chain(tokens[i]));
        }
        AtomicBoolean stop = new AtomicBoolean();
        AtomicReference<String> failure = new AtomicReference<>();
        Thread reader = new Thread(() -> {
            IndexMatch mine = new IndexMatch();
            for (int i = 0; !stop.get(); i = (i + 1) % prompts) {
                index.match(ROOT, tokens[i], 0, 4 * B, true, mine);
                for (int at = 0; at < mine.blocks(); at++) {
                    if (!mine.key(at).equals(chains.get(i).get(at))
                            || mine.value(at) != mine.key(at).word0()) {
                        failure.set("prompt " + i + " block " + at);
                    }
                }
                if (mine.partialTokens() > 0
                        && mine.value(mine.blocks()) != mine.key(mine.blocks()).word0()) {
                    failure.set("prompt " + i + " partial");
                }
            }
        });
        reader.start();
        long end = System.nanoTime() + Seeds.count(1, 20) * 1_000_000_000L;
        while (System.nanoTime() < end) {
            int i = random.nextInt(prompts);
            int at = random.nextInt(4);
            BlockKey key = chains.get(i).get(at);
            if (random.nextBoolean()) {
                index.insert(at == 0 ? ROOT : chains.get(i).get(at - 1), key, tokens[i], at * B, key.word0());
            } else {
                index.remove(key);
            }
        }
        stop.set(true);
        reader.join(10_000);
        assertThat(reader.isAlive()).isFalse();
        assertThat(failure.get()).isNull();
    }

    private List<BlockKey> insertChain(PrefixIndex index, int[] tokens, long firstValue) {
        List<BlockKey> chain = chain(tokens);
        for (int i = 0; i < chain.size(); i++) {
            assertThat(index.insert(i == 0 ? ROOT : chain.get(i - 1), chain.get(i), tokens, i * B, firstValue + i))
                    .isEqualTo(Insert.ADDED);
        }
        return chain;
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
}
