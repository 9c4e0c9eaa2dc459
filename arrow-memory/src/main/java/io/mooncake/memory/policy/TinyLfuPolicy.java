// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory.policy;

/**
 * W-TinyLFU (Einziger, Friedman and Manes, ACM TOS 2017) over leaves: a window of what is new, least recently used first, before a segmented
 * LRU; what falls out of the window must have been used more often, by the sketch, than what would have to go for it. While slots are
 * free, what doesn't fit into the window goes to the main part without a contest.
 */
final class TinyLfuPolicy extends LeafPolicy {
    static final String NAME = "w-tinylfu";

    private static final byte WINDOW = 0;
    private static final byte PROBATION = 1;
    private static final byte PROTECTED = 2;
    private static final double PROTECTED_SHARE = 0.8;

    private final SlotHeap[] parts;
    private final int[] sizes = new int[3];
    private final byte[] part;
    private final long[] order;
    private final long[] blocks;
    private final FrequencySketch sketch;
    private final int windowTarget;
    private final int protectedTarget;
    private int stored;
    private boolean filled;
    private long tick;

    /** @param windowShare of the slots for the window; Caffeine begins with 0.01 */
    TinyLfuPolicy(int slots, double windowShare) {
        super(NAME, slots, true, false);
        parts = new SlotHeap[] {new SlotHeap(slots), new SlotHeap(slots), new SlotHeap(slots)};
        part = new byte[slots];
        order = new long[slots];
        blocks = new long[slots];
        sketch = new FrequencySketch(slots);
        windowTarget = Math.max(1, (int) (slots * windowShare));
        protectedTarget = (int) ((slots - windowTarget) * PROTECTED_SHARE);
    }

    @Override
    void onStored(int slot, long block, long parent) {
        filled |= ++stored == slots();
        blocks[slot] = block;
        part[slot] = filled || sizes[WINDOW] < windowTarget ? WINDOW : PROBATION;
        sizes[part[slot]]++;
        order[slot] = ++tick;
        sketch.increment(block);
    }

    @Override
    void onUse(int slot, int count) {
        for (int i = 0; i < Math.min(count, 15); i++) {
            sketch.increment(blocks[slot]);
        }
        move(slot, part[slot] == WINDOW ? WINDOW : PROTECTED);
        if (sizes[PROTECTED] > protectedTarget) {
            int oldest = parts[PROTECTED].top();
            if (oldest != NONE) {
                move(oldest, PROBATION);
            }
        }
    }

    private void move(int slot, byte to) {
        boolean queued = parts[part[slot]].contains(slot);
        parts[part[slot]].remove(slot);
        sizes[part[slot]]--;
        part[slot] = to;
        sizes[to]++;
        order[slot] = ++tick;
        if (queued) {
            parts[to].put(slot, order[slot]);
        }
    }

    @Override
    void onGone(int slot, boolean evicted) {
        stored--;
        sizes[part[slot]]--;
    }

    @Override
    void enqueue(int slot) {
        parts[part[slot]].put(slot, order[slot]);
    }

    @Override
    void dequeue(int slot) {
        parts[part[slot]].remove(slot);
    }

    @Override
    int next() {
        int victim = parts[PROBATION].size() > 0 ? parts[PROBATION].top() : parts[PROTECTED].top();
        int candidate = parts[WINDOW].top();
        if (victim == NONE || candidate == NONE) {
            return victim == NONE ? candidate : victim;
        }
        if (sizes[WINDOW] < windowTarget) {
            return victim;
        }
        if (sketch.frequency(blocks[candidate]) > sketch.frequency(blocks[victim])) {
            move(candidate, PROBATION);
            return victim;
        }
        return candidate;
    }

    @Override
    public double score(int slot) {
        return sketch.frequency(blocks[slot]);
    }

    @Override
    public double worth(long block, long lastUseNanos) {
        return sketch.frequency(block);
    }
}
