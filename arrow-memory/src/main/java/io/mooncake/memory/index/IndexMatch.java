// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory.index;

import io.mooncake.memory.BlockKey;
import java.util.Arrays;

/**
 * The result of one match, reusable by its one thread: the blocks matched whole, in order, and at most one that is matched in part.
 */
public final class IndexMatch {
    private static final int INITIAL = 16;

    private long[] values = new long[INITIAL];
    private long[] digests = new long[INITIAL * 4];
    private int blocks;
    private int partialTokens;

    /** Blocks matched whole. */
    public int blocks() {
        return blocks;
    }

    /** Tokens matched of the block behind the whole ones, 0 when there is none; its value and key are at index {@link #blocks()}. */
    public int partialTokens() {
        return partialTokens;
    }

    /** The value of block {@code index}; of the partial one at {@link #blocks()}. */
    public long value(int index) {
        return values[check(index)];
    }

    /** The key of block {@code index}; of the partial one at {@link #blocks()}. */
    public BlockKey key(int index) {
        int at = 4 * check(index);
        return new BlockKey(digests[at], digests[at + 1], digests[at + 2], digests[at + 3]);
    }

    void clear() {
        blocks = 0;
        partialTokens = 0;
    }

    void add(long value, long word0, long word1, long word2, long word3) {
        put(value, word0, word1, word2, word3);
        blocks++;
    }

    void partial(int tokens, long value, long word0, long word1, long word2, long word3) {
        put(value, word0, word1, word2, word3);
        partialTokens = tokens;
    }

    private void put(long value, long word0, long word1, long word2, long word3) {
        if (blocks == values.length) {
            values = Arrays.copyOf(values, 2 * blocks);
            digests = Arrays.copyOf(digests, 8 * blocks);
        }
        values[blocks] = value;
        int at = 4 * blocks;
        digests[at] = word0;
        digests[at + 1] = word1;
        digests[at + 2] = word2;
        digests[at + 3] = word3;
    }

    private int check(int index) {
        return java.util.Objects.checkIndex(index, partialTokens > 0 ? blocks + 1 : blocks);
    }
}
