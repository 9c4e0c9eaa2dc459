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

    /** Blocks that somebody had. */
    int walked() {
        return walked;
    }

    /** The first so many holders have had all blocks. */
    int open() {
        return open;
    }

    void begin(int slot, int life) {
        if (size == slots.length) {
            slots = Arrays.copyOf(slots, 2 * size);
            lives = Arrays.copyOf(lives, 2 * size);
            blocks = Arrays.copyOf(blocks, 2 * size);
        }
        slots[size] = slot;
        lives[size] = life;
        size++;
        open++;
    }

    /** All that are open had one more block. */
    void step() {
        walked++;
    }

    /** The open holder {@code index} does not have the next block. */
    void end(int index) {
        blocks[index] = walked;
        open--;
        swap(index, open);
    }

    private void swap(int one, int other) {
        int slot = slots[one];
        int life = lives[one];
        int count = blocks[one];
        slots[one] = slots[other];
        lives[one] = lives[other];
        blocks[one] = blocks[other];
        slots[other] = slot;
        lives[other] = life;
        blocks[other] = count;
    }
}
