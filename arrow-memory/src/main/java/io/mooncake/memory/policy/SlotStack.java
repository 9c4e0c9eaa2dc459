// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory.policy;

import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicIntegerArray;

/**
 * Slots handed from any threads to the one that holds the change lock. Only ever taken whole, so it knows no ABA. A slot is on it at most
 * once: whoever pushes has won a transition that only the taker undoes.
 */
final class SlotStack {
    private final AtomicIntegerArray next;
    /** Slot plus one, 0 at the end. */
    private final AtomicInteger head = new AtomicInteger();

    SlotStack(int slots) {
        next = new AtomicIntegerArray(slots);
    }

    void push(int slot) {
        int top;
        do {
            top = head.get();
            next.set(slot, top);
        } while (!head.compareAndSet(top, slot + 1));
    }

    boolean isEmpty() {
        return head.get() == 0;
    }

    /** All slots, the last pushed first: the first of them, to be followed by {@link #after}. */
    int takeAll() {
        return head.get() == 0 ? EvictionPolicy.NONE : head.getAndSet(0) - 1;
    }

    /** All slots, the first pushed first. */
    int takeAllInOrder() {
        int reversed = EvictionPolicy.NONE;
        int slot = takeAll();
        while (slot != EvictionPolicy.NONE) {
            int after = after(slot);
            next.set(slot, reversed + 1);
            reversed = slot;
            slot = after;
        }
        return reversed;
    }

    /** The slot behind {@code slot} in what was taken; to be read before {@code slot} may be pushed again. */
    int after(int slot) {
        return next.get(slot) - 1;
    }
}
