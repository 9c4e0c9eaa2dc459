// SPDX-License-Identifier: Apache-2.0
package io.mooncake.benchmarks.prefix;

import io.mooncake.memory.index.PrefixMatch;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.Deque;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * Changes the product's tree without a pause: each step leaves a cached prompt at a random token and adds 2 to 32 blocks there; what was
 * added first goes again, block by block from its end, so that the tree keeps its size.
 */
final class TreeWriter {
    /** Room in the tree beside the workload's blocks. */
    static final int SPARE_BLOCKS = 20_000;

    private static final int PROMPTS = 512;

    /** Blocks that an insertion added, in order. */
    private record Added(int[] positions, long[] ids) {}

    private final TreeContender tree;
    private final PrefixMatch match = new PrefixMatch();
    private final SplittableRandom random = new SplittableRandom(1);
    private final int[][] prompts = new int[PROMPTS][];
    private final int[] leaves = new int[PROMPTS];
    private final Deque<Added> added = new ArrayDeque<>();
    private int blocks;
    private long next = 1L << 40;
    private long tokens;

    TreeWriter(TreeContender tree, List<int[]> cached) {
        this.tree = tree;
        for (int i = 0; i < PROMPTS; i++) {
            leaves[i] = random.nextInt(Workload.SHORT);
            prompts[i] = Arrays.copyOf(
                    cached.get(random.nextInt(cached.size())),
                    leaves[i] + Workload.BLOCK_TOKENS * (2 + random.nextInt(31)));
        }
    }

    /** Tokens added so far; of a writer that rests. */
    long tokens() {
        return tokens;
    }

    /** Goes on until it is stopped; one turn at least, so that it has a rate however late its thread came. */
    void run(AtomicBoolean stop) {
        int turn = 0;
        do {
            int which = turn % PROMPTS;
            int[] prompt = prompts[which];
            // Another first token behind the leave is enough for another branch.
            prompt[leaves[which]] = random.nextInt(Workload.VOCABULARY);
            long[] ids = new long[prompt.length / Workload.BLOCK_TOKENS];
            for (int i = 0; i < ids.length; i++) {
                ids[i] = next++;
            }
            int existing = tree.tree.insert(tree.root, prompt, ids, turn).existing();
            tree.tree.longestPrefixMatch(tree.root, prompt, turn, match);
            int[] positions = new int[ids.length - existing];
            for (int i = 0; i < positions.length; i++) {
                positions[i] = match.position(existing + i);
            }
            added.add(new Added(positions, Arrays.copyOfRange(ids, existing, ids.length)));
            blocks += positions.length;
            tokens += (long) positions.length * Workload.BLOCK_TOKENS;
            while (blocks > SPARE_BLOCKS / 2) {
                remove(added.remove());
            }
            turn++;
        } while (!stop.get());
    }

    private void remove(Added old) {
        for (int i = old.positions().length - 1; i >= 0; i--) {
            // One that another branch follows meanwhile is removed with that branch's own, or stays.
            if (!tree.tree.remove(old.positions()[i], old.ids()[i]).removed()) {
                break;
            }
        }
        blocks -= old.positions().length;
    }
}
