// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.index;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;

/**
 * Entries of 40 bytes in pages off the heap: the four words of a key, and a word that says who holds it. A page is made when it is needed and
 * kept; entries go back to a list and are taken again.
 *
 * <p>Threading: one writer under the owner's lock. The word of holders is written last and cleared first. A reader looks whether an entry was given
 * back meanwhile: word and key that it read may be of two blocks then, and it looks again.
 */
final class EntryPages {
    static final int NONE = -1;
    static final int ENTRY_BYTES = 40;

    private static final int PAGE_SHIFT = 14;
    private static final int PAGE_ENTRIES = 1 << PAGE_SHIFT;
    private static final int HOLDERS = 32;
    private static final VarHandle LONG = MethodHandles.byteBufferViewVarHandle(long[].class, ByteOrder.nativeOrder());
    private static final ByteBuffer NO_PAGE = ByteBuffer.allocateDirect(0).order(ByteOrder.nativeOrder());

    private final int maxEntries;
    private final ByteBuffer[] pages;
    /** Entries that were taken at least once. */
    private volatile int count;
    /** The first free entry, plus one; each has the next in its first word. */
    private long free;
    /** How many have been given back: what a reader saw of an entry while this stood still was of one block. */
    private volatile int frees;

    EntryPages(int maxEntries) {
        this.maxEntries = maxEntries;
        pages = new ByteBuffer[(maxEntries + PAGE_ENTRIES - 1) >>> PAGE_SHIFT];
        Arrays.fill(pages, NO_PAGE);
    }

    private static int at(int entry) {
        return (entry & (PAGE_ENTRIES - 1)) * ENTRY_BYTES;
    }

    /** Entries that were taken at least once: numbers below are valid. */
    int count() {
        return count;
    }

    /** Bytes of {@code entries}, in whole pages. */
    static long bytes(int entries) {
        return (((long) entries + PAGE_ENTRIES - 1) >>> PAGE_SHIFT) * PAGE_ENTRIES * ENTRY_BYTES;
    }

    long bytes() {
        return bytes(count);
    }

    /** An entry for {@code key}, held by nobody yet; NONE when all are taken, or there is no memory for more. */
    int take(long[] key) {
        int entry;
        if (free != 0) {
            entry = (int) (free - 1);
            free = word(entry, 0);
        } else if (count < maxEntries) {
            entry = count;
            if ((entry & (PAGE_ENTRIES - 1)) == 0) {
                int size = Math.min(PAGE_ENTRIES, maxEntries - entry);
                ByteBuffer page = Direct.allocate(size * ENTRY_BYTES);
                if (page == null) {
                    return NONE;
                }
                pages[entry >>> PAGE_SHIFT] = page;
            }
            count = entry + 1;
        } else {
            return NONE;
        }
        ByteBuffer page = pages[entry >>> PAGE_SHIFT];
        int at = at(entry);
        page.putLong(at, key[0]);
        page.putLong(at + 8, key[1]);
        page.putLong(at + 16, key[2]);
        page.putLong(at + 24, key[3]);
        return entry;
    }

    /** Gives an entry back that nothing refers to any more. */
    void free(int entry) {
        holders(entry, 0);
        // Before anything else comes into it.
        frees++;
        pages[entry >>> PAGE_SHIFT].putLong(at(entry), free);
        free = entry + 1L;
    }

    long word(int entry, int index) {
        return pages[entry >>> PAGE_SHIFT].getLong(at(entry) + 8 * index);
    }

    long holders(int entry) {
        return (long) LONG.getAcquire(pages[entry >>> PAGE_SHIFT], at(entry) + HOLDERS);
    }

    void holders(int entry, long word) {
        LONG.setRelease(pages[entry >>> PAGE_SHIFT], at(entry) + HOLDERS, word);
    }

    /** Whether the entry has the key {@code keys[from..from+4)}, at this moment. */
    boolean has(int entry, long[] keys, int from) {
        ByteBuffer page = pages[entry >>> PAGE_SHIFT];
        int at = at(entry);
        return page.getLong(at) == keys[from]
                && page.getLong(at + 8) == keys[from + 1]
                && page.getLong(at + 16) == keys[from + 2]
                && page.getLong(at + 24) == keys[from + 3];
    }

    /** Stands still while no entry is given back. */
    int frees() {
        return frees;
    }

    /** The holders of {@code entry} where that is an entry and has the key {@code keys[from..from+4)}, else 0. */
    long holdersOf(int entry, long[] keys, int from) {
        if (entry < 0 || entry >= count) {
            return 0;
        }
        while (true) {
            int before = frees;
            long word = holders(entry);
            if (!has(entry, keys, from)) {
                return 0;
            }
            VarHandle.loadLoadFence();
            if (frees == before) {
                return word;
            }
        }
    }
}
