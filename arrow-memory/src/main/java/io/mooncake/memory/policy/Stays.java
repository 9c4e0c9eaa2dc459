// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory.policy;

/**
 * Stays: the blocks of one class that one request used, from that use on. All blocks of a stay have the same age, class and traits, and so the
 * same return index; a stay is also one example for the {@link ReturnModel}, which ends when its <i>representative</i>, its deepest block, is
 * used again.
 *
 * <p>A stay lives as long as some block belongs to it. It passes from bin to bin of its age ({@code due}); its leaves wait in a list, and
 * stays with leaves in a heap by index, so the block that goes next is a leaf of the top stay. An index is computed when a stay with
 * leaves enters a bin, and when a stay gets its first leaf. One thread at a time; nothing is allocated after construction.
 */
final class Stays {
    static final int NONE = -1;

    /** Most passages from bin to bin in one call, so that no caller waits for a pool that was idle. */
    private static final int MOST_PASSAGES = 512;

    private final ReturnModel model;
    private final long[] beginMillis;
    private final int[] requestBlocks;
    private final long[] conversations;
    private final int[] turns;
    private final long[] traits;
    private final byte[] classes;
    private final float[] costs;
    private final int[] representatives;
    private final int[] members;
    private final byte[] bins;
    /** Whether the stay still teaches: it has not returned. */
    private final boolean[] open;

    /** Whether the request that began the stay has been announced without its end. */
    private final boolean[] running;

    private final int[] firstLeaf;
    private final int[] nextLeaf;
    private final int[] previousLeaf;
    private final double[] indexes;
    private final byte[] indexedBins;

    private final int[] free;
    private int freeCount;
    private final SlotHeap due;
    private final SlotHeap byIndex;

    Stays(int most, int slots, ReturnModel model) {
        this.model = model;
        beginMillis = new long[most];
        requestBlocks = new int[most];
        conversations = new long[most];
        turns = new int[most];
        traits = new long[most];
        classes = new byte[most];
        costs = new float[most];
        representatives = new int[most];
        members = new int[most];
        bins = new byte[most];
        open = new boolean[most];
        running = new boolean[most];
        firstLeaf = new int[most];
        nextLeaf = new int[slots];
        previousLeaf = new int[slots];
        indexes = new double[most];
        indexedBins = new byte[most];
        free = new int[most];
        due = new SlotHeap(most);
        byIndex = new SlotHeap(most);
        for (int stay = most - 1; stay >= 0; stay--) {
            free[freeCount++] = stay;
        }
    }

    // ------------------------------------------------------------------------------------------------------- life

    /** A new stay without blocks; it needs one soon. */
    int begin(long nowMillis, int of, long itsTraits, float cost) {
        int stay = free[--freeCount];
        beginMillis[stay] = nowMillis;
        requestBlocks[stay] = 0;
        conversations[stay] = 0;
        turns[stay] = 0;
        traits[stay] = itsTraits;
        classes[stay] = (byte) of;
        costs[stay] = cost;
        representatives[stay] = NONE;
        members[stay] = 0;
        bins[stay] = 0;
        open[stay] = true;
        running[stay] = false;
        firstLeaf[stay] = NONE;
        indexedBins[stay] = NONE;
        due.put(stay, nowMillis + ReturnModel.beginMillis(1));
        return stay;
    }

    /** Says which request began the stay. */
    void describe(int stay, int blocks, long conversation, int turn, boolean isRunning) {
        running[stay] = isRunning;
        requestBlocks[stay] = blocks;
        conversations[stay] = conversation;
        turns[stay] = turn;
    }

    /** A block joins; the one that joins last is the representative. */
    void join(int stay, int block) {
        members[stay]++;
        representatives[stay] = block;
    }

    /** A block leaves; the stay ends with the last, and teaches nothing more without its representative, whose return would not be known. */
    void leave(int stay, int block) {
        if (representatives[stay] == block) {
            open[stay] = false;
        }
        if (--members[stay] == 0) {
            due.remove(stay);
            byIndex.remove(stay);
            free[freeCount++] = stay;
        }
    }

