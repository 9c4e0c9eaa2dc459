// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.mirror;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.tuple;

import io.mooncake.memory.BlockKey;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import org.junit.jupiter.api.Test;

class RunBuilderTest {
    private static final BlockKey ROOT = key(-1);

    private static List<Run> build(List<SeenBlock> blocks) {
        RunBuilder builder = new RunBuilder(100);
        blocks.forEach(block -> builder.add(block.key(), block.parent(), block.depth(), block.hits()));
        List<Run> runs = new ArrayList<>();
        builder.build(runs::add);
        return runs;
    }

    @Test
    void build_blockSeenTwice_countsOnceWithItsLastHits() {
        List<SeenBlock> blocks = chain(0, 3);
        blocks.add(new SeenBlock(key(2), key(1), 2, 77));

        assertThat(build(blocks)).containsExactly(new Run(key(0), key(2), 2, 3, 300, 77));
    }

    @Test
    void build_moreBlocksThanTheFirstRoom_areAllThere() {
        List<Run> runs = build(chain(0, 100_000));

        assertThat(runs)
                .hasSize(100_000 / RunBuilder.MAX_BLOCKS)
                .allMatch(run -> run.blocks() == RunBuilder.MAX_BLOCKS);
    }

    @Test
    void build_noBlocks_noRuns() {
        assertThat(build(List.of())).isEmpty();
    }

    @Test
    void build_oneChain_oneRunWithHitsOfItsEnd() {
        List<SeenBlock> chain = chain(0, 5);

        assertThat(build(chain)).containsExactly(new Run(key(0), key(4), 4, 5, 500, 4));
    }

    @Test
    void build_longChain_isCutEvery32() {
        List<Run> runs = build(chain(0, 70));

        assertThat(runs)
                .extracting(Run::blocks, Run::depth)
                .containsExactlyInAnyOrder(tuple(32, 31), tuple(32, 63), tuple(6, 69));
    }

    @Test
    void build_branch_cutsBeforeIt() {
        List<SeenBlock> blocks = chain(0, 3);
        blocks.add(view(key(100), key(2), 3));
        blocks.add(view(key(101), key(100), 4));
        blocks.add(view(key(200), key(2), 3));

        assertThat(build(blocks))
                .extracting(run -> run.first().word3(), run -> run.last().word3())
                .containsExactlyInAnyOrder(tuple(0L, 2L), tuple(100L, 101L), tuple(200L, 200L));
    }

    @Test
    void build_promptsWithCommonRoot_firstBlocksAreRunsOfTheirOwn() {
        List<SeenBlock> blocks = chain(0, 2);
        blocks.add(view(key(50), ROOT, 0));

        assertThat(build(blocks)).hasSize(2);
    }

    @Test
    void build_gap_startsANewRun() {
        List<SeenBlock> blocks = chain(0, 6);
        blocks.remove(3);

        assertThat(build(blocks))
                .extracting(Run::depth, Run::blocks)
                .containsExactlyInAnyOrder(tuple(2, 3), tuple(5, 2));
    }

    @Test
    void build_randomTrees_everyBlockIsInOneRunAndOrderDoesNotMatter() {
        long seed = Long.getLong("mooncake.seed", System.nanoTime());
        System.out.println("mooncake.seed=" + seed);
        Random random = new Random(seed);
        for (int round = 0; round < 50; round++) {
            List<SeenBlock> tree = randomTree(random, 1 + random.nextInt(400));
            List<Run> runs = build(tree);
            assertThat(runs.stream().mapToInt(Run::blocks).sum()).isEqualTo(tree.size());
            assertThat(runs).allMatch(run -> run.blocks() >= 1 && run.blocks() <= RunBuilder.MAX_BLOCKS);
            assertThat(runs.stream().map(Run::first).distinct()).hasSize(runs.size());
            requireChains(tree, runs);
            Collections.shuffle(tree, random);
            Set<Run> again = new HashSet<>(build(tree));
            assertThat(again).isEqualTo(new HashSet<>(runs));
        }
    }

    /** Walks each run from its end to its start by parents: an oracle that shares no code with the builder. */
    private static void requireChains(List<SeenBlock> tree, List<Run> runs) {
        Map<BlockKey, SeenBlock> byKey = new HashMap<>();
        Map<BlockKey, Integer> children = new HashMap<>();
        for (SeenBlock view : tree) {
            byKey.put(view.key(), view);
            children.merge(view.parent(), 1, Integer::sum);
        }
        for (Run run : runs) {
            SeenBlock block = byKey.get(run.last());
            for (int i = 1; i < run.blocks(); i++) {
                assertThat(children.get(block.parent())).isEqualTo(1);
                block = byKey.get(block.parent());
            }
            assertThat(block.key()).isEqualTo(run.first());
        }
    }

    private static List<SeenBlock> randomTree(Random random, int size) {
        List<SeenBlock> tree = new ArrayList<>();
        for (int i = 0; i < size; i++) {
            // Mostly on at the newest block, so that long chains come up too.
            int at = tree.isEmpty() || random.nextInt(40) == 0
                    ? -1
                    : random.nextInt(10) == 0 ? random.nextInt(i) : i - 1;
            tree.add(
                    at < 0
                            ? view(key(i), ROOT, 0)
                            : view(key(i), tree.get(at).key(), tree.get(at).depth() + 1));
        }
        return tree;
    }

    private static List<SeenBlock> chain(int from, int blocks) {
        List<SeenBlock> chain = new ArrayList<>();
        for (int i = 0; i < blocks; i++) {
            chain.add(view(key(from + i), i == 0 ? ROOT : key(from + i - 1), i));
        }
        return chain;
    }

    private static SeenBlock view(BlockKey key, BlockKey parent, int depth) {
        return new SeenBlock(key, parent, depth, depth);
    }

    private static BlockKey key(long id) {
        return new BlockKey(id * 0x9E3779B97F4A7C15L, 0, 0, id);
    }
}
