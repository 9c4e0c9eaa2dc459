// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.index;

import io.mooncake.memory.BlockKey;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.locks.StampedLock;

/**
 * Which holders have which blocks of one pool.
 *
 * <p>One open-addressing table of longs with linear probing; an entry is the four words of the key and then one bit a holder:
 *
 * <pre>
 *   entry = word0 word1 word2 word3 holders[0] .. holders[words-1]
 * </pre>
 *
 * An entry without a holder is free: the last holder's removal deletes it and shifts the entries behind it back, so no tombstones pile up.
 * Keys are compared in full, whatever the hash. A holder is a slot, 0..63 at first; more slots widen every entry.
 *
 * <p>Threading: changes take the write lock. Look-ups read optimistically and read again under the read lock when a change came between:
 * the arrays hang on one immutable {@link Arrays64}, every probe is bounded by the capacity, so that a torn read costs a repetition and
 * nothing else. Slots are made visible by {@link #show} and cleared by {@link #drop}, both under the write lock.
 */
final class HolderTable {
    private static final int KEY_WORDS = 4;
    private static final int MIN_CAPACITY = 64;

    private final StampedLock lock = new StampedLock();
    private final int hashMask;
    private volatile Arrays64 arrays;
    // Guarded by the lock, like what it counts.
    private int used;
    private long pairs;

    HolderTable() {
        this(-1);
    }

    /** @param hashMask bits of the hash in use; a test narrows it to force collisions */
    HolderTable(int hashMask) {
        this.hashMask = hashMask;
        this.arrays = new Arrays64(MIN_CAPACITY, 1, new long[1], new long[1]);
    }

    /** The arrays of one size. {@code taken} and {@code visible} have a bit a slot. */
    private record Arrays64(int capacity, int words, long[] table, long[] taken, long[] visible) {
        Arrays64(int capacity, int words, long[] taken, long[] visible) {
            this(capacity, words, new long[capacity * (KEY_WORDS + words)], taken, visible);
        }

        int stride() {
            return KEY_WORDS + words;
        }
    }

    /** Takes a slot that look-ups do not see yet. */
    int open() {
        long stamp = lock.writeLock();
        try {
            Arrays64 now = arrays;
            for (int word = 0; word < now.words; word++) {
                if (now.taken[word] != -1L) {
                    int bit = Long.numberOfTrailingZeros(~now.taken[word]);
                    now.taken[word] |= 1L << bit;
                    return word * 64 + bit;
                }
            }
            rehash(now.capacity, now.words + 1);
            arrays.taken[now.words] = 1;
            return now.words * 64;
        } finally {
            lock.unlockWrite(stamp);
        }
    }

    /** Makes a slot visible. */
    void show(int slot) {
        long stamp = lock.writeLock();
        try {
            arrays.visible[slot >> 6] |= 1L << slot;
        } finally {
            lock.unlockWrite(stamp);
        }
    }

    /** Clears a slot and frees it. */
    void drop(int slot) {
        long stamp = lock.writeLock();
        try {
            arrays.visible[slot >> 6] &= ~(1L << slot);
            clear(slot);
            arrays.taken[slot >> 6] &= ~(1L << slot);
        } finally {
            lock.unlockWrite(stamp);
        }
    }

    /** Adds the pair. @return whether it is new */
    boolean store(int slot, BlockKey key) {
        long stamp = lock.writeLock();
        try {
            if (used >= arrays.capacity / 2) {
                rehash(arrays.capacity * 2, arrays.words);
            }
            Arrays64 now = arrays;
            int at = find(now, key);
            if (free(now, at)) {
                now.table[at] = key.word0();
                now.table[at + 1] = key.word1();
                now.table[at + 2] = key.word2();
                now.table[at + 3] = key.word3();
                used++;
            }
            int word = at + KEY_WORDS + (slot >> 6);
            boolean added = (now.table[word] & (1L << slot)) == 0;
            now.table[word] |= 1L << slot;
            pairs += added ? 1 : 0;
            return added;
        } finally {
            lock.unlockWrite(stamp);
        }
    }

    /** Takes the pair away. @return whether it was there */
    boolean remove(int slot, BlockKey key) {
        long stamp = lock.writeLock();
        try {
            Arrays64 now = arrays;
            int at = find(now, key);
            int word = at + KEY_WORDS + (slot >> 6);
            if ((now.table[word] & (1L << slot)) == 0) {
                return false;
            }
            now.table[word] &= ~(1L << slot);
            pairs--;
            if (free(now, at)) {
                used--;
                closeGap(now, at / now.stride());
            }
            return true;
        } finally {
            lock.unlockWrite(stamp);
        }
    }

    /** Visible holders of {@code key}. */
    int holderCount(BlockKey key) {
        return read(now -> {
            int at = find(now, key);
            int count = 0;
            for (int word = 0; at >= 0 && word < now.words; word++) {
                count += Long.bitCount(now.table[at + KEY_WORDS + word] & now.visible[word]);
            }
            return count;
        });
    }

