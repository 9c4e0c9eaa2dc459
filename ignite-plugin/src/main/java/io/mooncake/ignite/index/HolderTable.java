// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.index;

import io.mooncake.memory.BlockKey;
import java.util.BitSet;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicIntegerArray;
import org.jspecify.annotations.Nullable;

/**
 * Which holders have which blocks of one pool, off the heap: {@link EntryPages} has an entry a block, {@link EntryBuckets} finds it by its key.
 *
 * <p>A holder is a slot, 0..4094. The last word of an entry names its holders:
 *
 * <pre>
 *   0                          nobody: the entry is free
 *   slot+1 in each of 4 x 16 bits   up to four holders, in no order, no gaps
 *   {@link #MANY}                      more: a set of slots in a map on the heap
 * </pre>
 *
 * <p>Threading: one writer at a time, under this object's lock. Look-ups take no lock and wait for nobody: a word of holders is read after the key
 * and the key once more, so that an entry which got another key meanwhile is not taken for the old one. A holder has a number of lives, odd
 * while it is visible; what a look-up found of a life that is over by its end does not count. So a holder that was dropped is never found again,
 * at once and whatever its number of entries; those are cleared in small steps by {@link #sweep}, and its slot is free after that.
 */
final class HolderTable {
    static final int MAX_SLOTS = 4095;

    static final long MANY = 1L << 63;
    private static final int A_WORD = 4;
    private static final int SLOT_BITS = 16;
    private static final int SLOT_MASK = 0xFFFF;
    private static final int SWEEP_ENTRIES = 1024;

    private final EntryPages entries;
    private final EntryBuckets buckets;
    private final ConcurrentHashMap<Integer, BitSet> sets = new ConcurrentHashMap<>();
    private final AtomicIntegerArray lives = new AtomicIntegerArray(MAX_SLOTS);
    private final Sweeper sweeper = new Sweeper(this::sweep);

    // Guarded by this.
    private final BitSet taken = new BitSet();
    private final BitSet dying = new BitSet();
    private final long[] held = new long[MAX_SLOTS];
    private volatile long pairs;
    private volatile long refused;

    /** For at most so many blocks. */
    HolderTable(int maxEntries) {
        this(maxEntries, -1L);
    }

    /** @param hashMask bits of the hash in use; a test narrows it to force collisions */
    HolderTable(int maxEntries, long hashMask) {
        entries = new EntryPages(maxEntries);
        buckets = new EntryBuckets(entries, maxEntries, hashMask);
    }

    // ------------------------------------------------------------------------------------------------------- slots

    /** Takes a slot that look-ups do not see yet. */
    synchronized int open() {
        int slot = taken.nextClearBit(0);
        if (slot >= MAX_SLOTS) {
            throw new IllegalStateException("holders: more than " + MAX_SLOTS);
        }
        taken.set(slot);
        return slot;
    }

    /** Makes a slot visible. */
    synchronized void show(int slot) {
        if (!visible(lives.get(slot))) {
            lives.incrementAndGet(slot);
        }
    }

    /** Hides a slot at once; its entries are cleared, and the slot freed, soon after. */
    void drop(int slot) {
        synchronized (this) {
            // Even: hidden. A slot that was never shown begins a life and ends it, so that no look-up mixes it up with
            // the next.
            lives.addAndGet(slot, visible(lives.get(slot)) ? 1 : 2);
            pairs -= held[slot];
            held[slot] = 0;
            dying.set(slot);
        }
        sweeper.wake();
    }

    private static boolean visible(int life) {
        return (life & 1) != 0;
    }

    /** Clears all entries of the slots that were dropped, some at a time under the lock; true when there was something to do. */
    private boolean sweep() {
        BitSet gone;
        int count;
        synchronized (this) {
            if (dying.isEmpty()) {
                return false;
            }
            gone = (BitSet) dying.clone();
            count = entries.count();
        }
        // From the end, so that the entries that are free first are the first ones.
        for (int to = count; to > 0; to -= SWEEP_ENTRIES) {
            synchronized (this) {
                for (int entry = to - 1; entry >= Math.max(0, to - SWEEP_ENTRIES); entry--) {
                    sweep(entry, gone);
                }
            }
        }
        synchronized (this) {
            dying.andNot(gone);
            taken.andNot(gone);
        }
        return true;
    }

