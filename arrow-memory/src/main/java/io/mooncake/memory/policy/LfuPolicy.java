// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory.policy;

/** Least often used leaf first, among equals the least recently used. Counts are of a block's present stay. */
final class LfuPolicy extends LeafPolicy {
    static final String NAME = "lfu";

    private static final int TICK_BITS = 40;

    private final SlotHeap leaves;
    private final long[] keys;
    private long tick;

    LfuPolicy(int slots) {
        super(NAME, slots, true, false);
        leaves = new SlotHeap(slots);
        keys = new long[slots];
    }

    @Override
    void onStored(int slot, long block, long parent) {
        keys[slot] = key(1);
    }

    /** Count above, order of the last use below. */
    private long key(long count) {
        return count << TICK_BITS | (++tick & ((1L << TICK_BITS) - 1));
    }

    @Override
    void onUse(int slot, int count) {
        keys[slot] = key(Math.min((keys[slot] >>> TICK_BITS) + count, (1 << 20) - 1));
        if (leaves.contains(slot)) {
            leaves.put(slot, keys[slot]);
        }
    }

    @Override
    void onGone(int slot, boolean evicted) {}

    @Override
    void enqueue(int slot) {
        leaves.put(slot, keys[slot]);
    }

    @Override
    void dequeue(int slot) {
        leaves.remove(slot);
    }

    @Override
    int next() {
        return leaves.top();
    }

    @Override
    public double score(int slot) {
        return keys[slot] >>> TICK_BITS;
    }
}
