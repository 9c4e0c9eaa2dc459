// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory.index;

import static org.assertj.core.api.Assertions.assertThat;

import io.mooncake.memory.BlockKey;
import io.mooncake.memory.Seeds;
import io.mooncake.memory.block.ChainKeys;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Random operations on a {@link PrefixTree} against plain maps, over block sizes, roots, hash widths and room. */
class PrefixTreeModelTest {
    private static final int VOCABULARY = 1000;
    private static final int ROOTS = 3;

    private final PrefixMatch match = new PrefixMatch(true);
    private final Map<Long, Integer> lastUse = new HashMap<>();
    private int[] previous = {0};
    private SplittableRandom random = new SplittableRandom(0);

    /** T24 among them: with hashes of 8 bits and of none at all, everything collides and nothing changes. */
    @ParameterizedTest
    @CsvSource({
        // tokens a block, most blocks, tokens that differ, bits of the hash, operations
        "1, 4000, 3, -1, 2000",
        "3, 4000, 2, -1, 2000",
        "16, 4000, 2, -1, 1500",
        "16, 4000, 900, 255, 1500",
        "16, 60, 2, -1, 3000",
        "2, 40, 3, 0, 3000",
        "64, 500, 2, -1, 500",
        "512, 300, 2, -1, 200",
    })
    void operations_random_agreeWithPlainMap(int blockTokens, int maxBlocks, int alphabet, int hashMask, int count) {
        random = Seeds.random("operations_random " + blockTokens);
        PrefixTree tree = new PrefixTree(blockTokens, VOCABULARY, maxBlocks, true, hashMask, PrefixTree.Checks.ALL);
        List<TreeOracle> oracles = new ArrayList<>();
        List<PrefixTree.Root> roots = new ArrayList<>();
        for (int i = 0; i < ROOTS; i++) {
            oracles.add(new TreeOracle(blockTokens));
            roots.add(tree.root(new BlockKey(7, 7, 7, i)));
        }
        int operations = Seeds.count(count, 20 * count);
        int fullSeen = 0;
        for (int tick = 1; tick <= operations; tick++) {
            int which = random.nextInt(ROOTS);
            TreeOracle oracle = oracles.get(which);
            int[] prompt = prompt(blockTokens, alphabet);
            if (random.nextInt(100) < (tick / 500 % 2 == 0 ? 60 : 25) && prompt.length >= blockTokens) {
                fullSeen += insert(tree, roots.get(which), oracle, prompt, tick) ? 1 : 0;
            } else if (oracle.size() > 0) {
                remove(tree, roots.get(which), oracle, tick);
            }
            find(tree, roots.get(which), oracle, prompt(blockTokens, alphabet), tick);
            int size = oracles.stream().mapToInt(TreeOracle::size).sum();
            assertThat(tree.size()).isEqualTo(size);
            assertThat(tree.nodeCount()).isLessThanOrEqualTo(2 * size + ROOTS);
            if (tick % 200 == 0) {
                iterate(tree, roots, oracles);
            }
        }
        if (maxBlocks < 100) {
            assertThat(fullSeen).as("times the tree was full").isPositive();
        }
        empty(tree, roots, oracles);
    }

    /** A new prompt, or one that follows the last one for a while. */
    private int[] prompt(int blockTokens, int alphabet) {
        int[] prompt =
                random.ints(1 + random.nextInt(5 * blockTokens), 0, alphabet).toArray();
        int common = Math.min(prompt.length, random.nextInt(previous.length + 1));
        if (random.nextInt(4) > 0) {
            System.arraycopy(previous, 0, prompt, 0, common);
        }
        previous = prompt;
        return prompt;
    }

    private boolean insert(PrefixTree tree, PrefixTree.Root root, TreeOracle oracle, int[] prompt, int tick) {
        long[] ids = new long[prompt.length / tree.blockTokens()];
        Arrays.setAll(ids, i -> tick * 10L + i);
        PrefixTree.Inserted inserted = tree.insert(root, prompt, ids, tick);
        int shown = inserted.existing() + inserted.added();
        assertThat(shown).isBetween(0, ids.length);
        assertThat(oracle.insert(prompt, Arrays.copyOf(ids, shown))).isEqualTo(inserted.existing());
        oracle.find(prompt).ids().forEach(id -> lastUse.put(id, tick));
        return shown < ids.length;
    }

