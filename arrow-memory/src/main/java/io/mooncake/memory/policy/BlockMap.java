// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory.policy;

/** Block names to numbers from 0, open addressing, of fixed size. One thread at a time. */
final class BlockMap {
    static final int NONE = -1;

    /** Name, and number plus one, 0 where nothing is: side by side, since to miss the processor's caches is nearly all that a look-up costs. */
    private final long[] entries;

    private final int mask;

    /** @param most entries at one time */
    BlockMap(int most) {
        int size = Integer.highestOneBit(Math.max(most, 8) * 2 - 1) * 2;
        entries = new long[2 * size];
        mask = size - 1;
    }

    /** Mixes a name, whose bits may follow a pattern. */
    static long mix(long name) {
        long bits = (name ^ (name >>> 32)) * 0x9E3779B97F4A7C15L;
        return bits ^ (bits >>> 29);
    }

    private int place(long name) {
        int at = (int) mix(name) & mask;
        while (entries[2 * at + 1] != 0 && entries[2 * at] != name) {
            at = (at + 1) & mask;
        }
        return at;
    }

    int find(long name) {
        return (int) entries[2 * place(name) + 1] - 1;
    }

    void put(long name, int number) {
        int at = place(name);
        entries[2 * at] = name;
        entries[2 * at + 1] = number + 1;
    }

    void remove(long name) {
        int hole = place(name);
        if (entries[2 * hole + 1] == 0) {
            return;
        }
        // Those behind move up, so that no search ends at the hole.
        for (int at = (hole + 1) & mask; entries[2 * at + 1] != 0; at = (at + 1) & mask) {
            int home = (int) mix(entries[2 * at]) & mask;
            if (((at - home) & mask) >= ((at - hole) & mask)) {
                entries[2 * hole] = entries[2 * at];
                entries[2 * hole + 1] = entries[2 * at + 1];
                hole = at;
            }
        }
        entries[2 * hole + 1] = 0;
    }
}
