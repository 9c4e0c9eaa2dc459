// SPDX-License-Identifier: Apache-2.0
package io.mooncake.djl.text;

import java.util.Arrays;

/** A hash map from pairs of symbols to the order of their merge; open addressing, filled once, at most half full. */
final class PairTable {
    private final long[] keys;
    private final int[] orders;
    private final int mask;

    PairTable(int pairs) {
        int capacity = Integer.highestOneBit(Math.max(8, pairs)) * 4;
        keys = new long[capacity];
        Arrays.fill(keys, -1);
        orders = new int[capacity];
        mask = capacity - 1;
    }

    /** Adds a pair unless it is there: the first order counts. */
    void putIfAbsent(int left, int right, int order) {
        int slot = slot(left, right);
        if (keys[slot] == -1) {
            keys[slot] = key(left, right);
            orders[slot] = order;
        }
    }

    /** The order of a pair, or -1. */
    int find(int left, int right) {
        int slot = slot(left, right);
        return keys[slot] == -1 ? -1 : orders[slot];
    }

    private int slot(int left, int right) {
        long key = key(left, right);
        long hash = key * 0x9E3779B97F4A7C15L;
        int slot = (int) (hash >>> 32) & mask;
        while (keys[slot] != -1 && keys[slot] != key) {
            slot = (slot + 1) & mask;
        }
        return slot;
    }

    private static long key(int left, int right) {
        return (long) left << 32 | right;
    }
}
