// SPDX-License-Identifier: Apache-2.0
package io.mooncake.djl.text;

import java.util.Arrays;

/**
 * Merges neighbours until none is left that may merge: always the pair with the lowest order, the leftmost among equals. Symbols
 * are numbers of the caller's choice.
 *
 * <p>A heap holds candidate pairs as order and position in one long; the symbols form a linked list over arrays. A candidate whose
 * pair has changed meanwhile is recognised by its order, which is looked up again. So n symbols cost n log n, also in a text of one
 * long word.
 */
final class Merger {
    /** What two neighbours become. */
    interface Pairs {
        /** The order of merging these two, lower first, or -1 where they do not merge. */
        int order(int left, int right);

        /** The symbol they become; asked only for pairs that merge. */
        int merged(int left, int right);
    }

    private final Pairs pairs;
    private int[] symbols = new int[0];
    private int[] next = new int[0];
    private int[] previous = new int[0];
    private long[] heap = new long[16];
    private int heapSize;

    Merger(Pairs pairs) {
        this.pairs = pairs;
    }

    /** Merges the symbols in place and returns how many remain, at the front of {@code in}. */
    int merge(int[] in) {
        int count = in.length;
        symbols = in;
        next = new int[count];
        previous = new int[count];
        heapSize = 0;
        for (int i = 0; i < count; i++) {
            previous[i] = i - 1;
            next[i] = i + 1 < count ? i + 1 : -1;
        }
        for (int i = 0; i + 1 < count; i++) {
            offer(i);
        }
        while (heapSize > 0) {
            long top = poll();
            int left = (int) top;
            if (symbols[left] >= 0 && next[left] >= 0 && order(left) == (int) (top >>> 32)) {
                join(left);
            }
        }
        int out = 0;
        for (int i = 0; i >= 0 && i < count; i = next[i]) {
            in[out++] = symbols[i];
        }
        return out;
    }

    private int order(int left) {
        return pairs.order(symbols[left], symbols[next[left]]);
    }

    private void join(int left) {
        int right = next[left];
        symbols[left] = pairs.merged(symbols[left], symbols[right]);
        symbols[right] = -1;
        next[left] = next[right];
        if (next[left] >= 0) {
            previous[next[left]] = left;
            offer(left);
        }
        if (previous[left] >= 0) {
            offer(previous[left]);
        }
    }

    private void offer(int left) {
        int order = order(left);
        if (order < 0) {
            return;
        }
        if (heapSize == heap.length) {
            heap = Arrays.copyOf(heap, 2 * heapSize);
        }
        long item = (long) order << 32 | left;
        int at = heapSize++;
        while (at > 0 && heap[(at - 1) / 2] > item) {
            heap[at] = heap[(at - 1) / 2];
            at = (at - 1) / 2;
        }
        heap[at] = item;
    }

    private long poll() {
        long top = heap[0];
        long item = heap[--heapSize];
        int at = 0;
        for (int child = 1; child < heapSize; child = 2 * at + 1) {
            if (child + 1 < heapSize && heap[child + 1] < heap[child]) {
                child++;
            }
            if (heap[child] >= item) {
                break;
            }
            heap[at] = heap[child];
            at = child;
        }
        heap[at] = item;
        return top;
    }
}
