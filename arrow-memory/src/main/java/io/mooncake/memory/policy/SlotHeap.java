// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory.policy;

/** Numbers 0..n-1, each at most once, in a binary heap by a key that may change; the least key is on top. One thread at a time. */
final class SlotHeap {
    static final int NONE = -1;

    private final int[] heap;
    /** Place in the heap plus one, 0 when not in it. */
    private final int[] places;

    private final long[] keys;
    private int size;

    SlotHeap(int numbers) {
        heap = new int[numbers];
        places = new int[numbers];
        keys = new long[numbers];
    }

    /** A key that orders doubles as numbers. */
    static long key(double value) {
        long bits = Double.doubleToRawLongBits(value + 0.0); // no -0.0
        return bits ^ ((bits >> 63) & Long.MAX_VALUE);
    }

    int size() {
        return size;
    }

    boolean contains(int number) {
        return places[number] != 0;
    }

    /** The number with the least key, or {@link #NONE}. */
    int top() {
        return size == 0 ? NONE : heap[0];
    }

    long topKey() {
        return keys[heap[0]];
    }

    long key(int number) {
        return keys[number];
    }

    /** Adds {@code number}, or changes its key. */
    void put(int number, long key) {
        int at = places[number] - 1;
        if (at < 0) {
            keys[number] = key;
            up(size++, number);
        } else if (key <= keys[number]) {
            keys[number] = key;
            up(at, number);
        } else {
            keys[number] = key;
            down(at, number);
        }
    }

    void remove(int number) {
        int at = places[number] - 1;
        if (at < 0) {
            return;
        }
        places[number] = 0;
        int last = heap[--size];
        if (last != number) {
            if (keys[last] <= keys[number]) {
                up(at, last);
            } else {
                down(at, last);
            }
        }
    }

    private void up(int from, int number) {
        long key = keys[number];
        int at = from;
        while (at > 0) {
            int above = (at - 1) >>> 1;
            int other = heap[above];
            if (keys[other] <= key) {
                break;
            }
            set(at, other);
            at = above;
        }
        set(at, number);
    }

    private void down(int from, int number) {
        long key = keys[number];
        int at = from;
        while (2 * at + 1 < size) {
            int child = 2 * at + 1;
            if (child + 1 < size && keys[heap[child + 1]] < keys[heap[child]]) {
                child++;
            }
            int other = heap[child];
            if (keys[other] >= key) {
                break;
            }
            set(at, other);
            at = child;
        }
        set(at, number);
    }

    private void set(int at, int number) {
        heap[at] = number;
        places[number] = at + 1;
    }
}
