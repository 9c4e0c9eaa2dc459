// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.index;

import java.util.Arrays;

/**
 * A walk along a chain in {@link HolderTable}: who has had all blocks so far, and how many the others had. Those who still go on come first. For
 * one thread; may be used again.
 */
final class HolderMatch {
    private int[] slots = new int[8];
    private int[] lives = new int[8];
    private int[] blocks = new int[8];
    /** Blocks that are on the holder's SSD alone, up to where {@code coldFrom} tells of one that is still open. */
    private int[] cold = new int[8];
    /** Where the last blocks on the SSD alone began, or -1. */
    private int[] coldFrom = new int[8];

    private int open;
    private int size;
    private int walked;

    /** For another walk. */
    void clear() {
        open = 0;
        size = 0;
        walked = 0;
    }

    /** Holders of one block or more. */
    int size() {
        return size;
    }

    int slot(int index) {
        return slots[index];
    }

    /** Of the slot, when it was found. */
    int life(int index) {
        return lives[index];
    }

    /** Blocks in a row. */
    int blocks(int index) {
        return index < open ? walked : blocks[index];
    }

    /** Of those, the ones that the holder has on its SSD alone. */
    int cold(int index) {
        return cold[index] + (coldFrom[index] < 0 ? 0 : walked - coldFrom[index]);
    }

    /** Blocks that somebody had. */
    int walked() {
        return walked;
    }

    /** The first so many holders have had all blocks. */
    int open() {
        return open;
    }

    /** @param onSsd whether it has the next block on its SSD alone */
    void begin(int slot, int life, boolean onSsd) {
        if (size == slots.length) {
            slots = Arrays.copyOf(slots, 2 * size);
            lives = Arrays.copyOf(lives, 2 * size);
            blocks = Arrays.copyOf(blocks, 2 * size);
            cold = Arrays.copyOf(cold, 2 * size);
            coldFrom = Arrays.copyOf(coldFrom, 2 * size);
        }
        slots[size] = slot;
        lives[size] = life;
        cold[size] = 0;
        coldFrom[size] = onSsd ? walked : -1;
        size++;
        open++;
    }

    /** All that are open had one more block. */
    void step() {
        walked++;
    }

    /** The open holder {@code index} has the next block. */
    void goOn(int index, boolean onSsd) {
        if (onSsd && coldFrom[index] < 0) {
            coldFrom[index] = walked;
        } else if (!onSsd && coldFrom[index] >= 0) {
            cold[index] += walked - coldFrom[index];
            coldFrom[index] = -1;
        }
    }

    /** The open holder {@code index} does not have the next block. */
    void end(int index) {
        goOn(index, false);
        blocks[index] = walked;
        open--;
        swap(index, open);
    }

    private void swap(int one, int other) {
        int slot = slots[one];
        int life = lives[one];
        int count = blocks[one];
        int many = cold[one];
        int from = coldFrom[one];
        slots[one] = slots[other];
        lives[one] = lives[other];
        blocks[one] = blocks[other];
        cold[one] = cold[other];
        coldFrom[one] = coldFrom[other];
        slots[other] = slot;
        lives[other] = life;
        blocks[other] = count;
        cold[other] = many;
        coldFrom[other] = from;
    }
}
