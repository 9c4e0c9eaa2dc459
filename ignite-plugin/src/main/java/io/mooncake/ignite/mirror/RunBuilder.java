// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.mirror;

import io.mooncake.memory.BlockKey;
import java.util.Arrays;
import java.util.function.Consumer;

/**
 * Cuts the blocks of one pool into runs: at branches, at gaps, and at every multiple of {@link #MAX_BLOCKS} from the start of the prompt,
 * so that nodes which hold the same chain cut it at the same places. Linear in the blocks; some hundred bytes each while it lives, in a few arrays, because a
 * pool may have millions.
 *
 * <p>For one thread, once: {@link #add} all blocks, then {@link #build}.
 */
final class RunBuilder {
    /** Most blocks of a run. */
    static final int MAX_BLOCKS = 32;

    private static final int WORDS = 4;
    private static final int NONE = -1;
    private static final int FIRST_BLOCKS = 1_024;

    private final long blockBytes;
    private int size;
    private long[] keys = new long[WORDS * FIRST_BLOCKS];
    private long[] parents = new long[WORDS * FIRST_BLOCKS];
    private int[] depths = new int[FIRST_BLOCKS];
    private long[] hits = new long[FIRST_BLOCKS];
    /** Open addressing: a block plus one at its key's hash or after it; at most half full. */
    private int[] table = new int[2 * FIRST_BLOCKS];

    // Made by build.
    private int[] parentOf = {};
    private int[] children = {};
    private int[] lastChild = {};

    /** @param blockBytes payload of each block */
    RunBuilder(long blockBytes) {
        this.blockBytes = blockBytes;
    }

    /** A block; one that was added before counts once. */
    void add(BlockKey key, BlockKey parent, int depth, long reused) {
        if (size == depths.length) {
            grow();
        }
        put(keys, size, key);
        int slot = slot(keys, size);
        int block = table[slot] - 1;
        if (block == NONE) {
            block = size++;
            table[slot] = block + 1;
        }
        put(parents, block, parent);
        depths[block] = depth;
        hits[block] = reused;
    }

    private static void put(long[] words, int block, BlockKey key) {
        int at = WORDS * block;
        words[at] = key.word0();
        words[at + 1] = key.word1();
        words[at + 2] = key.word2();
        words[at + 3] = key.word3();
    }

    private void grow() {
        int room = Math.multiplyExact(2, size);
        keys = Arrays.copyOf(keys, WORDS * room);
        parents = Arrays.copyOf(parents, WORDS * room);
        depths = Arrays.copyOf(depths, room);
        hits = Arrays.copyOf(hits, room);
        table = new int[2 * room];
        for (int block = 0; block < size; block++) {
            table[slot(keys, block)] = block + 1;
        }
    }

    /** Where the table has the key {@code words[4 * index..]}, or where it would have it. */
    private int slot(long[] words, int index) {
        int from = WORDS * index;
        long hash = (words[from] ^ Long.rotateLeft(words[from + 1], 32)) * 0x9E37_79B9_7F4A_7C15L;
        int slot = (int) ((hash >>> 32) * table.length >>> 32);
        while (table[slot] != 0
                && !Arrays.equals(
                        words,
                        from,
                        from + WORDS,
                        keys,
                        WORDS * (table[slot] - 1),
                        WORDS * (table[slot] - 1) + WORDS)) {
            slot = slot + 1 == table.length ? 0 : slot + 1;
        }
        return slot;
    }

    /** Tells the runs, in no order; each block is in exactly one. */
    void build(Consumer<Run> runs) {
        parentOf = new int[size];
        children = new int[size];
        lastChild = new int[size];
        for (int block = 0; block < size; block++) {
            int parent = table[slot(parents, block)] - 1;
            parentOf[block] = parent;
            if (parent != NONE) {
                children[parent]++;
                lastChild[parent] = block;
            }
        }
        for (int block = 0; block < size; block++) {
            if (isFirst(block)) {
                runs.accept(follow(block));
            }
        }
    }

    private boolean isFirst(int block) {
        int parent = parentOf[block];
        return depths[block] % MAX_BLOCKS == 0 || parent == NONE || children[parent] > 1;
    }

    private Run follow(int first) {
        int last = first;
        int blocks = 1;
        while (blocks < MAX_BLOCKS && children[last] == 1 && !isFirst(lastChild[last])) {
            last = lastChild[last];
            blocks++;
        }
        return new Run(key(first), key(last), depths[last], blocks, blocks * blockBytes, hits[last]);
    }

    private BlockKey key(int block) {
        int at = WORDS * block;
        return new BlockKey(keys[at], keys[at + 1], keys[at + 2], keys[at + 3]);
    }
}
