// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory.index;

import io.mooncake.base.MooncakeException;
import io.mooncake.memory.BlockKey;
import java.util.Arrays;
import java.util.Objects;

/**
 * The result of one match in a {@link PrefixTree}, reusable by its one thread: the blocks matched whole, in order, and at most one that is
 * matched in part. Its arrays grow to the longest match and stay, so a reused one makes no garbage.
 */
public final class PrefixMatch {
    private static final int INITIAL = 16;

    private final boolean withKeys;
    private long[] ids = new long[INITIAL];
    private long[] keys;
    private int blocks;
    private int partialTokens;
    private long partialId;
    private int partialPosition;
    /** Triples: the first slot of neighbouring ones, how many, and the node whose blocks these are, NONE when it has more of them. */
    private int[] runs = new int[3 * INITIAL];

    private int runInts;

    /** Without keys. */
    public PrefixMatch() {
        this(false);
    }

    /**
     * @param withKeys whether the chain keys of the blocks are wanted, of a tree that keeps them
     */
    public PrefixMatch(boolean withKeys) {
        this.withKeys = withKeys;
        keys = new long[withKeys ? 4 * INITIAL : 0];
    }

    /** Blocks matched whole. */
    public int blocks() {
        return blocks;
    }

    /** Tokens matched of the block behind the whole ones, 0 when there is none. */
    public int partialTokens() {
        return partialTokens;
    }

    /** The id of block {@code index}; of the partial one at {@link #blocks()}. */
    public long id(int index) {
        return Objects.checkIndex(index, count()) < blocks ? ids[index] : partialId;
    }

    /** The position of block {@code index} in the tree; of the partial one at {@link #blocks()}. */
    public int position(int index) {
        if (Objects.checkIndex(index, count()) == blocks) {
            return partialPosition;
        }
        int run = 0;
        int before = 0;
        while (before + runs[run + 1] <= index) {
            before += runs[run + 1];
            run += 3;
        }
        return runs[run] + index - before;
    }

    /** The chain key of whole block {@code index}. */
    public BlockKey key(int index) {
        if (!withKeys) {
            throw MooncakeException.invalid("match", "one without keys", "new PrefixMatch(true)");
        }
        int at = 4 * Objects.checkIndex(index, blocks);
        return new BlockKey(keys[at], keys[at + 1], keys[at + 2], keys[at + 3]);
    }

    private int count() {
        return partialTokens > 0 ? blocks + 1 : blocks;
    }

    // ------------------------------------------------------------------------------------------------------------
    // for the tree

    boolean withKeys() {
        return withKeys;
    }

    void clear() {
        blocks = 0;
        partialTokens = 0;
        runInts = 0;
    }

    /**
     * Adds {@code count} blocks in neighbouring slots.
     *
     * @param node that these are all blocks of, or NONE
     * @param from place of the first in its page
     */
    void add(int slot, int count, int node, long[] idPage, long[] keyPage, int from) {
        if (blocks + count > ids.length) {
            int size = Math.max(2 * ids.length, blocks + count);
            ids = Arrays.copyOf(ids, size);
            keys = Arrays.copyOf(keys, withKeys ? 4 * size : 0);
        }
        System.arraycopy(idPage, from, ids, blocks, count);
        if (withKeys) {
            System.arraycopy(keyPage, 4 * from, keys, 4 * blocks, 4 * count);
        }
        blocks += count;
        if (runInts == runs.length) {
            runs = Arrays.copyOf(runs, 2 * runs.length);
        }
        runs[runInts] = slot;
        runs[runInts + 1] = count;
        runs[runInts + 2] = node;
        runInts += 3;
    }

    void partial(int tokens, int slot, long id) {
        partialTokens = tokens;
        partialPosition = slot;
        partialId = id;
    }

    /** Notes the use of everything found: once a node where all its blocks were, else once a block. */
    void touch(TreeBlocks blocks, TreeNodes nodes, int tick) {
        for (int run = 0; run < runInts; run += 3) {
            if (runs[run + 2] == TreeNodes.NONE) {
                blocks.touch(runs[run], runs[run + 1], tick);
            } else {
                nodes.touch(runs[run + 2], tick);
            }
        }
        if (partialTokens > 0) {
            blocks.touch(partialPosition, 1, tick);
        }
    }
}
