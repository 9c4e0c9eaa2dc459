// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory.ssd;

import io.mooncake.memory.BlockKey;
import java.io.IOException;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * Which record is in which slot: the index in memory, 64 to 80 bytes a slot in primitive arrays. Every method takes the one lock for a few
 * instructions.
 *
 * <pre>
 *   free --begin--> writing --stored--> stored --synced--> synced
 *    ^                 | failed            |  remove           |  remove
 *    +-----------------+                   +------> removed <--+
 *    +---------- removal durable, and no reader ---------+
 * </pre>
 *
 * <p>A slot is written again only when the removal of what was in it is durable: else a power cut could leave an index that names bytes which
 * are no longer there, and only the checksum would notice. And only when nobody reads it any more.
 *
 * <p>Keys are found by open addressing with linear probing; deletion shifts back, so that there are no tombstones.
 */
final class SlotTable {
    static final int NONE = -1;
    /** The record is being written. */
    static final int UNDER_WAY = -2;

    static final byte FREE = 0;
    static final byte WRITING = 1;
    static final byte STORED = 2;
    static final byte SYNCED = 3;
    static final byte REMOVED = 4;

    private static final int WORDS = 4;

    private final long[] keys;
    private final long[] generations;
    private final int[] crcs;
    private final byte[] states;
    private final int[] readers;
    /** The removal is durable, but somebody still reads. */
    private final boolean[] drained;
    /** Remove it when its write is over. */
    private final boolean[] doomed;
    /** Slot plus one, 0: nothing. */
    private final int[] hash;

    private final int mask;
    private final int[] free;
    private int freeCount;
    private int live;
    private int writing;
    private int opened;

    SlotTable(int slots) {
        keys = new long[WORDS * slots];
        generations = new long[slots];
        crcs = new int[slots];
        states = new byte[slots];
        readers = new int[slots];
        drained = new boolean[slots];
        doomed = new boolean[slots];
        hash = new int[hashCells(slots)];
        mask = hash.length - 1;
        free = new int[slots];
        // Slots without a file are neither free nor anything else.
        Arrays.fill(states, REMOVED);
    }

    private static int hashCells(int slots) {
        return Integer.highestOneBit(Math.max(8, slots - 1)) * 4;
    }

    /** Bytes of the arrays. */
    static long heapBytes(int slots) {
        int slotBytes = WORDS * Long.BYTES + Long.BYTES + 3 * Integer.BYTES + 3;
        return (long) slotBytes * slots + (long) Integer.BYTES * hashCells(slots);
    }

    // ------------------------------------------------------------------------------------------- while it is opened

    /** Slots {@code from..to) have a file now: free, unless recovery has put something there. */
    synchronized void openSlots(int from, int to) {
        // The lowest slot is taken first.
        for (int slot = to - 1; slot >= from; slot--) {
            if (states[slot] == REMOVED) {
                states[slot] = FREE;
                free[freeCount++] = slot;
            }
        }
        opened += to - from;
    }

    /** Replays a record; what was in the slot, or under the key, before is gone. */
    synchronized void recover(BlockKey key, long generation, int slot, int crc) {
        forget(slot);
        int other = find(key);
        if (other != NONE) {
            forget(other);
        }
        put(slot, key);
        generations[slot] = generation;
        crcs[slot] = crc;
        states[slot] = SYNCED;
        live++;
    }

    /** Replays a removal. */
    synchronized void recoverRemoval(BlockKey key, int slot) {
        if (states[slot] == SYNCED && holds(slot, key)) {
            forget(slot);
        }
    }

    /** Drops recovered records in {@code from..to), whose file is not there. */
    synchronized void recoverLoss(int from, int to) {
        for (int slot = from; slot < to; slot++) {
            forget(slot);
        }
    }

    /** Whether no recovered record is in {@code from..to). */
    synchronized boolean none(int from, int to) {
        for (int slot = from; slot < to; slot++) {
            if (states[slot] == SYNCED) {
                return false;
            }
        }
        return true;
    }

    private void forget(int slot) {
        if (states[slot] == SYNCED) {
            unhash(slot);
            states[slot] = REMOVED;
            live--;
        }
    }

    // ---------------------------------------------------------------------------------------------------- writing

    /** Whether a record of {@code key} is there, or on its way. */
    synchronized boolean known(BlockKey key) {
        return find(key) != NONE;
    }

    /** The slot of a record that can be read, UNDER_WAY when it is being written, NONE when there is none. */
    synchronized int standing(BlockKey key) {
        int slot = find(key);
        return slot != NONE && states[slot] == WRITING ? UNDER_WAY : slot;
    }

    /** Whether a record of {@code key} can be read. */
    synchronized boolean readable(BlockKey key) {
        int slot = find(key);
        return slot != NONE && states[slot] != WRITING;
    }

    /** Takes a slot for {@code key}; NONE when there is none, or the key is known. */
    synchronized int begin(BlockKey key) {
        if (freeCount == 0 || find(key) != NONE) {
            return NONE;
        }
        int slot = free[--freeCount];
        put(slot, key);
        states[slot] = WRITING;
        writing++;
        doomed[slot] = false;
        return slot;
    }

    /** Ends a write; false when the record was removed meanwhile, so that the slot is free again. */
    synchronized boolean stored(int slot, long generation, int crc) {
        if (doomed[slot]) {
            release(slot);
            return false;
        }
        generations[slot] = generation;
        crcs[slot] = crc;
        states[slot] = STORED;
        writing--;
        live++;
        return true;
    }

