// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory.policy;

/** Least recently used leaf first. Uses only store a time; a leaf that comes to the top with an older time is queued again. */
final class LruPolicy extends LeafPolicy {
    static final String NAME = "lru";

    private final SlotHeap leaves;

    LruPolicy(int slots) {
        super(NAME, slots, false, false);
        leaves = new SlotHeap(slots);
    }

    @Override
    void onStored(int slot, long block, long parent) {}

    @Override
    void onUse(int slot, int count) {}

    @Override
    void onGone(int slot, boolean evicted) {}

    @Override
    void enqueue(int slot) {
        leaves.put(slot, lastUse(slot));
    }

    @Override
    void dequeue(int slot) {
        leaves.remove(slot);
    }

    @Override
    int next() {
        int slot = leaves.top();
        while (slot != NONE && leaves.topKey() < lastUse(slot)) {
            leaves.put(slot, lastUse(slot));
            slot = leaves.top();
        }
        return slot;
    }

    @Override
    public double score(int slot) {
        return lastUse(slot);
    }

    @Override
    public double worth(long block, long lastUseNanos) {
        return lastUseNanos;
    }
}
