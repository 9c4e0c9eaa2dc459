// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory.policy;

/** Block names to numbers from 0, open addressing, of fixed size. One thread at a time. */
final class BlockMap {
    static final int NONE = -1;

    private final long[] names;
    /** Number plus one, 0 where nothing is. */
    private final int[] numbers;

    private final int mask;

    /** @param most entries at one time */
    BlockMap(int most) {
        int size = Integer.highestOneBit(Math.max(most, 8) * 2 - 1) * 2;
        names = new long[size];
        numbers = new int[size];
        mask = size - 1;
    }

    /** Mixes a name, whose bits may follow a pattern. */
    static long mix(long name) {
        long bits = (name ^ (name >>> 32)) * 0x9E3779B97F4A7C15L;
        return bits ^ (bits >>> 29);
    }

    private int place(long name) {
        int at = (int) mix(name) & mask;
        while (numbers[at] != 0 && names[at] != name) {
            at = (at + 1) & mask;
        }
        return at;
    }

    int find(long name) {
        return numbers[place(name)] - 1;
    }

    void put(long name, int number) {
        int at = place(name);
        names[at] = name;
        numbers[at] = number + 1;
    }

    void remove(long name) {
        int hole = place(name);
        if (numbers[hole] == 0) {
            return;
        }
        // Those behind move up, so that no search ends at the hole.
        for (int at = (hole + 1) & mask; numbers[at] != 0; at = (at + 1) & mask) {
            int home = (int) mix(names[at]) & mask;
            if (((at - home) & mask) >= ((at - hole) & mask)) {
                names[hole] = names[at];
                numbers[hole] = numbers[at];
                hole = at;
            }
        }
        numbers[hole] = 0;
    }
}