    private void sweep(int entry, BitSet gone) {
        long word = entries.holders(entry);
        if (word == MANY) {
            BitSet set = (BitSet) set(entry).clone();
            set.andNot(gone);
            replace(entry, set);
            return;
        }
        long left = 0;
        for (long rest = word; rest != 0; rest >>>= SLOT_BITS) {
            if (!gone.get((int) (rest & SLOT_MASK) - 1)) {
                left = left << SLOT_BITS | rest & SLOT_MASK;
            }
        }
        if (left != word) {
            write(entry, left);
        }
    }

    /** Waits until nothing is left to be swept, for tests. */
    void awaitSwept() throws InterruptedException {
        sweeper.awaitIdle();
    }

    // ----------------------------------------------------------------------------------------------------- changes

    /** Adds the pair. @return whether it is new; false too, and counted, where there is no room for the block */
    synchronized boolean store(int slot, BlockKey key) {
        int entry = buckets.find(key);
        if (entry == EntryPages.NONE) {
            entry = buckets.open() ? entries.take(key) : EntryPages.NONE;
            if (entry == EntryPages.NONE) {
                refused++;
                return false;
            }
            entries.holders(entry, slot + 1L);
            buckets.put(key, entry);
        } else if (!add(entry, slot)) {
            return false;
        }
        held[slot]++;
        pairs++;
        return true;
    }

    private boolean add(int entry, int slot) {
        long word = entries.holders(entry);
        if (has(entry, word, slot)) {
            return false;
        }
        if (word == MANY || word >>> (A_WORD - 1) * SLOT_BITS != 0) {
            BitSet set = word == MANY ? (BitSet) set(entry).clone() : slots(word);
            set.set(slot);
            sets.put(entry, set);
            entries.holders(entry, MANY);
        } else {
            entries.holders(entry, word << SLOT_BITS | slot + 1L);
        }
        return true;
    }

    /** Takes the pair away. @return whether it was there */
    synchronized boolean remove(int slot, BlockKey key) {
        int entry = buckets.find(key);
        if (entry == EntryPages.NONE || !has(entry, entries.holders(entry), slot)) {
            return false;
        }
        BitSet slots = slots(entry, entries.holders(entry));
        slots.clear(slot);
        replace(entry, slots);
        held[slot]--;
        pairs--;
        return true;
    }

    private void replace(int entry, BitSet slots) {
        if (slots.cardinality() > A_WORD) {
            sets.put(entry, slots);
            return;
        }
        long word = 0;
        for (int slot = slots.nextSetBit(0); slot >= 0; slot = slots.nextSetBit(slot + 1)) {
            word = word << SLOT_BITS | slot + 1L;
        }
        write(entry, word);
        sets.remove(entry);
    }

    private void write(int entry, long word) {
        if (word == 0) {
            buckets.remove(entry);
            entries.free(entry);
        } else {
            entries.holders(entry, word);
        }
    }

    private BitSet set(int entry) {
        BitSet set = sets.get(entry);
        if (set == null) {
            throw new IllegalStateException("index: entry " + entry + " without its set of holders");
        }
        return set;
    }

    private BitSet slots(int entry, long word) {
        return word == MANY ? (BitSet) set(entry).clone() : slots(word);
    }

    private static BitSet slots(long word) {
        BitSet set = new BitSet();
        for (long rest = word; rest != 0; rest >>>= SLOT_BITS) {
            set.set((int) (rest & SLOT_MASK) - 1);
        }
        return set;
    }

    private boolean has(int entry, long word, int slot) {
        if (word == MANY) {
            BitSet set = sets.get(entry);
            return set != null && set.get(slot);
        }
        return has(word, slot);
    }

    private static boolean has(long word, int slot) {
        for (long rest = word; rest != 0; rest >>>= SLOT_BITS) {
            if ((rest & SLOT_MASK) == slot + 1L) {
                return true;
            }
        }
        return false;
    }

