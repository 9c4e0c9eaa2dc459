// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.index;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.security.SecureRandom;

/**
 * Why keys that nobody has any more are gone, of the last ones that went: a table of eight bytes each, by hash. Who goes takes the place of who
 * went before him and has the same; 62 bits of a hash that nobody can foresee stand for a key, so that one key's reason is hardly ever told of
 * another.
 *
 * <p>Threading: one writer under the owner's lock, readers without one.
 */
final class Graves {
    /** Not known. */
    static final int NONE = 0;
    /** It left for others. */
    static final int EVICTED = 1;
    /** It was taken away, or lost by a node that lives. */
    static final int REMOVED = 2;
    /** Its last holder left the cluster. */
    static final int NODE_LOST = 3;

    private static final int REASON_MASK = 3;
    private static final VarHandle LONG = MethodHandles.byteBufferViewVarHandle(long[].class, ByteOrder.nativeOrder());
    private static final ByteBuffer NOTHING = ByteBuffer.allocateDirect(0);

    private final int bits;
    private final long seed = new SecureRandom().nextLong();
    private volatile ByteBuffer table = NOTHING;

    /** @param bits of the number of places, 1..27 */
    Graves(int bits) {
        this.bits = bits;
    }

    private long hash(long word0, long word1) {
        long mixed = (word0 + Long.rotateLeft(word1, 32) ^ seed) * 0x9E37_79B9_7F4A_7C15L;
        mixed = (mixed ^ mixed >>> 32) * 0xD6E8_FEB8_6659_FD93L;
        return mixed ^ mixed >>> 32;
    }

    private int at(long hash) {
        return (int) (hash >>> (64 - bits)) * Long.BYTES;
    }

    /** The key of these words is gone. */
    void add(long word0, long word1, int reason) {
        if (table == NOTHING) {
            ByteBuffer memory = Direct.allocate((1 << bits) * Long.BYTES);
            if (memory == null) {
                return;
            }
            table = memory;
        }
        long hash = hash(word0, word1);
        LONG.setRelease(table, at(hash), hash & ~REASON_MASK | reason);
    }

    /** Why the key of these words went, or NONE. */
    int find(long word0, long word1) {
        ByteBuffer memory = table;
        if (memory == NOTHING) {
            return NONE;
        }
        long hash = hash(word0, word1);
        long found = (long) LONG.getAcquire(memory, at(hash));
        return (found & ~REASON_MASK) == (hash & ~REASON_MASK) ? (int) (found & REASON_MASK) : NONE;
    }

    /** Bytes of so many places. */
    static long bytes(int bits) {
        return (long) Long.BYTES << bits;
    }

    long bytes() {
        return table == NOTHING ? 0 : bytes(bits);
    }
}
