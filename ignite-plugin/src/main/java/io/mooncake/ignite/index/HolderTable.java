// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.index;

import java.util.BitSet;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicIntegerArray;
import org.jspecify.annotations.Nullable;

/**
 * Which holders have which blocks of one pool, off the heap: {@link EntryPages} has an entry a block, {@link EntryBuckets} finds it by its key.
 *
 * <p>A holder is a slot, 0..4094. The last word of an entry names its holders and where they have the block, as {@link Marks} says; more than four
 * of them are in a set on the heap, and the word is {@link #MANY}.
 *
 * <p>Threading: one writer at a time, under this object's lock. Look-ups take no lock and wait for nobody: a word of holders is read after the key
 * and the key once more, so that an entry which got another key meanwhile is not taken for the old one. A holder has a number of lives, odd
 * while it is visible; what a look-up found of a life that is over by its end does not count. So a holder that was dropped is never found again,
 * at once and whatever its number of entries; those are cleared in small steps by {@link #sweep}, and its slot is free after that.
 */
final class HolderTable {
    static final int MAX_SLOTS = 4095;

    static final long MANY = 1L << 63;
    private static final int SWEEP_ENTRIES = 1024;
    private static final int MAX_GRAVE_BITS = 20;

    private final EntryPages entries;
    private final EntryBuckets buckets;
    private final Graves graves;
    private final ConcurrentHashMap<Integer, BitSet> sets = new ConcurrentHashMap<>();
    private final AtomicIntegerArray lives = new AtomicIntegerArray(MAX_SLOTS);
    private final Sweeper sweeper = new Sweeper(this::sweep);

    // Guarded by this.
    private final BitSet taken = new BitSet();
    private final BitSet dying = new BitSet();
    /** Those of them whose owner is gone. */
    private final BitSet lost = new BitSet();

    private final long[] held = new long[MAX_SLOTS];
    private volatile long pairs;
    private volatile long shownPairs;
    private volatile long refused;

    /** For at most so many blocks. */
    HolderTable(int maxEntries) {
        this(maxEntries, -1L);
    }

    /** @param hashMask bits of the hash in use; a test narrows it to force collisions */
    HolderTable(int maxEntries, long hashMask) {
        entries = new EntryPages(maxEntries);
        buckets = new EntryBuckets(entries, maxEntries, hashMask);
        graves = new Graves(graveBits(maxEntries));
    }

