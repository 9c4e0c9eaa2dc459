// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory.policy;

/**
 * S3-FIFO (Yang et al., SOSP 2023) over leaves: a small queue for what is new, a main one for what was used again or came back soon, and the
 * names of what went from the small one. Both are first in, first out, but for leaves only: an inner block is asked when it has become one.
 */
final class S3FifoPolicy extends LeafPolicy {
    static final String NAME = "s3-fifo";

    private static final int MOST_USES = 3;

    private final SlotHeap small;
    private final SlotHeap main;
    private final boolean[] inMain;
    private final byte[] uses;
    private final long[] order;
    private final long[] blocks;
    private final GhostQueue ghosts;
    private final int smallTarget;
    private final int usesToStay;
    private int smallSize;
    private long tick;

    /**
     * @param smallShare of the slots for the small queue; the original's is 0.1
     * @param usesToStay how often a block must be used in the small queue to get into the main one; the original's is 2
     */
    S3FifoPolicy(int slots, double smallShare, int usesToStay) {
        super(NAME, slots, true, false);
        small = new SlotHeap(slots);
        main = new SlotHeap(slots);
        inMain = new boolean[slots];
        uses = new byte[slots];
        order = new long[slots];
        blocks = new long[slots];
        smallTarget = Math.max(1, (int) (slots * smallShare));
        ghosts = new GhostQueue(slots - smallTarget);
        this.usesToStay = usesToStay;
    }

    @Override
    void onStored(int slot, long block, long parent) {
        blocks[slot] = block;
        uses[slot] = 0;
        inMain[slot] = ghosts.remove(block);
        smallSize += inMain[slot] ? 0 : 1;
        order[slot] = ++tick;
    }

    @Override
    void onUse(int slot, int count) {
        uses[slot] = (byte) Math.min(uses[slot] + count, MOST_USES);
    }

    @Override
    void onGone(int slot, boolean evicted) {
        if (!inMain[slot]) {
            smallSize--;
            if (evicted) {
                ghosts.add(blocks[slot]);
            }
        }
    }

    @Override
    void enqueue(int slot) {
        (inMain[slot] ? main : small).put(slot, order[slot]);
    }

    @Override
    void dequeue(int slot) {
        (inMain[slot] ? main : small).remove(slot);
    }

    @Override
    int next() {
        while (true) {
            boolean fromSmall = small.size() > 0 && (smallSize >= smallTarget || main.size() == 0);
            int slot = fromSmall ? small.top() : main.top();
            if (slot == NONE) {
                return NONE;
            }
            if (fromSmall && uses[slot] >= usesToStay) {
                small.remove(slot);
                inMain[slot] = true;
                smallSize--;
                uses[slot] = 0;
            } else if (!fromSmall && uses[slot] > 0) {
                uses[slot]--;
            } else {
                return slot;
            }
            order[slot] = ++tick;
            main.put(slot, order[slot]);
        }
    }

    @Override
    public double score(int slot) {
        return (inMain[slot] ? 1 : 0) + uses[slot];
    }
}
