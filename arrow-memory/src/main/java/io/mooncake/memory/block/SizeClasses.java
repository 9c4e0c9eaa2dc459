// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory.block;

/**
 * The sizes that blocks come in: four for each doubling, so that a block is at most a quarter longer than what was asked for.
 *
 * <pre>
 *   class   1  2  3  4   5  6  7  8    9  10  11  12   13 ...
 *   units   1  2  3  4   5  6  7  8   10  12  14  16   20 ...
 * </pre>
 */
final class SizeClasses {
    private SizeClasses() {}

    /** The smallest class that holds {@code units}, at least 1. */
    static int classOf(long units) {
        if (units <= 4) {
            return (int) units;
        }
        int log = 63 - Long.numberOfLeadingZeros(units - 1);
        int within = (int) ((units - 1) >>> (log - 2)) & 3;
        return 4 * (log - 2) + 5 + within;
    }

    /** Units of a block of {@code sizeClass}. */
    static long units(int sizeClass) {
        if (sizeClass <= 4) {
            return sizeClass;
        }
        return (long) (5 + (sizeClass - 5) % 4) << ((sizeClass - 5) / 4);
    }
}
