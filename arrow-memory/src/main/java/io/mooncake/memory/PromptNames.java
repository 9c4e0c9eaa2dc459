// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory;

import io.mooncake.memory.block.ChainKeys;
import java.util.Arrays;

/**
 * The names by which a policy knows the blocks of a prompt: the first word of each chain key, and for a last block that is not full, which has no
 * key, a mix of the key before it and its tokens.
 */
final class PromptNames {
    private PromptNames() {}

    /**
     * @param known names of the blocks that were found, in order
     * @param whole how many those are
     * @param lastKey key of the last of them, or the root
     * @param most names wanted
     * @return at most {@code most} names
     */
    static long[] of(long[] known, int whole, BlockKey lastKey, int[] tokens, int blockTokens, int most) {
        int count = Math.min((int) (((long) tokens.length + blockTokens - 1) / blockTokens), most);
        long[] names = Arrays.copyOf(known, count);
        if (count <= whole) {
            return names;
        }
        int full = Math.min(tokens.length / blockTokens, count);
        BlockKey key = lastKey;
        if (full > whole) {
            BlockKey[] chain = new ChainKeys().chain(lastKey, tokens, whole * blockTokens, blockTokens, full - whole);
            for (int i = whole; i < full; i++) {
                names[i] = chain[i - whole].word0();
            }
            key = chain[full - whole - 1];
        }
        if (full < count) {
            names[full] = partial(key, tokens, full * blockTokens);
        }
        return names;
    }

    private static long partial(BlockKey before, int[] tokens, int from) {
        long mixed = before.word1();
        for (int i = from; i < tokens.length; i++) {
            mixed = (mixed ^ tokens[i]) * 0x9E3779B97F4A7C15L;
            mixed ^= mixed >>> 29;
        }
        return mixed;
    }
}
