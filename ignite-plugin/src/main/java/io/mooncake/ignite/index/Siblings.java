// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.index;

import io.mooncake.memory.BlockKey;
import io.mooncake.memory.block.ChainKeys;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * The token ids of blocks that other nodes announced last, so that a block is found of which only the beginning is wanted.
 *
 * <p>A ring of records off the heap, numbered as they come; the newest overwrites the oldest. Records of one parent and first token are a chain,
 * newest first: a table of heads has the number of the first, each record that of the next, and a number that is further back than the ring is long
 * ends it. So nothing is unlinked, as in the window of an LZ77 encoder. A record stays when its block goes: whoever finds it asks who holds the
 * block.
 *
 * <pre>
 *   0   key       4 longs
 *   32  previous  int, the number of the next record in the chain; 0 for none
 *   36  tokens    an int each
 * </pre>
 *
 * <p>Threading: one writer at a time, under this object's lock; readers take none. What a reader copied may be of two records. It is used only where
 * the key is the digest of the parent and the copied tokens, so what is found is true, whoever announced it.
 */
final class Siblings {
    /** A parent may have thousands of children that begin alike: so many of the last ones are looked at. */
    private static final int MAX_ALIKE = 64;
    /** With those of other parents that have the same head. */
    private static final int MAX_STEPS = 256;

    private static final int PREVIOUS = 32;
    private static final int TOKENS = 36;
    private static final int MAX_PAGE_BYTES = 1 << 20;
    private static final int MAX_RECORDS = 1 << 26;
    private static final VarHandle INT = MethodHandles.byteBufferViewVarHandle(int[].class, ByteOrder.nativeOrder());
    private static final ByteBuffer NOTHING = ByteBuffer.allocateDirect(0).order(ByteOrder.nativeOrder());

    private final int blockTokens;
    private final int recordBytes;
    private final int capacity;
    private final int pageRecords;
    private final ByteBuffer[] pages;
    private final int headMask;
    private volatile ByteBuffer heads = NOTHING;
    /** Number of the record that comes next, from 1; the numbers in chains are its low bits. */
    private volatile long next = 1;

    /** A block that begins like the prompt goes on. */
    record Found(BlockKey key, int tokens) {}

    /** @param maxTokens that it remembers; at least those of a block */
    Siblings(int blockTokens, long maxTokens) {
        this.blockTokens = blockTokens;
        recordBytes = recordBytes(blockTokens);
        capacity = capacity(blockTokens, maxTokens);
        pageRecords = Math.max(1, Math.min(capacity, MAX_PAGE_BYTES / recordBytes));
        pages = new ByteBuffer[(capacity + pageRecords - 1) / pageRecords];
        Arrays.fill(pages, NOTHING);
        headMask = heads(capacity) - 1;
    }

    private static int recordBytes(int blockTokens) {
        return (TOKENS + 4 * blockTokens + 7) & ~7;
    }

    private static int capacity(int blockTokens, long maxTokens) {
        return (int) Math.min(MAX_RECORDS, maxTokens / blockTokens);
    }

    private static int heads(int capacity) {
        return Integer.highestOneBit(Math.max(1, capacity)) * 2;
    }

    /** Most bytes off the heap; 0 where there is not room for one block. */
    static long bytes(int blockTokens, long maxTokens) {
        int capacity = capacity(blockTokens, maxTokens);
        return capacity == 0 ? 0 : (long) capacity * recordBytes(blockTokens) + 4L * heads(capacity);
    }

    /** Bytes off the heap now. */
    long bytes() {
        long bytes = heads.capacity();
        for (ByteBuffer page : pages) {
            bytes += page.capacity();
        }
        return bytes;
    }

