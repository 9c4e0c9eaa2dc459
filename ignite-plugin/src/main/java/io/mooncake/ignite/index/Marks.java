// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.index;

import io.mooncake.ignite.feed.BlockPlace;
import java.util.BitSet;

/**
 * Who has a block, and where. A mark is one holder: its slot, 0..4094, and below it, in two bits, the code of the {@link BlockPlace} where it has
 * the block. A word has up to four marks:
 *
 * <pre>
 *   0                               nobody
 *   mark+1 in each of 4 x 16 bits   up to four holders, in no order, no gaps
 * </pre>
 *
 * <p>A set has any number of them, a bit each. A holder has one mark at most.
 */
final class Marks {
    /** Marks of a word. */
    static final int A_WORD = 4;
    /** Of one mark in a word. */
    static final int BITS = 16;

    static final int MEMORY = BlockPlace.MEMORY.code();
    static final int SSD = BlockPlace.SSD.code();
    static final int BOTH = BlockPlace.BOTH.code();
    static final int FILLING = BlockPlace.FILLING.code();

    private static final int MASK = (1 << BITS) - 1;
    private static final int PLACE_BITS = 2;
    private static final int PLACES = 1 << PLACE_BITS;

    private Marks() {}

    static int of(int slot, int place) {
        return slot << PLACE_BITS | place;
    }

    static int slotOf(int mark) {
        return mark >> PLACE_BITS;
    }

    static int placeOf(int mark) {
        return mark & PLACES - 1;
    }

    // ------------------------------------------------------------------------------------------------------- words

    /** The mark in the lowest bits of a word that has one. */
    static int first(long word) {
        return (int) (word & MASK) - 1;
    }

    static boolean full(long word) {
        return word >>> (A_WORD - 1) * BITS != 0;
    }

    /** A word that is not full, and the mark of one more holder. */
    static long add(long word, int mark) {
        return word << BITS | mark + 1L;
    }

    /** A word with the mark of a holder that it has, in the place of the one before. */
    static long replace(long word, int mark) {
        int shift = shift(word, slotOf(mark));
        return word & ~((long) MASK << shift) | mark + 1L << shift;
    }

    static boolean has(long word, int slot) {
        return shift(word, slot) >= 0;
    }

    /** Where {@code slot} has the block; FILLING, too, when it has not. */
    static int placeOf(long word, int slot) {
        int shift = shift(word, slot);
        return shift < 0 ? FILLING : placeOf(first(word >>> shift));
    }

    /** Where in {@code word} the mark of {@code slot} is, in bits; -1 when it is not. */
    private static int shift(long word, int slot) {
        int shift = 0;
        for (long rest = word; rest != 0; rest >>>= BITS, shift += BITS) {
            if (slotOf(first(rest)) == slot) {
                return shift;
            }
        }
        return -1;
    }

    // -------------------------------------------------------------------------------------------------------- sets

    /** The marks of a word. */
    static BitSet set(long word) {
        BitSet marks = new BitSet();
        for (long rest = word; rest != 0; rest >>>= BITS) {
            marks.set(first(rest));
        }
        return marks;
    }

    /** At most four marks as a word. */
    static long word(BitSet marks) {
        long word = 0;
        for (int mark = marks.nextSetBit(0); mark >= 0; mark = marks.nextSetBit(mark + 1)) {
            word = add(word, mark);
        }
        return word;
    }

    static boolean has(BitSet marks, int slot) {
        int mark = marks.nextSetBit(slot << PLACE_BITS);
        return mark >= 0 && slotOf(mark) == slot;
    }

    /** Takes whatever mark of {@code slot} out. @return whether there was one */
    static boolean clear(BitSet marks, int slot) {
        boolean known = has(marks, slot);
        marks.clear(slot << PLACE_BITS, (slot << PLACE_BITS) + PLACES);
        return known;
    }

    /** Where {@code slot} has the block; FILLING, too, when it has not. */
    static int placeOf(BitSet marks, int slot) {
        int mark = slot << PLACE_BITS;
        return marks.get(mark + MEMORY) || marks.get(mark + BOTH) ? MEMORY : marks.get(mark + SSD) ? SSD : FILLING;
    }
}