    /** Ends a write that failed. */
    synchronized void failed(int slot) {
        release(slot);
    }

    private void release(int slot) {
        unhash(slot);
        writing--;
        states[slot] = FREE;
        free[freeCount++] = slot;
    }

    /** After a commit: whether the record is synced, and not removed meanwhile. */
    synchronized boolean synced(int slot) {
        if (states[slot] == STORED) {
            states[slot] = SYNCED;
            return true;
        }
        return false;
    }

    // ---------------------------------------------------------------------------------------------------- removal

    /**
     * Takes a record out: its slot, whose removal must be made durable; UNDER_WAY when it is being written, and goes when that is over; NONE when
     * there is none, or it is to go already.
     */
    synchronized int remove(BlockKey key) {
        int slot = find(key);
        if (slot == NONE) {
            return NONE;
        }
        if (states[slot] == WRITING) {
            int before = doomed[slot] ? NONE : UNDER_WAY;
            doomed[slot] = true;
            return before;
        }
        takeOut(slot);
        return slot;
    }

    /** Takes out what is in {@code slot} if it is still of {@code generation}; whether it was. */
    synchronized boolean removeSlot(int slot, long generation) {
        if ((states[slot] != STORED && states[slot] != SYNCED) || generations[slot] != generation) {
            return false;
        }
        takeOut(slot);
        return true;
    }

    private void takeOut(int slot) {
        unhash(slot);
        states[slot] = REMOVED;
        live--;
    }

    /** The removal is durable: the slot is free, now or with its last reader. */
    synchronized void removalDurable(int slot) {
        if (readers[slot] > 0) {
            drained[slot] = true;
        } else {
            states[slot] = FREE;
            free[freeCount++] = slot;
        }
    }

    // ---------------------------------------------------------------------------------------------------- reading

    /** Keeps the record of {@code key} where it is until {@link #unpin}: its slot, or NONE. */
    synchronized int pin(BlockKey key) {
        int slot = find(key);
        if (slot == NONE || states[slot] == WRITING) {
            return NONE;
        }
        readers[slot]++;
        return slot;
    }

    /** Keeps what is in {@code slot} there; its key, or null when there is no record. */
    @Nullable
    synchronized BlockKey pinSlot(int slot) {
        if (states[slot] != STORED && states[slot] != SYNCED) {
            return null;
        }
        readers[slot]++;
        return key(slot);
    }

    synchronized void unpin(int slot) {
        if (--readers[slot] == 0 && drained[slot]) {
            drained[slot] = false;
            states[slot] = FREE;
            free[freeCount++] = slot;
        }
    }

    // ------------------------------------------------------------------------------------------------------- look

    /** Gives all synced records in {@code from..to) to a snapshot. A record that is removed later has its removal in the journal behind. */
    synchronized void snapshot(int from, int to, IndexJournal journal) throws IOException {
        for (int slot = from; slot < to; slot++) {
            if (states[slot] == SYNCED) {
                journal.add(key(slot), generations[slot], slot, crcs[slot], IndexDescriptor.ENTRY_STORED);
            }
        }
    }

    /** The key of a slot that is pinned, or whose state the caller controls. */
    synchronized BlockKey key(int slot) {
        int at = WORDS * slot;
        return new BlockKey(keys[at], keys[at + 1], keys[at + 2], keys[at + 3]);
    }

    synchronized long generation(int slot) {
        return generations[slot];
    }

    synchronized int crc(int slot) {
        return crcs[slot];
    }

    synchronized byte state(int slot) {
        return states[slot];
    }

    synchronized int live() {
        return live;
    }

    /** Records that are there or being written. */
    synchronized int taken() {
        return live + writing;
    }

    synchronized int opened() {
        return opened;
    }

    synchronized int freeCount() {
        return freeCount;
    }

    // ------------------------------------------------------------------------------------------------------- hash

    private int find(BlockKey key) {
        for (int at = home(key.word0()); hash[at] != 0; at = (at + 1) & mask) {
            if (holds(hash[at] - 1, key)) {
                return hash[at] - 1;
            }
        }
        return NONE;
    }

    private boolean holds(int slot, BlockKey key) {
        int at = WORDS * slot;
        return keys[at] == key.word0()
                && keys[at + 1] == key.word1()
                && keys[at + 2] == key.word2()
                && keys[at + 3] == key.word3();
    }

    private void put(int slot, BlockKey key) {
        int word = WORDS * slot;
        keys[word] = key.word0();
        keys[word + 1] = key.word1();
        keys[word + 2] = key.word2();
        keys[word + 3] = key.word3();
        int at = home(key.word0());
        while (hash[at] != 0) {
            at = (at + 1) & mask;
        }
        hash[at] = slot + 1;
    }

    private void unhash(int slot) {
        int hole = home(keys[WORDS * slot]);
        while (hash[hole] != slot + 1) {
            hole = (hole + 1) & mask;
        }
        hash[hole] = 0;
        for (int at = (hole + 1) & mask; hash[at] != 0; at = (at + 1) & mask) {
            int home = home(keys[WORDS * (hash[at] - 1)]);
            // What may not be reached any more over the hole moves into it.
            if (((at - home) & mask) >= ((at - hole) & mask)) {
                hash[hole] = hash[at];
                hash[at] = 0;
                hole = at;
            }
        }
    }

    /** The digest is uniform, keys of tests need not be. */
    private int home(long word) {
        return (int) ((word * 0x9E37_79B9_7F4A_7C15L) >>> 32) & mask;
    }
}
