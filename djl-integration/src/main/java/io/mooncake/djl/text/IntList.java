// SPDX-License-Identifier: Apache-2.0
package io.mooncake.djl.text;

import java.util.Arrays;

/** A growing array of ints. */
final class IntList {
    private int[] items = new int[64];
    private int size;

    void add(int item) {
        if (size == items.length) {
            items = Arrays.copyOf(items, 2 * size);
        }
        items[size++] = item;
    }

    void addAll(int[] more) {
        if (size + more.length > items.length) {
            items = Arrays.copyOf(items, Math.max(2 * size, size + more.length));
        }
        System.arraycopy(more, 0, items, size, more.length);
        size += more.length;
    }

    int[] toArray() {
        return Arrays.copyOf(items, size);
    }
}
