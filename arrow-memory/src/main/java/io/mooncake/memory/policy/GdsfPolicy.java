// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory.policy;

/**
 * Greedy-dual by frequency (GDSF, Cherkasova 1998) for blocks of one size and cost: a block's value is its count of uses above the
 * value at which the last eviction took place; the leaf of least value goes. Counts of blocks that went may be kept for a while.
 */
final class GdsfPolicy extends LeafPolicy {
    static final String NAME = "gdsf";

    private final SlotHeap leaves;
    private final double[] values;
    private final int[] counts;
    private final long[] blocks;
    private final GhostQueue gone;
    private final double exponent;
    private double floor;

    /**
     * @param exponent of the count: 1 is the original
     * @param history counts of blocks that went to keep, a slot: the original keeps none
     */
    GdsfPolicy(int slots, double exponent, int history) {
        super(NAME, slots, true, false);
        leaves = new SlotHeap(slots);
        values = new double[slots];
        counts = new int[slots];
        blocks = new long[slots];
        gone = new GhostQueue((int) Math.min((long) history * slots, 1 << 25));
        this.exponent = exponent;
    }

    @Override
    void onStored(int slot, long block, long parent) {
        blocks[slot] = block;
        counts[slot] = gone.count(block);
        gone.remove(block);
        onUse(slot, 1);
    }

    @Override
    void onUse(int slot, int count) {
        counts[slot] += count;
        values[slot] = floor + (exponent == 1 ? counts[slot] : Math.pow(counts[slot], exponent));
        if (leaves.contains(slot)) {
            leaves.put(slot, SlotHeap.key(values[slot]));
        }
    }

    @Override
    void onGone(int slot, boolean evicted) {
        gone.add(blocks[slot], counts[slot]);
        if (evicted) {
            floor = Math.max(floor, values[slot]);
        }
    }

    @Override
    void enqueue(int slot) {
        leaves.put(slot, SlotHeap.key(values[slot]));
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
        return values[slot];
    }
}
