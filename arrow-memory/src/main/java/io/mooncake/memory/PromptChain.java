// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory;

import io.mooncake.memory.block.ChainKeys;
import java.util.Arrays;
import java.util.List;

/**
 * Keys of the full blocks of one prompt from some block on, each made once, for all who want them: the names that its policy is told, a tier below,
 * and the writer behind the look-up.
 *
 * <p>Threading: {@link #all} and {@link #names} by one thread; when they are done with, {@link #keysOf} by all that got it safely.
 */
final class PromptChain {
    private final int blockTokens;
    private final int first;
    /** Of the prompt, from block {@code first} on: a copy, since what the caller does with its array must not change what a key stands for. */
    private final int[] tokens;

    private final BlockKey before;
    private final int full;
    private BlockKey[] keys = new BlockKey[0];

    /**
     * @param before key of the block before {@code first}, or the root
     * @param first block whose key may be wanted, at most the number of full blocks
     */
    PromptChain(BlockKey before, int first, int[] prompt, int blockTokens) {
        this.before = before;
        this.first = first;
        this.blockTokens = blockTokens;
        tokens = Arrays.copyOfRange(prompt, first * blockTokens, prompt.length);
        full = tokens.length / blockTokens;
    }

    int first() {
        return first;
    }

    /** Keys of all full blocks from {@link #first} on. */
    List<BlockKey> all() {
        make(full);
        return Arrays.asList(keys);
    }

    private void make(int count) {
        int made = keys.length;
        if (made < count) {
            BlockKey last = made == 0 ? before : keys[made - 1];
            BlockKey[] more = new ChainKeys().chain(last, tokens, made * blockTokens, blockTokens, count - made);
            keys = Arrays.copyOf(keys, count);
            System.arraycopy(more, 0, keys, made, more.length);
        }
    }

    /**
     * Fills in the names by which a policy knows the blocks from {@link #first} on: the first word of each key, and for a last block that is not
     * full, which has no key, a mix of the key before it and its tokens.
     *
     * @param names an element a block of the prompt, or fewer
     */
    void names(long[] names) {
        int named = Math.max(0, Math.min(full, names.length - first));
        make(named);
        for (int i = 0; i < named; i++) {
            names[first + i] = keys[i].word0();
        }
        if (first + full < names.length) {
            names[first + full] = partial(full == 0 ? before : keys[full - 1]);
        }
    }

    private long partial(BlockKey last) {
        long mixed = last.word1();
        for (int i = full * blockTokens; i < tokens.length; i++) {
            mixed = (mixed ^ tokens[i]) * 0x9E3779B97F4A7C15L;
            mixed ^= mixed >>> 29;
        }
        return mixed;
    }

    /**
     * Keys of blocks {@code from..to} of {@code other}, whose blocks before {@code from} are those of the prompt; taken from here as far as they
     * have the same tokens.
     *
     * @param from {@link #first} or later
     * @param parent key of the block before {@code from}, or the root
     */
    BlockKey[] keysOf(int[] other, int from, int to, BlockKey parent) {
        int differs = Arrays.mismatch(tokens, 0, tokens.length, other, first * blockTokens, other.length);
        int same = (differs < 0 ? tokens.length : differs) / blockTokens;
        int known = Math.min(first + Math.min(keys.length, same), to);
        if (known <= from) {
            return new ChainKeys().chain(parent, other, from * blockTokens, blockTokens, to - from);
        }
        BlockKey[] chain = Arrays.copyOfRange(keys, from - first, to - first);
        if (known < to) {
            BlockKey last = chain[known - from - 1];
            BlockKey[] rest = new ChainKeys().chain(last, other, known * blockTokens, blockTokens, to - known);
            System.arraycopy(rest, 0, chain, known - from, rest.length);
        }
        return chain;
    }
}