    /** One for each block that it knows, a million at most. */
    private static int graveBits(int maxEntries) {
        return Math.min(MAX_GRAVE_BITS, 32 - Integer.numberOfLeadingZeros(maxEntries));
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
            shownPairs += held[slot];
        }
    }

    /**
     * Hides a slot at once; its entries are cleared, and the slot freed, soon after.
     *
     * @param gone whether its owner has left, which its blocks are remembered for
     */
    void drop(int slot, boolean gone) {
        synchronized (this) {
            if (gone) {
                lost.set(slot);
            }
            // Even: hidden. A slot that was never shown begins a life and ends it, so that no look-up mixes it up with
            // the next.
            boolean shown = visible(lives.get(slot));
            lives.addAndGet(slot, shown ? 1 : 2);
            pairs -= held[slot];
            shownPairs -= shown ? held[slot] : 0;
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
        BitSet left;
        int count;
        synchronized (this) {
            if (dying.isEmpty()) {
                return false;
            }
            gone = (BitSet) dying.clone();
            left = (BitSet) lost.clone();
            count = entries.count();
        }
        // From the end, so that the entries that are free first are the first ones.
        for (int to = count; to > 0; to -= SWEEP_ENTRIES) {
            synchronized (this) {
                for (int entry = to - 1; entry >= Math.max(0, to - SWEEP_ENTRIES); entry--) {
                    sweep(entry, gone, left);
                }
            }
        }
        synchronized (this) {
            dying.andNot(gone);
            lost.andNot(gone);
            taken.andNot(gone);
        }
        return true;
    }

    private void sweep(int entry, BitSet gone, BitSet left) {
        long word = entries.holders(entry);
        if (word == 0) {
            return;
        }
        BitSet marks = null;
        boolean nodeLost = false;
        if (word == MANY) {
            marks = (BitSet) set(entry).clone();
            for (int mark = marks.nextSetBit(0); mark >= 0; mark = marks.nextSetBit(mark + 1)) {
                if (gone.get(Marks.slotOf(mark))) {
                    marks.clear(mark);
                    nodeLost |= left.get(Marks.slotOf(mark));
                }
            }
            if (marks.isEmpty()) {
                bury(entry, nodeLost ? Graves.NODE_LOST : Graves.NONE);
            }
            replace(entry, marks);
            return;
        }
        long stays = 0;
        for (long rest = word; rest != 0; rest >>>= Marks.BITS) {
            int slot = Marks.slotOf(Marks.first(rest));
            if (gone.get(slot)) {
                nodeLost |= left.get(slot);
            } else {
                stays = Marks.add(stays, Marks.first(rest));
            }
        }
        if (stays == 0) {
            bury(entry, nodeLost ? Graves.NODE_LOST : Graves.NONE);
        }
        if (stays != word) {
            write(entry, stays);
        }
    }

    /** Remembers why nobody has the block of {@code entry} any more. */
    private void bury(int entry, int reason) {
        if (reason != Graves.NONE) {
            graves.add(entries.word(entry, 0), entries.word(entry, 1), reason);
        }
    }

    /** Waits until nothing is left to be swept, for tests. */
    void awaitSwept() throws InterruptedException {
        sweeper.awaitIdle();
    }

    // ----------------------------------------------------------------------------------------------------- changes

    /**
     * Adds the pair, or says where a holder has it now.
     *
     * @param place code of a {@link io.mooncake.ignite.feed.BlockPlace}
     * @param key four words
     * @return whether it is new; false too, and counted, where there is no room for the block
     */
    synchronized boolean store(int slot, int place, long[] key) {
        int entry = buckets.find(key, 0);
        int mark = Marks.of(slot, place);
        if (entry == EntryPages.NONE) {
            entry = buckets.open() ? entries.take(key) : EntryPages.NONE;
            if (entry == EntryPages.NONE) {
                refused++;
                return false;
            }
            entries.holders(entry, Marks.add(0, mark));
            buckets.put(key, entry);
        } else if (!add(entry, mark)) {
            return false;
        }
        held[slot]++;
        pairs++;
        shownPairs += visible(lives.get(slot)) ? 1 : 0;
        return true;
    }

    private boolean add(int entry, int mark) {
        long word = entries.holders(entry);
        int slot = Marks.slotOf(mark);
        if (word == MANY) {
            BitSet marks = set(entry);
            if (marks.get(mark)) {
                return false;
            }
            BitSet changed = (BitSet) marks.clone();
            boolean known = Marks.clear(changed, slot);
            changed.set(mark);
            sets.put(entry, changed);
            return !known;
        }
        if (Marks.has(word, slot)) {
            entries.holders(entry, Marks.replace(word, mark));
            return false;
        }
        if (Marks.full(word)) {
            BitSet marks = Marks.set(word);
            marks.set(mark);
            sets.put(entry, marks);
            entries.holders(entry, MANY);
        } else {
            entries.holders(entry, Marks.add(word, mark));
        }
        return true;
    }

    /**
     * Takes the pair away.
     *
     * @param reason why, of {@link Graves}, remembered when this was the last holder
     * @return whether it was there
     */
    synchronized boolean remove(int slot, long[] key, int reason) {
        int entry = buckets.find(key, 0);
        if (entry == EntryPages.NONE || !has(entry, entries.holders(entry), slot)) {
            return false;
        }
        BitSet marks = marks(entry, entries.holders(entry));
        Marks.clear(marks, slot);
        if (marks.isEmpty()) {
            bury(entry, reason);
        }
        replace(entry, marks);
        held[slot]--;
        pairs--;
        shownPairs -= visible(lives.get(slot)) ? 1 : 0;
        return true;
    }

    private void replace(int entry, BitSet marks) {
        if (marks.cardinality() > Marks.A_WORD) {
            sets.put(entry, marks);
            return;
        }
        write(entry, Marks.word(marks));
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

    private BitSet marks(int entry, long word) {
        return word == MANY ? (BitSet) set(entry).clone() : Marks.set(word);
    }

    private boolean has(int entry, long word, int slot) {
        if (word == MANY) {
            BitSet marks = sets.get(entry);
            return marks != null && Marks.has(marks, slot);
        }
        return Marks.has(word, slot);
    }

    // ---------------------------------------------------------------------------------------------------- look-ups

    /**
     * Reads entry {@code entry} for somebody who goes through all of them, under the lock for that one.
     *
     * @param key takes its four words
     * @return who holds it, those not shown yet too; null when nobody does
     */
    synchronized @Nullable BitSet read(int entry, long[] key) {
        long word = entries.holders(entry);
        if (word == 0) {
            return null;
        }
        for (int i = 0; i < key.length; i++) {
            key[i] = entries.word(entry, i);
        }
        return marks(entry, word);
    }

    /** Entries that were taken at least once: numbers below are valid. */
    int count() {
        return entries.count();
    }

    /** Whether the holder of {@code slot} is shown. */
    boolean shown(int slot) {
        return visible(lives.get(slot));
    }

    /** Whether {@code slot} has {@code key}, visible or not. */
    synchronized boolean holds(int slot, long[] key) {
        int entry = buckets.find(key, 0);
        return entry != EntryPages.NONE && has(entry, entries.holders(entry), slot);
    }

    /** Whether any slot has {@code key}, visible or not; without a lock. */
    boolean known(long[] key) {
        return entries.holdersOf(buckets.find(key, 0), key, 0) != 0;
    }

    /** Why nobody has {@code key} any more, of {@link Graves}. */
    int whyGone(long[] key) {
        synchronized (this) {
            int entry = buckets.find(key, 0);
            if (entry != EntryPages.NONE) {
                // Not cleared yet, or held.
                BitSet marks = marks(entry, entries.holders(entry));
                boolean nodeLost = false;
                for (int mark = marks.nextSetBit(0); mark >= 0; mark = marks.nextSetBit(mark + 1)) {
                    if (!dying.get(Marks.slotOf(mark))) {
                        return Graves.NONE;
                    }
                    nodeLost |= lost.get(Marks.slotOf(mark));
                }
                return nodeLost ? Graves.NODE_LOST : Graves.NONE;
            }
        }
        return graves.find(key[0], key[1]);
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
        return word == 0 ? null : marks(entry, word);
    }

    private void begin(long word, @Nullable BitSet many, HolderMatch match) {
        if (many != null) {
            for (int mark = many.nextSetBit(0); mark >= 0; mark = many.nextSetBit(mark + 1)) {
                begin(Marks.slotOf(mark), Marks.placeOf(mark), match);
            }
        }
        for (long rest = many == null ? word : 0; rest != 0; rest >>>= Marks.BITS) {
            begin(Marks.slotOf(Marks.first(rest)), Marks.placeOf(Marks.first(rest)), match);
        }
    }

    private void begin(int slot, int place, HolderMatch match) {
        int life = lives.get(slot);
        if (visible(life) && place != Marks.FILLING) {
            match.begin(slot, life, place == Marks.SSD);
        }
    }

    private static void goOn(long word, @Nullable BitSet many, HolderMatch match) {
        for (int i = match.open() - 1; i >= 0; i--) {
            int place = many == null ? Marks.placeOf(word, match.slot(i)) : Marks.placeOf(many, match.slot(i));
            if (place == Marks.FILLING) {
                match.end(i);
            } else {
                match.goOn(i, place == Marks.SSD);
            }
        }
    }

    // ------------------------------------------------------------------------------------------------------- state

    /** Pairs of block and holder, those of slots not shown yet included. */
    long pairs() {
        return pairs;
    }

    /** Those that look-ups find. */
    long shownPairs() {
        return shownPairs;
    }

    /** Blocks that found no room. */
    long refused() {
        return refused;
    }

    /** Bytes off the heap of a table with {@code maxEntries} blocks. */
    static long bytes(int maxEntries) {
        return EntryPages.bytes(maxEntries) + EntryBuckets.bytes(maxEntries) + Graves.bytes(graveBits(maxEntries));
    }

    /** Bytes off the heap now. */
    long bytes() {
        return entries.bytes() + buckets.bytes() + graves.bytes();
    }
}
