// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory;

import java.util.SplittableRandom;

/** Randomness of tests: printed, and replayed by {@code -Dmooncake.seed=N}. Counts grow under {@code -Dmooncake.long=true}. */
public final class Seeds {
    private Seeds() {}

    public static SplittableRandom random(String test) {
        long seed = Long.getLong("mooncake.seed", System.nanoTime());
        System.out.println(test + ": -Dmooncake.seed=" + seed);
        return new SplittableRandom(seed);
    }

    public static int count(int small, int large) {
        return Boolean.getBoolean("mooncake.long") ? large : small;
    }
}
