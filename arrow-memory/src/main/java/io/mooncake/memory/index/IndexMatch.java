// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory.index;

import io.mooncake.memory.BlockKey;
import java.util.Arrays;
import java.util.Objects;

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

    void add(long value, long[] digestWords, int at) {
        put(value, digestWords, at);
        blocks++;
    }

    void partial(int tokens, long value, long[] digestWords, int at) {
        put(value, digestWords, at);
        partialTokens = tokens;
    }

    private void put(long value, long[] digestWords, int at) {
        if (blocks == values.length) {
            values = Arrays.copyOf(values, 2 * blocks);
            digests = Arrays.copyOf(digests, 8 * blocks);
        }
        values[blocks] = value;
        System.arraycopy(digestWords, at, digests, 4 * blocks, 4);
    }

    private int check(int index) {
        return Objects.checkIndex(index, partialTokens > 0 ? blocks + 1 : blocks);
    }
}