    /** Remembers a block; arrays are borrowed. Without memory for it, it is not found by its beginning. */
    synchronized void add(long[] parent, long[] key, int[] tokens) {
        if (heads == NOTHING) {
            ByteBuffer memory = Direct.allocate(4 * (headMask + 1));
            if (memory == null) {
                return;
            }
            heads = memory;
        }
        int slot = (int) (next % capacity);
        ByteBuffer page = page(slot / pageRecords);
        if (page == NOTHING) {
            return;
        }
        int head = head(parent[0], parent[1], tokens[0]);
        int at = slot % pageRecords * recordBytes;
        page.putLong(at, key[0]);
        page.putLong(at + 8, key[1]);
        page.putLong(at + 16, key[2]);
        page.putLong(at + 24, key[3]);
        page.putInt(at + PREVIOUS, heads.getInt(head));
        for (int i = 0; i < blockTokens; i++) {
            page.putInt(at + TOKENS + 4 * i, tokens[i]);
        }
        int number = (int) next;
        next++;
        INT.setRelease(heads, head, number);
    }

    private ByteBuffer page(int index) {
        if (pages[index] == NOTHING) {
            int records = Math.min(pageRecords, capacity - index * pageRecords);
            ByteBuffer memory = Direct.allocate(records * recordBytes);
            if (memory != null) {
                pages[index] = memory;
            }
        }
        return pages[index];
    }

    /** Offset of the head for children of a parent that begin with {@code token}. */
    private int head(long word0, long word1, int token) {
        long mixed = (word0 ^ Long.rotateLeft(word1, 32) ^ token * 0xD6E8_FEB8_6659_FD93L) * 0x9E37_79B9_7F4A_7C15L;
        return ((int) (mixed >>> 32) & headMask) * 4;
    }

    /**
     * The child of {@code parent} that begins with most of {@code tokens[from..from+count)}; of equal ones that which was announced last.
     *
     * @param count at least 1; more than a block's tokens are as good as these
     * @param held whether anybody has it
     */
    @Nullable
    Found find(BlockKey parent, int[] tokens, int from, int count, Predicate<BlockKey> held) {
        ByteBuffer table = heads;
        if (table == NOTHING) {
            return null;
        }
        int most = Math.min(count, blockTokens);
        int number = (int) INT.getAcquire(table, head(parent.word0(), parent.word1(), tokens[from]));
        ChainKeys keys = new ChainKeys();
        Found best = null;
        int common = 0;
        int alike = 0;
        for (int step = 0; step < MAX_STEPS && alike < MAX_ALIKE && number != 0 && common < most; step++) {
            long end = next;
            int age = (int) end - number;
            if (age < 1 || age > capacity || age >= end) {
                break;
            }
            int slot = (int) ((end - age) % capacity);
            ByteBuffer page = pages[slot / pageRecords];
            int at = slot % pageRecords * recordBytes;
            int here = common(page, at, tokens, from, most);
            alike += here > 0 ? 1 : 0;
            if (here > common) {
                Found found = proven(keys, parent, page, at, tokens, from, most);
                if (found != null && found.tokens() > common && held.test(found.key())) {
                    best = found;
                    common = found.tokens();
                }
            }
            number = page.getInt(at + PREVIOUS);
        }
        return best;
    }

    private static int common(ByteBuffer page, int at, int[] tokens, int from, int most) {
        int common = 0;
        while (common < most && page.getInt(at + TOKENS + 4 * common) == tokens[from + common]) {
            common++;
        }
        return common;
    }

    /** What the record at {@code at} says, if it is a child of {@code parent}. */
    private @Nullable Found proven(
            ChainKeys keys, BlockKey parent, ByteBuffer page, int at, int[] tokens, int from, int most) {
        BlockKey key =
                new BlockKey(page.getLong(at), page.getLong(at + 8), page.getLong(at + 16), page.getLong(at + 24));
        int[] copy = new int[blockTokens];
        for (int i = 0; i < blockTokens; i++) {
            copy[i] = page.getInt(at + TOKENS + 4 * i);
        }
        if (!keys.next(parent, copy, 0, blockTokens).equals(key)) {
            return null;
        }
        int common = 0;
        while (common < most && copy[common] == tokens[from + common]) {
            common++;
        }
        return new Found(key, common);
    }
}