    // ---------------------------------------------------------------------------------------------------- look-ups

    /** Whether {@code slot} has {@code key}, visible or not. */
    synchronized boolean holds(int slot, BlockKey key) {
        int entry = buckets.find(key);
        return entry != EntryPages.NONE && has(entry, entries.holders(entry), slot);
    }

    /**
     * Goes on along a chain: who of those that have had all its blocks so far has the next ones, too.
     *
     * @param keys four words a block
     * @param match new or {@linkplain HolderMatch#clear cleared} for the first block of a chain
     * @return whether somebody had all of them
     */
    boolean walk(long[] keys, int from, int to, HolderMatch match) {
        int entry = EntryPages.NONE;
        long before = 0;
        for (int i = from; i < to; i++) {
            // An owner announces a chain in its order, so the next block is mostly in the next entry.
            entry++;
            long word = entries.holdersOf(entry, keys, 4 * i);
            if (word == 0) {
                entry = buckets.find(keys, 4 * i);
                word = entries.holdersOf(entry, keys, 4 * i);
            }
            if (word != before || word == MANY || word == 0) {
                BitSet many = word == MANY ? set(entry, keys, 4 * i) : null;
                // A set that is no longer there is one of nobody's.
                long few = word == MANY ? 0 : word;
                if (match.walked() > 0) {
                    goOn(few, many, match);
                } else {
                    begin(few, many, match);
                    if (word != 0 && entries.holdersOf(entry, keys, 4 * i) != word) {
                        // A slot of it may have got another owner before its life was looked at.
                        match.clear();
                        i--;
                        entry = EntryPages.NONE;
                        continue;
                    }
                }
                if (match.open() == 0) {
                    return false;
                }
            }
            before = word;
            match.step();
        }
        return true;
    }

    /** Whether holder {@code index} of {@code match}, and what belongs to its slot, is still the one that was found. */
    boolean lives(HolderMatch match, int index) {
        return lives.get(match.slot(index)) == match.life(index);
    }

    /** The many holders of an entry, if it still has the key; asked for under the lock where it has just changed. */
    private @Nullable BitSet set(int entry, long[] keys, int at) {
        int frees = entries.frees();
        BitSet set = sets.get(entry);
        return set != null && entries.holdersOf(entry, keys, at) == MANY && entries.frees() == frees
                ? set
                : settled(entry, keys, at);
    }

    /** The holders of an entry that changes at this moment, under the lock; null when there are none. */
    private synchronized @Nullable BitSet settled(int entry, long[] keys, int at) {
        long word = entries.holdersOf(entry, keys, at);
        return word == 0 ? null : slots(entry, word);
    }

    private void begin(long word, @Nullable BitSet many, HolderMatch match) {
        if (many != null) {
            for (int slot = many.nextSetBit(0); slot >= 0; slot = many.nextSetBit(slot + 1)) {
                begin(slot, match);
            }
        }
        for (long rest = many == null ? word : 0; rest != 0; rest >>>= SLOT_BITS) {
            begin((int) (rest & SLOT_MASK) - 1, match);
        }
    }

    private void begin(int slot, HolderMatch match) {
        int life = lives.get(slot);
        if (visible(life)) {
            match.begin(slot, life);
        }
    }

    private static void goOn(long word, @Nullable BitSet many, HolderMatch match) {
        for (int i = match.open() - 1; i >= 0; i--) {
            int slot = match.slot(i);
            if (many == null ? !has(word, slot) : !many.get(slot)) {
                match.end(i);
            }
        }
    }

    // ------------------------------------------------------------------------------------------------------- state

    /** Pairs of block and holder, those of slots not shown yet included. */
    long pairs() {
        return pairs;
    }

    /** Blocks that found no room. */
    long refused() {
        return refused;
    }

    /** Bytes off the heap of a table with {@code maxEntries} blocks. */
    static long bytes(int maxEntries) {
        return EntryPages.bytes(maxEntries) + EntryBuckets.bytes(maxEntries);
    }

    /** Bytes off the heap now. */
    long bytes() {
        return entries.bytes() + buckets.bytes();
    }
}
