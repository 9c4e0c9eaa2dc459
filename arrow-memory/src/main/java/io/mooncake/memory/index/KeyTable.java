// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory.index;

import io.mooncake.memory.BlockKey;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/**
 * Which slot has the block of a key: the keys and ids of all slots, and a hash table over them with open addressing. The hash chooses where to
 * look, the 256 bits of the key are compared.
 *
 * <p>One writer at a time, under the owner's lock. Readers take no lock: one version, odd while the table changes, tells them whether what
 * they have read was all of one moment. A change is some tens of nanoseconds, and so is a look-up.
 *
 * <p>48 bytes a slot, up to 56.
 */
final class KeyTable {
    static final int NONE = -1;

    private static final int TRIES = 64;
    private static final VarHandle VERSION;

    static {
        try {
            VERSION = MethodHandles.lookup().findVarHandle(KeyTable.class, "version", int.class);
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    private final long seed;
    private final int hashMask;
    private final boolean compare;
    private final long[] keys;
    private final long[] ids;
    /** Slot plus one, 0 where there is none. */
    private final int[] table;

    private final int tableMask;
    private int version;

    /**
     * @param seed unknown to whoever chooses keys
     * @param hashMask bits of the hash that are used: all, but in tests
     * @param compare whether readers compare keys: always, but in a test that shows what it prevents
     */
    KeyTable(int slots, long seed, int hashMask, boolean compare) {
        this.seed = seed;
        this.hashMask = hashMask;
        this.compare = compare;
        keys = new long[4 * slots];
        ids = new long[slots];
        table = new int[tableSize(slots)];
        tableMask = table.length - 1;
    }

    /** The id of the block {@code key} at one moment between call and return, {@code absent} if there is none; {@code disturbed}: try under the lock. */
    long find(BlockKey key, long absent, long disturbed) {
        for (int i = 0; i < TRIES; i++) {
            int before = (int) VERSION.getAcquire(this);
            if ((before & 1) == 0) {
                int slot = probe(key, compare);
                long id = slot == NONE ? absent : ids[slot];
                // No read of before may slip behind the second look at the version.
                VarHandle.acquireFence();
                if ((int) VERSION.getOpaque(this) == before) {
                    return id;
                }
            }
            Thread.onSpinWait();
        }
        return disturbed;
    }

    /** The slot of {@code key}, or NONE. For the writer. */
    int slot(BlockKey key) {
        return probe(key, true);
    }

    /** A reader asks the version afterwards. */
    private int probe(BlockKey key, boolean compare) {
        int at = home(key.word0());
        for (int probes = 0; probes <= tableMask; probes++, at = (at + 1) & tableMask) {
            int slot = table[at] - 1;
            if (slot < 0) {
                return NONE;
            }
            if (compare ? has(slot, key) : home(keys[4 * slot]) == home(key.word0())) {
                return slot;
            }
        }
        return NONE;
    }

    private boolean has(int slot, BlockKey key) {
        int at = 4 * slot;
        return keys[at] == key.word0()
                && keys[at + 1] == key.word1()
                && keys[at + 2] == key.word2()
                && keys[at + 3] == key.word3();
    }

    /** The first word of the key in {@code slot}, for whoever keeps its block in place. */
    long name(int slot) {
        return keys[4 * slot];
    }

    /** The key in {@code slot}, for whoever keeps its block in place. */
    BlockKey key(int slot) {
        int at = 4 * slot;
        return new BlockKey(keys[at], keys[at + 1], keys[at + 2], keys[at + 3]);
    }

    /** The id in {@code slot}, for the writer. */
    long id(int slot) {
        return ids[slot];
    }

    long bytes() {
        return bytes(ids.length);
    }

    static long bytes(int slots) {
        return 8L * 4 * slots + 8L * slots + 4L * tableSize(slots);
    }

    /** A power of two, so that at most half of it is used. */
    private static int tableSize(int slots) {
        return Integer.highestOneBit(Math.max(2, slots - 1)) * 4;
    }

    void put(int slot, BlockKey key, long id) {
        begin();
        int at = 4 * slot;
        keys[at] = key.word0();
        keys[at + 1] = key.word1();
        keys[at + 2] = key.word2();
        keys[at + 3] = key.word3();
        ids[slot] = id;
        int free = home(key.word0());
        while (table[free] != 0) {
            free = (free + 1) & tableMask;
        }
        table[free] = slot + 1;
        end();
    }

    /** Takes the block out of {@code slot} and closes the gap, so that no probe ends early and no tombstones pile up. */
    void remove(int slot) {
        begin();
        int gap = home(keys[4 * slot]);
        while (table[gap] != slot + 1) {
            gap = (gap + 1) & tableMask;
        }
        int at = gap;
        while (true) {
            at = (at + 1) & tableMask;
            int moved = table[at] - 1;
            if (moved < 0) {
                break;
            }
            int home = home(keys[4 * moved]);
            // Whoever probes from home passes the gap before reaching at: it may move back.
            if (((at - home) & tableMask) >= ((at - gap) & tableMask)) {
                table[gap] = moved + 1;
                gap = at;
            }
        }
        table[gap] = 0;
        end();
    }

    private void begin() {
        VERSION.setOpaque(this, version + 1);
        // No store of the change may come before the odd version.
        VarHandle.storeStoreFence();
    }

    private void end() {
        VERSION.setRelease(this, version + 1);
    }

    private int home(long word) {
        long mixed = (word ^ seed) * 0xD6E8FEB86659FD93L;
        return (int) (mixed >>> 32) & hashMask & tableMask;
    }
}