    private void remove(PrefixTree tree, PrefixTree.Root root, TreeOracle oracle, int tick) {
        List<TreeOracle.Block> all = oracle.all();
        TreeOracle.Block block = all.get(random.nextInt(all.size()));
        tree.longestPrefixMatch(root, block.tokens(), tick, match);
        for (int i = 0; i < match.blocks(); i++) {
            lastUse.put(match.id(i), tick);
        }
        int index = block.prompt().size() / tree.blockTokens() - 1;
        int position = match.position(index);
        assertThat(match.id(index)).isEqualTo(block.id());
        boolean leaf = oracle.isLeaf(block);
        assertThat(tree.isLeaf(position, block.id())).isEqualTo(leaf);
        assertThat(tree.remove(position, block.id() + 1).removed())
                .as("other id")
                .isFalse();
        int parent = index == 0 ? PrefixTree.NONE : match.position(index - 1);
        PrefixTree.Removed removed = tree.remove(position, block.id());
        assertThat(removed.removed()).isEqualTo(leaf);
        if (leaf) {
            oracle.remove(block);
            TreeOracle.Block above = index == 0 ? null : above(oracle, block, tree.blockTokens());
            assertThat(removed.exposed()).isEqualTo(above == null || !oracle.isLeaf(above) ? PrefixTree.NONE : parent);
            assertThat(tree.remove(position, block.id()).removed()).as("again").isFalse();
        }
    }

    private static TreeOracle.Block above(TreeOracle oracle, TreeOracle.Block block, int blockTokens) {
        List<Integer> prompt = block.prompt().subList(0, block.prompt().size() - blockTokens);
        return oracle.all().stream()
                .filter(other -> other.prompt().equals(prompt))
                .findFirst()
                .orElseThrow();
    }

    private void find(PrefixTree tree, PrefixTree.Root root, TreeOracle oracle, int[] prompt, int tick) {
        TreeOracle.Found expected = oracle.find(prompt);
        int matched = tree.longestPrefixMatch(root, prompt, tick, match);
        int blockTokens = tree.blockTokens();
        assertThat(matched).isEqualTo(expected.ids().size() * blockTokens + expected.partialTokens());
        assertThat(match.blocks()).isEqualTo(expected.ids().size());
        ChainKeys keys = new ChainKeys();
        BlockKey key = root.key();
        for (int i = 0; i < match.blocks(); i++) {
            key = keys.next(key, prompt, i * blockTokens, blockTokens);
            assertThat(match.id(i)).isEqualTo(expected.ids().get(i));
            assertThat(match.key(i)).isEqualTo(key);
            assertThat(tree.lastUse(match.position(i))).isEqualTo(tick);
            lastUse.put(match.id(i), tick);
        }
        assertThat(match.partialTokens()).isEqualTo(expected.partialTokens());
        if (match.partialTokens() > 0) {
            assertThat(expected.partial()).contains(match.id(match.blocks()));
            lastUse.put(match.id(match.blocks()), tick);
        }
    }

    private void iterate(PrefixTree tree, List<PrefixTree.Root> roots, List<TreeOracle> oracles) {
        Map<Integer, List<Integer>> prompts = new HashMap<>();
        List<Integer> leaves = new ArrayList<>();
        tree.forEach((root, position, parent, index, id, tokens) -> {
            List<Integer> prompt = new ArrayList<>(parent == PrefixTree.NONE ? List.of() : prompts.get(parent));
            assertThat(index).isEqualTo(prompt.size() / tree.blockTokens());
            Arrays.stream(tokens).forEach(prompt::add);
            assertThat(prompts.put(position, prompt)).isNull();
            TreeOracle oracle = oracles.get(roots.indexOf(root));
            assertThat(oracle.all()).contains(new TreeOracle.Block(prompt, id));
            assertThat(tree.lastUse(position)).isEqualTo(lastUse.get(id));
            if (oracle.isLeaf(new TreeOracle.Block(prompt, id))) {
                leaves.add(position);
            }
        });
        assertThat(prompts).hasSize(tree.size());
        List<Integer> seen = new ArrayList<>();
        tree.forEachLeaf((position, index, id, tick) -> {
            seen.add(position);
            assertThat(index).isEqualTo(prompts.get(position).size() / tree.blockTokens() - 1);
            assertThat(tick).isEqualTo(lastUse.get(id));
        });
        assertThat(seen).containsExactlyInAnyOrderElementsOf(leaves);
    }

    private void empty(PrefixTree tree, List<PrefixTree.Root> roots, List<TreeOracle> oracles) {
        long bytes = tree.memoryBytes();
        for (PrefixTree.Root root : roots) {
            assertThat(tree.drop(root))
                    .isEqualTo(oracles.get(roots.indexOf(root)).size() == 0);
        }
        List<long[]> leaves = new ArrayList<>();
        do {
            leaves.clear();
            tree.forEachLeaf((position, index, id, tick) -> leaves.add(new long[] {position, id}));
            leaves.forEach(leaf ->
                    assertThat(tree.remove((int) leaf[0], leaf[1]).removed()).isTrue());
        } while (!leaves.isEmpty());
        assertThat(tree.size()).isZero();
        roots.forEach(tree::drop);
        assertThat(tree.nodeCount()).as("nothing leaks").isZero();
        assertThat(tree.memoryBytes()).isEqualTo(bytes);
    }
}
