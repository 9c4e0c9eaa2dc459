// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory.index;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowable;

import io.mooncake.base.MooncakeException;
import io.mooncake.base.MooncakeException.Code;
import io.mooncake.memory.BlockKey;
import io.mooncake.memory.Seeds;
import io.mooncake.memory.block.ChainKeys;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class PrefixTreeTest {
    private static final int VOCABULARY = 1000;
    private static final BlockKey TENANT = new BlockKey(1, 1, 1, 1);

    private final PrefixMatch match = new PrefixMatch();

    private static long[] ids(long first, int count) {
        return LongStream.range(first, first + count).toArray();
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 16, 64, 512, 7})
    void match_promptPartsInsideOfABlock_countsToTheToken(int blockTokens) {
        PrefixTree tree = PrefixTree.create(blockTokens, VOCABULARY, 100);
        PrefixTree.Root root = tree.root(TENANT);
        int[] prompt = IntStream.range(0, 10 * blockTokens).map(i -> i % 900).toArray();
        assertThat(tree.insert(root, prompt, ids(100, 10), 1)).isEqualTo(new PrefixTree.Inserted(0, 10));
        assertThat(tree.nodeCount()).as("one edge, one root").isEqualTo(2);
        for (int cut = 0; cut < prompt.length; cut += Math.max(1, blockTokens / 3)) {
            int[] other = prompt.clone();
            Arrays.fill(other, cut, other.length, 999);
            assertThat(tree.longestPrefixMatch(root, other, 2, match)).isEqualTo(cut);
            assertThat(match.blocks()).isEqualTo(cut / blockTokens);
            assertThat(match.partialTokens()).isEqualTo(cut % blockTokens);
            for (int i = 0; i * blockTokens < cut; i++) {
                assertThat(match.id(i)).isEqualTo(100 + i);
                assertThat(tree.lastUse(match.position(i))).isEqualTo(2);
            }
        }
        assertThat(tree.longestPrefixMatch(root, Arrays.copyOf(prompt, 5), 3, match))
                .as("a prompt shorter than its blocks")
                .isEqualTo(5);
        assertThat(tree.longestPrefixMatch(root, prompt, 3, match)).isEqualTo(prompt.length);
    }

    @Test
    void match_longTokens_equalsThatOfInts() {
        PrefixTree tree = PrefixTree.create(16, VOCABULARY, 100);
        PrefixTree.Root root = tree.root(TENANT);
        long[] prompt = LongStream.range(0, 64).toArray();
        assertThat(tree.insert(root, prompt, ids(1, 4), 1).added()).isEqualTo(4);
        assertThat(tree.longestPrefixMatch(root, prompt, 1, match)).isEqualTo(64);
        assertThat(tree.longestPrefixMatch(root, IntStream.range(0, 50).toArray(), 1, match))
                .isEqualTo(50);
        assertThatThrownBy(() -> tree.longestPrefixMatch(root, new long[] {1, 1L << 32}, 1, match))
                .hasMessageContaining("tokens[1]: 4294967296 (expected: 0..999)");
        assertThatThrownBy(() -> tree.insert(root, new long[] {1, -1L << 32}, ids(1, 1), 1))
                .hasMessageContaining("tokens[1]: -4294967296 (expected: 0..999)");
        assertThatThrownBy(() -> tree.insert(root, new long[] {1, 2}, ids(1, 1), 1))
                .hasMessageContaining("ids.length: 1 (expected: 1..0, the whole blocks of the prompt)");
    }

    @Test
    void match_otherRoot_findsNothing() {
        PrefixTree tree = PrefixTree.create(4, VOCABULARY, 100);
        PrefixTree.Root mine = tree.root(TENANT);
        PrefixTree.Root other = tree.root(new BlockKey(1, 1, 1, 2));
        int[] prompt = {1, 2, 3, 4};
        tree.insert(mine, prompt, ids(1, 1), 1);
        assertThat(tree.longestPrefixMatch(other, prompt, 1, match)).isZero();
        assertThat(tree.root(TENANT)).isSameAs(mine);
        assertThat(tree.drop(mine)).as("in use").isFalse();
        assertThat(tree.drop(other)).isTrue();
        assertThat(tree.drop(other)).isFalse();
        PrefixTree.Root next = tree.root(new BlockKey(9, 9, 9, 9));
        tree.insert(next, prompt, ids(5, 1), 1);
        assertThat(tree.longestPrefixMatch(other, prompt, 1, match))
                .as("dropped, its node is another's")
                .isZero();
        assertThatThrownBy(() -> tree.insert(other, prompt, ids(1, 1), 1))
                .isInstanceOfSatisfying(
                        MooncakeException.class, e -> assertThat(e.code()).isEqualTo(Code.ILLEGAL_STATE));
    }

    @Test
    void remove_blockWithFollower_isRefused() {
        PrefixTree tree = PrefixTree.create(4, VOCABULARY, 100);
        PrefixTree.Root root = tree.root(TENANT);
        int[] prompt = IntStream.range(0, 12).toArray();
        int[] branch = {0, 1, 2, 3, 4, 5, 99, 99};
        tree.insert(root, prompt, ids(1, 3), 1);
        assertThat(tree.insert(root, branch, ids(11, 2), 1)).isEqualTo(new PrefixTree.Inserted(1, 1));
        tree.longestPrefixMatch(root, prompt, 1, match);
        int[] at = {match.position(0), match.position(1), match.position(2)};
        assertThat(tree.remove(at[0], 1)).isEqualTo(new PrefixTree.Removed(false, PrefixTree.NONE));
        assertThat(tree.remove(at[1], 2).removed()).isFalse();
        assertThat(tree.remove(at[2], 3)).isEqualTo(new PrefixTree.Removed(true, at[1]));
        assertThat(tree.remove(at[1], 2)).isEqualTo(new PrefixTree.Removed(true, PrefixTree.NONE));
        assertThat(tree.longestPrefixMatch(root, prompt, 1, match)).isEqualTo(6);
        assertThat(match.id(1)).as("the block that shares two tokens").isEqualTo(12);
        assertThat(tree.nodeCount())
                .as("one edge again, or two where slots are apart")
                .isLessThanOrEqualTo(3);
    }

    @Test
    void insert_treeFull_takesWhatFits() {
        PrefixTree tree = PrefixTree.create(4, VOCABULARY, 3);
        PrefixTree.Root root = tree.root(TENANT);
        int[] prompt = IntStream.range(0, 16).toArray();
        assertThat(tree.insert(root, prompt, ids(1, 4), 1)).isEqualTo(new PrefixTree.Inserted(0, 3));
        assertThat(tree.insert(root, new int[] {0, 1, 9, 9}, ids(9, 1), 1)).isEqualTo(new PrefixTree.Inserted(0, 0));
        assertThat(tree.longestPrefixMatch(root, prompt, 1, match)).isEqualTo(12);
        assertThat(tree.remove(match.position(2), 3).removed()).isTrue();
        assertThat(tree.insert(root, new int[] {0, 1, 9, 9}, ids(9, 1), 1)).isEqualTo(new PrefixTree.Inserted(0, 1));
        assertThat(tree.longestPrefixMatch(root, prompt, 1, match)).isEqualTo(8);
    }

    @Test
    void match_comparisonOff_servesForeignData() {
        PrefixTree tree = new PrefixTree(4, VOCABULARY, 100, false, -1, new PrefixTree.Checks(false, true));
        PrefixTree checked = PrefixTree.create(4, VOCABULARY, 100);
        for (PrefixTree each : List.of(tree, checked)) {
            each.insert(each.root(TENANT), new int[] {1, 2, 3, 4}, ids(1, 1), 1);
        }
        int[] foreign = {1, 7, 7, 7};
        assertThat(tree.longestPrefixMatch(tree.root(TENANT), foreign, 1, match))
                .isEqualTo(4);
        assertThat(checked.longestPrefixMatch(checked.root(TENANT), foreign, 1, match))
                .isEqualTo(1);
    }

    @Test
    void key_ofTreeWithout_isRefused() {
        PrefixTree without = PrefixTree.create(4, VOCABULARY, 100);
        PrefixTree.Root root = without.root(TENANT);
        assertThatThrownBy(() -> without.longestPrefixMatch(root, new int[4], 1, new PrefixMatch(true)))
                .hasMessageContaining("a tree that keeps them");
        PrefixTree with = PrefixTree.withKeys(4, VOCABULARY, 100);
        int[] prompt = {1, 2, 3, 4, 5, 6, 7, 8};
        with.insert(with.root(TENANT), prompt, ids(1, 2), 1);
        PrefixMatch keyed = new PrefixMatch(true);
        with.longestPrefixMatch(with.root(TENANT), prompt, 1, keyed);
        ChainKeys keys = new ChainKeys();
        BlockKey first = keys.next(TENANT, prompt, 0, 4);
        assertThat(keyed.key(0)).isEqualTo(first);
        assertThat(keyed.key(1)).isEqualTo(keys.next(first, prompt, 4, 4));
        with.longestPrefixMatch(with.root(TENANT), prompt, 1, match);
        assertThatThrownBy(() -> match.key(0)).hasMessageContaining("new PrefixMatch(true)");
    }

    /** The bound of the class comment, where it is tightest: prompts of four blocks that part at any token, until nothing more fits. */
    @Test
    void memory_manyShortBranches_staysBelowTwiceTheTokens() {
        SplittableRandom random = Seeds.random("memory_manyShortBranches");
        int blocks = 120_000;
        PrefixTree tree = PrefixTree.create(16, VOCABULARY, blocks);
        PrefixTree.Root root = tree.root(TENANT);
        int[] prompt = new int[64];
        int full = 0;
        for (int i = 0; full < 100; i++) {
            for (int at = random.nextInt(64); at < 64; at++) {
                prompt[at] = random.nextInt(VOCABULARY);
            }
            PrefixTree.Inserted inserted = tree.insert(root, prompt, ids(4L * i, 4), 1);
            full += inserted.existing() + inserted.added() < 4 ? 1 : 0;
        }
        System.out.printf("%d blocks, %d nodes, %d bytes%n", tree.size(), tree.nodeCount(), tree.memoryBytes());
        assertThat(tree.memoryBytes()).isLessThan(2L * 64 * blocks);
        assertThat(tree.size()).as("full of nodes before it is of blocks").isBetween(blocks / 2, blocks);
    }

    @Test
    void create_badBounds_areNamed() {
        assertThatThrownBy(() -> PrefixTree.create(0, 10, 10)).hasMessage("blockTokens: 0 (expected: 1..4096)");
        assertThatThrownBy(() -> PrefixTree.create(16, 0, 10)).hasMessage("vocabulary: 0 (expected: at least 1)");
        assertThatThrownBy(() -> PrefixTree.create(16, 10, 0)).hasMessage("maxBlocks: 0 (expected: 1..134217728)");
        assertThatThrownBy(() -> PrefixTree.create(4096, 10, 1 << 20))
                .hasMessage("maxBlocks: 1048576 (expected: 1..524288)");
    }

    /** T34: bad prompts get a typed error within 10 ms and change nothing, times of use included. */
    @ParameterizedTest
    @ValueSource(strings = {"null", "empty", "negative", "over", "huge", "negativeAtTheEnd", "overBehindAMatch"})
    void call_badTokens_failsFastAndChangesNothing(String kind) {
        PrefixTree tree = PrefixTree.create(16, VOCABULARY, 1000);
        PrefixTree.Root root = tree.root(TENANT);
        int[] good = IntStream.range(0, 64).toArray();
        tree.insert(root, good, ids(1, 4), 1);
        int[] bad =
                switch (kind) {
                    case "null" -> null;
                    case "empty" -> new int[0];
                    case "negative" -> new int[] {1, 2, -3};
                    case "over" -> new int[] {1, VOCABULARY};
                    case "huge" -> new int[10_000_000];
                    case "overBehindAMatch" -> Arrays.copyOf(good, 2000);
                    default -> new int[PrefixTree.MAX_TOKENS];
                };
        String message =
                switch (kind) {
                    case "null" -> "tokens: null (expected: 1..2097152 token ids)";
                    case "empty" -> "tokens.length: 0 (expected: 1..2097152 token ids)";
                    case "negative" -> "tokens[2]: -3 (expected: 0..999)";
                    case "over" -> "tokens[1]: 1000 (expected: 0..999)";
                    case "huge" -> "tokens.length: 10000000 (expected: 1..2097152 token ids)";
                    case "overBehindAMatch" -> "tokens[1999]: 2147483647 (expected: 0..999)";
                    default -> "tokens[2097151]: -2147483648 (expected: 0..999)";
                };
        if (kind.equals("negativeAtTheEnd")) {
            bad[bad.length - 1] = Integer.MIN_VALUE;
        }
        if (kind.equals("overBehindAMatch")) {
            bad[1999] = Integer.MAX_VALUE;
        }
        fails(message, () -> tree.longestPrefixMatch(root, bad, 9, match));
        fails(message, () -> tree.insert(root, bad, ids(9, 1), 9));
        List<Integer> ticks = new ArrayList<>();
        tree.forEach((at, position, parent, index, id, tokens) -> ticks.add(tree.lastUse(position)));
        assertThat(ticks).containsExactly(1, 1, 1, 1);
        assertThat(tree.longestPrefixMatch(root, good, 2, match)).isEqualTo(64);
    }

    /** The time this thread ran on a processor; the best of twenty runs, as the first ones meet cold code. */
    private static void fails(String message, Runnable call) {
        ThreadMXBean threads = ManagementFactory.getThreadMXBean();
        long best = Long.MAX_VALUE;
        for (int i = 0; i < 20 && best >= 10_000_000; i++) {
            long start = threads.getCurrentThreadCpuTime();
            Throwable thrown = catchThrowable(call::run);
            best = Math.min(best, threads.getCurrentThreadCpuTime() - start);
            assertThat(thrown)
                    .isInstanceOfSatisfying(
                            MooncakeException.class, e -> assertThat(e.code()).isEqualTo(Code.INVALID_ARGUMENT))
                    .hasMessageStartingWith(message);
        }
        assertThat(best).as("nanoseconds of processor time").isLessThan(30_000_000);
    }
}
