// SPDX-License-Identifier: Apache-2.0
package io.mooncake.it.support;

import java.util.Arrays;
import java.util.Random;

/** Prompts as token ids of the tiny model. */
public final class Prompts {
    private static final int VOCABULARY = 256;

    private Prompts() {}

    /** {@code count} ids by {@code seed}. */
    public static int[] random(long seed, int count) {
        return new Random(seed).ints(count, 0, VOCABULARY).toArray();
    }

    /** {@code prefix} followed by {@code suffix}. */
    public static int[] join(int[] prefix, int[] suffix) {
        int[] joined = Arrays.copyOf(prefix, prefix.length + suffix.length);
        System.arraycopy(suffix, 0, joined, prefix.length, suffix.length);
        return joined;
    }
}
