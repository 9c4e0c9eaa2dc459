// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory.policy;

/**
 * Adaptive replacement (ARC, Megiddo and Modha, FAST 2003) over leaves: what was used once and what was used again, each least recently used
 * first, the names of what went from either, and a split of the slots between them that follows which of the names come back.
 */
final class ArcPolicy extends LeafPolicy {
    static final String NAME = "arc";

    private final SlotHeap once;
    private final SlotHeap again;
    private final boolean[] usedAgain;
    private final long[] order;
    private final long[] blocks;
    private final GhostQueue onceGone;
    private final GhostQueue againGone;
    private int onceSize;
    private int againSize;
    private double onceTarget;
    private long tick;

    ArcPolicy(int slots) {
        super(NAME, slots, true, false);
        once = new SlotHeap(slots);
        again = new SlotHeap(slots);
        usedAgain = new boolean[slots];
        order = new long[slots];
        blocks = new long[slots];
        onceGone = new GhostQueue(slots);
        againGone = new GhostQueue(2 * slots);
    }

    @Override
    void onStored(int slot, long block, long parent) {
        double onceNames = Math.max(onceGone.size(), 1);
        double againNames = Math.max(againGone.size(), 1);
        boolean cameBack = false;
        if (onceGone.remove(block)) {
            onceTarget = Math.min(slots(), onceTarget + Math.max(1, againNames / onceNames));
            cameBack = true;
        } else if (againGone.remove(block)) {
            onceTarget = Math.max(0, onceTarget - Math.max(1, onceNames / againNames));
            cameBack = true;
        }
        blocks[slot] = block;
        usedAgain[slot] = cameBack;
        onceSize += cameBack ? 0 : 1;
        againSize += cameBack ? 1 : 0;
        order[slot] = ++tick;
        onceGone.trim(slots() - onceSize);
        againGone.trim(2 * slots() - onceSize - againSize - onceGone.size());
    }

    @Override
    void onUse(int slot, int count) {
        boolean queued = (usedAgain[slot] ? again : once).contains(slot);
        if (!usedAgain[slot]) {
            once.remove(slot);
            usedAgain[slot] = true;
            onceSize--;
            againSize++;
        }
        order[slot] = ++tick;
        if (queued) {
            again.put(slot, order[slot]);
        }
    }

    @Override
    void onGone(int slot, boolean evicted) {
        if (usedAgain[slot]) {
            againSize--;
        } else {
            onceSize--;
        }
        if (evicted) {
            (usedAgain[slot] ? againGone : onceGone).add(blocks[slot]);
        }
    }

    @Override
    void enqueue(int slot) {
        (usedAgain[slot] ? again : once).put(slot, order[slot]);
    }

    @Override
    void dequeue(int slot) {
        (usedAgain[slot] ? again : once).remove(slot);
    }

    @Override
    int next() {
        boolean fromOnce = once.size() > 0 && (onceSize > onceTarget || again.size() == 0);
        return fromOnce ? once.top() : again.top();
    }

    @Override
    public double score(int slot) {
        return usedAgain[slot] ? 1 : 0;
    }
}
