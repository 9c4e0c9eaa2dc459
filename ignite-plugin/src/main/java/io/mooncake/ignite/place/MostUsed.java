// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.place;

import java.util.ArrayList;
import java.util.List;
import java.util.PriorityQueue;

/** The most used of any number of blocks, no more of them in the heap than are wanted. Not for several threads. */
final class MostUsed {
    private final int max;
    private final PriorityQueue<Held> most = new PriorityQueue<>(Held.MOST_USED.reversed());

    /** @param max how many are wanted, at least 1 */
    MostUsed(int max) {
        this.max = max;
    }

    void add(Held block) {
        if (most.size() < max) {
            most.add(block);
        } else if (Held.MOST_USED.compare(block, most.element()) < 0) {
            most.remove();
            most.add(block);
        }
    }

    /** Those that were used most, these first. */
    List<Held> sorted() {
        List<Held> sorted = new ArrayList<>(most);
        sorted.sort(Held.MOST_USED);
        return sorted;
    }
}
