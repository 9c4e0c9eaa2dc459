// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory.index;

import io.mooncake.base.MooncakeException;
import org.jspecify.annotations.Nullable;

/** Checks of prompts: what is wrong is named with its position and value. Safe for all threads; allocates nothing. */
public final class PromptTokens {
    private static final int CHUNK = 1024;

    private final int vocabulary;

    /**
     * @param vocabulary token ids are below it, at least 1
     */
    public PromptTokens(int vocabulary) {
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
     * {@code tokens} is a prompt of 1..{@link PrefixTree#MAX_TOKENS} tokens of the vocabulary.
     *
     * @return it
     * @throws MooncakeException INVALID_ARGUMENT naming its length, or position and value of the first token that is none
     */
    public int[] requireValid(int @Nullable [] tokens) {
        int[] prompt = requireLength(tokens);
        requireValid(prompt, 0);
        return prompt;
    }

    /** Every one of {@code tokens[from..]} is a token of the vocabulary. */
    void requireValid(int[] tokens, int from) {
        for (int start = from; start < tokens.length; start += CHUNK) {
            int end = Math.min(start + CHUNK, tokens.length);
            if (bad(tokens, start, end)) {
                for (int i = start; i < end; i++) {
                    requireToken(i, tokens[i]);
                }
            }
        }
    }

    /** Without a branch a token, so that it is compiled to vector instructions. */
    private boolean bad(int[] tokens, int start, int end) {
        int last = vocabulary - 1;
        int signs = 0;
        for (int i = start; i < end; i++) {
            // Negative: the first has its sign; over the vocabulary: the second has.
            signs |= tokens[i] | (last - tokens[i]);
        }
        return signs < 0;
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
