// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory.block;

import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicIntegerArray;
import java.util.concurrent.atomic.AtomicLongArray;
import java.util.function.IntPredicate;

/**
 * Which block goes next: the least recently used one among the leaves, those that no cached block follows; an inner block only when every
 * leaf is leased.
 *
 * <p>Leaves wait in a binary heap by the time of their last use as known when they were queued. Using a block only stores a time, without
 * touching the heap; a leaf that comes to the top with an older time than its real one is queued again. A leaf that comes to the top
 * while leased is <i>parked</i>: out of the heap until its last lease ends, so that a pool full of leased blocks costs no search. One that
 * can't go for another reason, a hard pin or a move, which end without a word, is <i>set aside</i> until the end of that poll.
 *
 * <pre>
 *   out --add--> queued --poll: evicted, or not a leaf--> out
 *                queued --poll: pinned, moving--> queued again
 *                queued --poll: leased--> parked --last release--> returned --next poll--> queued or out
 * </pre>
 *
 * <p>Threading: {@link #add} and {@link #poll} by one thread at a time (the pool's change lock); {@link #touch} and {@link #released} by any.
 * Parking and releasing meet in the usual crossing: the one sets parked and then reads the references, the other drops the reference and then
 * reads parked, both volatile, so at least one sees the other, and a compare-and-set lets one of them act.
 */
public final class EvictionOrder {
    private static final int OUT = 0;
    private static final int QUEUED = 1;
    private static final int PARKED = 2;
    private static final int RETURNED = 3;

    private final BlockSlab slab;
    private final AtomicLongArray lastUse;
    private final AtomicIntegerArray places;
    /** Returned slots: a stack by {@code returnedNext}, only ever taken whole, so it knows no ABA. Slot plus one, 0 at the end. */
    private final AtomicInteger returnedHead = new AtomicInteger();

    private final AtomicIntegerArray returnedNext;
    private final int[] heapSlots;
    private final long[] heapTimes;
    private int heapSize;
    /** Slots that are queued but not in the heap: a list by {@code returnedNext}, which serves those on the stack. Slot plus one. */
    private int setAside;

    public EvictionOrder(BlockSlab slab) {
        this.slab = slab;
        int slots = slab.slots();
        lastUse = new AtomicLongArray(slots);
        places = new AtomicIntegerArray(slots);
        returnedNext = new AtomicIntegerArray(slots);
        heapSlots = new int[slots];
        heapTimes = new long[slots];
    }

    /** Notes a use at {@code nanos} of the pool's monotonic clock. */
    public void touch(int slot, long nanos) {
        lastUse.setOpaque(slot, nanos);
    }

    /** The last use. */
    public long lastUse(int slot) {
        return lastUse.getOpaque(slot);
    }

    /** A sealed block became a leaf. */
    public void add(int slot) {
        if (places.compareAndSet(slot, OUT, QUEUED)) {
            push(slot);
        }
    }

    /** The last reference on the slot was dropped. */
    public void released(int slot) {
        if (places.get(slot) == PARKED && places.compareAndSet(slot, PARKED, RETURNED)) {
            int head;
            do {
                head = returnedHead.get();
                returnedNext.set(slot, head);
            } while (!returnedHead.compareAndSet(head, slot + 1));
        }
    }

    /**
     * Takes the block that goes next and puts it in state evicting.
     *
     * @param isLeaf whether no cached block follows the one in a slot
     * @return the slot, or {@link BlockSlab#NONE} when every block is leased, pinned or moving
     */
    public int poll(IntPredicate isLeaf) {
        int slot = pollOnce(isLeaf);
        while (setAside != 0) {
            int back = setAside - 1;
            setAside = returnedNext.get(back);
            push(back);
        }
        return slot;
    }

    private int pollOnce(IntPredicate isLeaf) {
        do {
            takeReturned();
            int slot = pollLeaf(isLeaf);
            slot = slot == BlockSlab.NONE ? pollAny() : slot;
            if (slot != BlockSlab.NONE) {
                return slot;
            }
        } while (heapSize > 0 || returnedHead.get() != 0);
        return BlockSlab.NONE;
    }

    private int pollLeaf(IntPredicate isLeaf) {
        while (heapSize > 0) {
            int slot = heapSlots[0];
            long queuedAt = heapTimes[0];
            pop();
            if (!slab.isSealed(slot) || !isLeaf.test(slot)) {
                places.set(slot, OUT);
            } else if (lastUse(slot) - queuedAt > 0) {
                push(slot);
            } else if (slab.startEviction(slot)) {
                places.set(slot, OUT);
                return slot;
            } else if (slab.references(slot) > 0) {
                park(slot);
            } else {
                returnedNext.set(slot, setAside);
                setAside = slot + 1;
            }
        }
        return BlockSlab.NONE;
    }

    private void park(int slot) {
        places.set(slot, PARKED);
        if (slab.references(slot) == 0) {
            released(slot);
        }
    }

    /** The heap is empty: every leaf is leased. What remains are inner blocks, whose leased followers are held by their keys alone. */
    private int pollAny() {
        int oldest = BlockSlab.NONE;
        for (int slot = 0; slot < slab.slots(); slot++) {
            int place = places.get(slot);
            if ((place == OUT || place == PARKED)
                    && slab.isIdle(slot)
                    && (oldest == BlockSlab.NONE || lastUse(slot) - lastUse(oldest) < 0)) {
                oldest = slot;
            }
        }
        if (oldest == BlockSlab.NONE) {
            return BlockSlab.NONE;
        }
        boolean unparked = places.compareAndSet(oldest, PARKED, OUT);
        if (places.get(oldest) == OUT && slab.startEviction(oldest)) {
            return oldest;
        }
        if (unparked) {
            park(oldest); // leased again since, and if not that, tried again in its turn
        }
        return BlockSlab.NONE;
    }

    private void takeReturned() {
        int next = returnedHead.getAndSet(0);
        while (next != 0) {
            int slot = next - 1;
            next = returnedNext.get(slot);
            places.set(slot, QUEUED);
            push(slot);
        }
    }

    private void push(int slot) {
        long time = lastUse(slot);
        int at = heapSize++;
        while (at > 0) {
            int above = (at - 1) >>> 1;
            if (heapTimes[above] - time <= 0) {
                break;
            }
            heapSlots[at] = heapSlots[above];
            heapTimes[at] = heapTimes[above];
            at = above;
        }
        heapSlots[at] = slot;
        heapTimes[at] = time;
    }

    private void pop() {
        int last = --heapSize;
        int slot = heapSlots[last];
        long time = heapTimes[last];
        int at = 0;
        while (2 * at + 1 < last) {
            int below = 2 * at + 1;
            if (below + 1 < last && heapTimes[below + 1] - heapTimes[below] < 0) {
                below++;
            }
            if (time - heapTimes[below] <= 0) {
                break;
            }
            heapSlots[at] = heapSlots[below];
            heapTimes[at] = heapTimes[below];
            at = below;
        }
        heapSlots[at] = slot;
        heapTimes[at] = time;
    }
}
