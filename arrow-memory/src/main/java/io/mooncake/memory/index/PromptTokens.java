// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory.index;

import io.mooncake.base.MooncakeException;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/** Checks of prompts: what is wrong is named with its position and value. */
final class PromptTokens {
    static final int CHUNK = 1024;

    private static final int[] NONE = new int[CHUNK];

    private final int vocabulary;

    PromptTokens(int vocabulary) {
        if (vocabulary < 1) {
            throw MooncakeException.invalid("vocabulary", vocabulary, "at least 1");
        }
        this.vocabulary = vocabulary;
    }

    static int[] requireLength(int @Nullable [] tokens) {
        if (tokens == null) {
            throw badLength("tokens", null);
        }
        requireLength(tokens.length);
        return tokens;
    }

    static long[] requireLength(long @Nullable [] tokens) {
        if (tokens == null) {
            throw badLength("tokens", null);
        }
        requireLength(tokens.length);
        return tokens;
    }

    private static void requireLength(int length) {
        if (length == 0 || length > PrefixTree.MAX_TOKENS) {
            throw badLength("tokens.length", length);
        }
    }

    private static MooncakeException badLength(String name, @Nullable Object value) {
        return MooncakeException.invalid(name, value, "1.." + PrefixTree.MAX_TOKENS + " token ids");
    }

    /**
     * Every one of {@code tokens[from..]} is a token of the vocabulary.
     *
     * @param scratch at least {@link #CHUNK} ints
     */
    void requireValid(int[] tokens, int from, int[] scratch) {
        for (int start = from; start < tokens.length; start += CHUNK) {
            int count = Math.min(CHUNK, tokens.length - start);
            System.arraycopy(tokens, start, scratch, 0, count);
            mark(scratch, count);
            int bad = Arrays.mismatch(scratch, 0, count, NONE, 0, count);
            if (bad >= 0) {
                requireToken(start + bad, tokens[start + bad]);
            }
        }
    }

    /**
     * Minus one for each token that is none, else zero. In place and without a branch or a sum: such a loop is compiled to vector
     * instructions.
     */
    private void mark(int[] tokens, int count) {
        int last = vocabulary - 1;
        for (int i = 0; i < count; i++) {
            // Negative: the first has its sign; over the vocabulary: the second has.
            tokens[i] = (tokens[i] | (last - tokens[i])) >> 31;
        }
    }

    /** {@code from} into {@code into}, each checked. */
    void convert(long[] from, int[] into) {
        for (int i = 0; i < from.length; i++) {
            requireToken(i, from[i]);
            into[i] = (int) from[i];
        }
    }

    private void requireToken(int index, long token) {
        if (token < 0 || token >= vocabulary) {
            throw MooncakeException.invalid("tokens[" + index + "]", token, "0.." + (vocabulary - 1));
        }
    }
}