    /** Whether {@code slot} has {@code key}, visible or not. */
    boolean holds(int slot, BlockKey key) {
        return read(now -> {
            int at = find(now, key);
            return at >= 0 && (now.table[at + KEY_WORDS + (slot >> 6)] & (1L << slot)) != 0;
        });
    }

    /**
     * How many blocks each visible holder has of {@code keys[from..]} without a gap.
     *
     * @return one count a slot, 0 for slots that are free or have nothing
     */
    int[] match(List<BlockKey> keys, int from) {
        return read(now -> {
            int[] counts = new int[now.words * 64];
            long[] alive = now.visible.clone();
            for (int i = from; i < keys.size(); i++) {
                int at = find(now, keys.get(i));
                long any = 0;
                for (int word = 0; at >= 0 && word < now.words; word++) {
                    alive[word] &= now.table[at + KEY_WORDS + word];
                    any |= alive[word];
                    for (long bits = alive[word]; bits != 0; bits &= bits - 1) {
                        counts[word * 64 + Long.numberOfTrailingZeros(bits)]++;
                    }
                }
                if (any == 0) {
                    break;
                }
            }
            return counts;
        });
    }

    /** Pairs of block and holder, those of slots not shown yet included. */
    long pairs() {
        long stamp = lock.readLock();
        try {
            return pairs;
        } finally {
            lock.unlockRead(stamp);
        }
    }

    private interface Reader<T> {
        T read(Arrays64 arrays);
    }

    private <T> T read(Reader<T> reader) {
        long stamp = lock.tryOptimisticRead();
        if (stamp != 0) {
            T result = reader.read(arrays);
            if (lock.validate(stamp)) {
                return result;
            }
        }
        stamp = lock.readLock();
        try {
            return reader.read(arrays);
        } finally {
            lock.unlockRead(stamp);
        }
    }

    /** Position of the key's entry, or of the free entry where it belongs; -1 when a torn read finds neither. */
    private int find(Arrays64 now, BlockKey key) {
        int stride = now.stride();
        int index = home(now, key.word0());
        for (int probes = 0; probes < now.capacity; probes++) {
            int at = index * stride;
            if (free(now, at)
                    || (now.table[at] == key.word0()
                            && now.table[at + 1] == key.word1()
                            && now.table[at + 2] == key.word2()
                            && now.table[at + 3] == key.word3())) {
                return at;
            }
            index = (index + 1) & (now.capacity - 1);
        }
        return -1;
    }

    private int home(Arrays64 now, long word0) {
        return (int) (word0 ^ (word0 >>> 32)) & hashMask & (now.capacity - 1);
    }

    private static boolean free(Arrays64 now, int at) {
        for (int word = 0; word < now.words; word++) {
            if (now.table[at + KEY_WORDS + word] != 0) {
                return false;
            }
        }
        return true;
    }

    /** Moves entries behind a freed one back to where their probe finds them. */
    private void closeGap(Arrays64 now, int freed) {
        int stride = now.stride();
        int gap = freed;
        int index = (gap + 1) & (now.capacity - 1);
        while (!free(now, index * stride)) {
            int home = home(now, now.table[index * stride]);
            int distance = (index - home) & (now.capacity - 1);
            int distanceFromGap = (index - gap) & (now.capacity - 1);
            if (distance >= distanceFromGap) {
                System.arraycopy(now.table, index * stride, now.table, gap * stride, stride);
                Arrays.fill(now.table, index * stride, (index + 1) * stride, 0);
                gap = index;
            }
            index = (index + 1) & (now.capacity - 1);
        }
    }

    /** Takes a slot's bit from every entry and puts the entries that are left into a table of the size they need. */
    private void clear(int slot) {
        Arrays64 now = arrays;
        long bit = 1L << slot;
        int left = 0;
        for (int index = 0; index < now.capacity; index++) {
            int at = index * now.stride();
            int word = at + KEY_WORDS + (slot >> 6);
            if ((now.table[word] & bit) != 0) {
                now.table[word] &= ~bit;
                pairs--;
            }
            left += free(now, at) ? 0 : 1;
        }
        if (left != used) {
            rehash(Math.max(MIN_CAPACITY, Integer.highestOneBit(Math.max(1, left)) * 4), now.words);
        }
    }

    private void rehash(int capacity, int words) {
        Arrays64 old = arrays;
        Arrays64 fresh =
                new Arrays64(capacity, words, Arrays.copyOf(old.taken, words), Arrays.copyOf(old.visible, words));
        int kept = 0;
        for (int index = 0; index < old.capacity; index++) {
            int from = index * old.stride();
            if (!free(old, from)) {
                int to = home(fresh, old.table[from]);
                while (!free(fresh, to * fresh.stride())) {
                    to = (to + 1) & (capacity - 1);
                }
                System.arraycopy(old.table, from, fresh.table, to * fresh.stride(), old.stride());
                kept++;
            }
        }
        used = kept;
        arrays = fresh;
    }
}