    /** {@code block} of the stay was used again; this may be known long after the stay should have passed into another bin. */
    void used(int stay, int block, long nowMillis) {
        if (open[stay] && representatives[stay] == block) {
            catchUp(stay, nowMillis);
            open[stay] = false;
            int bin = bins[stay];
            if (bin < ReturnModel.BINS) {
                long since = nowMillis - beginMillis[stay] - ReturnModel.beginMillis(bin);
                model.cameBack(classes[stay], traits[stay], bin, Math.max(since, 0) * 1e-3);
            }
        }
    }

    /** Moves stays that have grown older into their bins. */
    void advance(long nowMillis) {
        model.forget(nowMillis);
        for (int i = 0; i < MOST_PASSAGES && due.size() > 0 && due.topKey() <= nowMillis; i++) {
            int stay = due.top();
            pass(stay);
            if (firstLeaf[stay] != NONE) {
                byIndex.put(stay, SlotHeap.key(index(stay)));
            }
        }
    }

    /** One stay into its bin, before its turn comes in {@link #advance}; whether it had to be moved. */
    private boolean catchUp(int stay, long nowMillis) {
        boolean late = false;
        while (due.contains(stay) && due.key(stay) <= nowMillis) {
            pass(stay);
            late = true;
        }
        if (late && firstLeaf[stay] != NONE) {
            byIndex.put(stay, SlotHeap.key(index(stay)));
        }
        return late;
    }

    private void pass(int stay) {
        int bin = bins[stay]++;
        if (open[stay]) {
            model.stayedAway(classes[stay], traits[stay], bin);
        }
        if (bins[stay] < ReturnModel.BINS) {
            due.put(stay, beginMillis[stay] + ReturnModel.beginMillis(bins[stay] + 1));
        } else {
            open[stay] = false;
            due.remove(stay);
        }
    }

    // ------------------------------------------------------------------------------------------------------- leaves

    void addLeaf(int stay, int slot) {
        int first = firstLeaf[stay];
        nextLeaf[slot] = first;
        previousLeaf[slot] = NONE;
        firstLeaf[stay] = slot;
        if (first != NONE) {
            previousLeaf[first] = slot;
        } else {
            byIndex.put(stay, SlotHeap.key(index(stay)));
        }
    }

    void removeLeaf(int stay, int slot) {
        int before = previousLeaf[slot];
        int after = nextLeaf[slot];
        if (after != NONE) {
            previousLeaf[after] = before;
        }
        if (before != NONE) {
            nextLeaf[before] = after;
        } else {
            firstLeaf[stay] = after;
            if (after == NONE) {
                byIndex.remove(stay);
            }
        }
    }

    /** A leaf of the stay with the least index, or {@link #NONE}. */
    int leastLeaf(long nowMillis) {
        for (int i = 0; i < MOST_PASSAGES && byIndex.size() > 0 && catchUp(byIndex.top(), nowMillis); i++) {
            // Until one is on top whose index is that of its age.
        }
        return byIndex.size() == 0 ? NONE : firstLeaf[byIndex.top()];
    }

    /** What a block of the stay is worth: its return index times its cost. */
    double index(int stay) {
        if (indexedBins[stay] != bins[stay]) {
            indexedBins[stay] = bins[stay];
            indexes[stay] = costs[stay] * model.index(classes[stay], traits[stay], bins[stay]);
        }
        return indexes[stay];
    }

    /** The request has ended, and with it the length of the answer has become known. */
    void ended(int stay, int promptTokens, int outputTokens) {
        running[stay] = false;
        traits[stay] = Traits.withOutput(traits[stay], promptTokens, outputTokens);
        indexedBins[stay] = NONE;
        if (firstLeaf[stay] != NONE) {
            byIndex.put(stay, SlotHeap.key(index(stay)));
        }
    }

    // ------------------------------------------------------------------------------------------------------- look

    /** For tests: blocks of all stays. */
    int members() {
        int count = 0;
        for (int stay = 0; stay < members.length; stay++) {
            count += members[stay];
        }
        return count;
    }

    long beginMillis(int stay) {
        return beginMillis[stay];
    }

    int requestBlocks(int stay) {
        return requestBlocks[stay];
    }

    long conversation(int stay) {
        return conversations[stay];
    }

    int turn(int stay) {
        return turns[stay];
    }

    boolean isRunning(int stay) {
        return running[stay];
    }

    int blockClass(int stay) {
        return classes[stay];
    }

    long traits(int stay) {
        return traits[stay];
    }

    float cost(int stay) {
        return costs[stay];
    }
}
