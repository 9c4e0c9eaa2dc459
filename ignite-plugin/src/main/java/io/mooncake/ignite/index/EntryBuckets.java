// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.index;

import io.mooncake.memory.BlockKey;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.security.SecureRandom;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Finds entries by their keys: buckets of 16 ints off the heap, one cache line each, and two of them for each key. An int is an entry plus one
 * and, above it, six bits of the key's hash, so that few others are compared. The emptier bucket takes a new key; nothing moves after that, so
 * readers need no version. What finds both full, which hashes that nobody can foresee do not bring about, goes into a map on the heap.
 *
 * <p>Keys are compared in full, whatever the hash. Threading: one writer under the owner's lock, readers without one.
 */
final class EntryBuckets {
    /** Most entries that the bits of an int can name. */
    static final int MAX_ENTRIES = (1 << 26) - 2;

    private static final int SLOTS = 16;
    private static final int BUCKET_BYTES = 4 * SLOTS;
    private static final int ENTRY_BITS = 26;
    private static final int ENTRY_MASK = (1 << ENTRY_BITS) - 1;
    /** Buckets are full to four fifths when the entries are. */
    private static final double FILL = 0.8;

    private static final VarHandle INT = MethodHandles.byteBufferViewVarHandle(int[].class, ByteOrder.nativeOrder());

    private static final ByteBuffer NOTHING = ByteBuffer.allocateDirect(0);

    private final EntryPages entries;
    /** Empty until there is something to find. */
    private volatile ByteBuffer table = NOTHING;

    private final int buckets;
    private final long seed = new SecureRandom().nextLong();
    private final long hashMask;
    private final ConcurrentHashMap<BlockKey, Integer> more = new ConcurrentHashMap<>();

    /** @param hashMask bits of the hash in use; a test narrows it to force collisions */
    EntryBuckets(EntryPages entries, int maxEntries, long hashMask) {
        this.entries = entries;
        this.hashMask = hashMask;
        buckets = buckets(maxEntries);
    }

    private static int buckets(int maxEntries) {
        return (int) Math.ceil(Math.max(SLOTS, maxEntries) / (FILL * SLOTS));
    }

    /** Bytes for so many entries. */
    static long bytes(int maxEntries) {
        return (buckets(maxEntries) + 1L) * BUCKET_BYTES;
    }

    /** Gets the memory, once; false where there is none. For the writer, before it puts anything. */
    boolean open() {
        if (table != NOTHING) {
            return true;
        }
        ByteBuffer memory = Direct.allocate((buckets + 1) * BUCKET_BYTES);
        if (memory == null) {
            return false;
        }
        // A cache line each: the buffer begins at one.
        table = memory.alignedSlice(BUCKET_BYTES).order(ByteOrder.nativeOrder());
        return true;
    }

    long bytes() {
        return table == NOTHING ? 0 : (long) buckets * BUCKET_BYTES;
    }

    private long hash(long word0, long word1) {
        long mixed = (word0 ^ Long.rotateLeft(word1, 32) ^ seed) * 0x9E37_79B9_7F4A_7C15L;
        mixed = (mixed ^ mixed >>> 32) * 0xD6E8_FEB8_6659_FD93L;
        return (mixed ^ mixed >>> 32) & hashMask;
    }

    private static int tag(long hash) {
        return (int) (hash << ENTRY_BITS);
    }

    /** Offset of the first bucket. */
    private int first(long hash) {
        return (int) ((hash >>> 32) * buckets >>> 32) * BUCKET_BYTES;
    }

    /** Offset of the second bucket, which may be the first. */
    private int second(long hash) {
        return (int) ((hash * 0xD6E8_FEB8_6659_FD93L >>> 32) * buckets >>> 32) * BUCKET_BYTES;
    }

    /** The entry of the key {@code keys[at..at+4)}, or NONE. */
    int find(long[] keys, int at) {
        if (table == NOTHING) {
            return EntryPages.NONE;
        }
        long hash = hash(keys[at], keys[at + 1]);
        int entry = find(first(hash), tag(hash), keys, at);
        if (entry == EntryPages.NONE) {
            entry = find(second(hash), tag(hash), keys, at);
        }
        if (entry == EntryPages.NONE && !more.isEmpty()) {
            Integer found = more.get(key(keys, at));
            entry = found == null ? EntryPages.NONE : found;
        }
        return entry;
    }

    private static BlockKey key(long[] keys, int at) {
        return new BlockKey(keys[at], keys[at + 1], keys[at + 2], keys[at + 3]);
    }

    private int find(int bucket, int tag, long[] keys, int at) {
        for (int slot = bucket; slot < bucket + BUCKET_BYTES; slot += 4) {
            int word = (int) INT.getAcquire(table, slot);
            if ((word & ~ENTRY_MASK) == tag && (word & ENTRY_MASK) != 0) {
                int entry = (word & ENTRY_MASK) - 1;
                if (entries.has(entry, keys, at)) {
                    return entry;
                }
            }
        }
        return EntryPages.NONE;
    }

    /** Makes {@code entry} found by {@code key}, which is not there yet. */
    void put(long[] key, int entry) {
        long hash = hash(key[0], key[1]);
        int first = first(hash);
        int second = second(hash);
        int slot = room(free(first) >= free(second) ? first : second);
        if (slot < 0) {
            more.put(key(key, 0), entry);
        } else {
            INT.setRelease(table, slot, tag(hash) | entry + 1);
        }
    }

    private int free(int bucket) {
        int free = 0;
        for (int slot = bucket; slot < bucket + BUCKET_BYTES; slot += 4) {
            free += table.getInt(slot) == 0 ? 1 : 0;
        }
        return free;
    }

    /** Offset of a free int, or -1. */
    private int room(int bucket) {
        for (int slot = bucket; slot < bucket + BUCKET_BYTES; slot += 4) {
            if (table.getInt(slot) == 0) {
                return slot;
            }
        }
        return -1;
    }

    /** Makes {@code entry} found no more; it still has its key. */
    void remove(int entry) {
        long hash = hash(entries.word(entry, 0), entries.word(entry, 1));
        if (!remove(first(hash), tag(hash) | entry + 1) && !remove(second(hash), tag(hash) | entry + 1)) {
            more.remove(new BlockKey(
                    entries.word(entry, 0), entries.word(entry, 1), entries.word(entry, 2), entries.word(entry, 3)));
        }
    }

    private boolean remove(int bucket, int word) {
        for (int slot = bucket; slot < bucket + BUCKET_BYTES; slot += 4) {
            if (table.getInt(slot) == word) {
                INT.setRelease(table, slot, 0);
                return true;
            }
        }
        return false;
    }
}
