// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory.index;

import io.mooncake.memory.BlockKey;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * The blocks of a {@link PrefixTree}: for each slot its tokens, the caller's id, the time of its last use, the node it belongs to, and, where
 * asked for, its chain key. Slots come in pages of about 64 Ki tokens that are made on demand and stay; runs of neighbouring slots in one
 * page are handed out together, so that a long edge is compared by one call.
 *
 * <p>Written by the tree's writer, but for the times, which readers write too. Readers use a slot only under the version of the node that it
 * belongs to, and never see a page go.
 */
final class TreeBlocks {
    static final int NONE = -1;

    private static final int PAGE_TOKENS = 1 << 16;
    /** Steps of a search in the map of free slots before it takes the best run it has seen. */
    private static final int SEARCH_STEPS = 64;

    final int blockTokens;
    final int maxBlocks;
    final int pageShift;
    final int pageMask;
    final int[] @Nullable [] tokens;
    final long[] @Nullable [] ids;
    final int[] @Nullable [] ticks;
    final long[] @Nullable [] keys;

    private final int[] @Nullable [] nodes;
    private final boolean withKeys;
    /** A bit for each slot that was used and is free again. */
    private final long[] freed;

    private int freedCount;
    private int used;
    private int cursor;
    private int allocated;

    TreeBlocks(int blockTokens, int maxBlocks, boolean withKeys) {
        this.blockTokens = blockTokens;
        this.maxBlocks = maxBlocks;
        this.withKeys = withKeys;
        pageShift = 31 - Integer.numberOfLeadingZeros(Math.max(1, PAGE_TOKENS / blockTokens));
        pageMask = (1 << pageShift) - 1;
        int pages = (int) (((long) maxBlocks + pageMask) >>> pageShift);
        tokens = new int[pages][];
        ids = new long[pages][];
        ticks = new int[pages][];
        nodes = new int[pages][];
        keys = new long[withKeys ? pages : 0][];
        freed = new long[(maxBlocks + 63) >>> 6];
    }

    // ------------------------------------------------------------------------------------------------------------
    // one slot

    static <T> T require(@Nullable T page) {
        if (page == null) {
            throw new IllegalStateException("page: never made");
        }
        return page;
    }

    boolean isUsed(int slot) {
        return slot >= 0 && slot < used && (freed[slot >>> 6] & 1L << slot) == 0;
    }

    long id(int slot) {
        return require(ids[slot >>> pageShift])[slot & pageMask];
    }

    int tick(int slot) {
        int[] page = ticks[slot >>> pageShift];
        return page == null ? 0 : page[slot & pageMask];
    }

    int node(int slot) {
        int[] page = nodes[slot >>> pageShift];
        return page == null ? 0 : page[slot & pageMask];
    }

    /** {@code count} slots of one page belong to {@code node} now. */
    void node(int slot, int count, int node) {
        int from = slot & pageMask;
        Arrays.fill(require(nodes[slot >>> pageShift]), from, from + count, node);
    }

    int token(int slot, int index) {
        return require(tokens[slot >>> pageShift])[(slot & pageMask) * blockTokens + index];
    }

    int[] tokens(int slot) {
        int from = (slot & pageMask) * blockTokens;
        return Arrays.copyOfRange(require(tokens[slot >>> pageShift]), from, from + blockTokens);
    }

    /** How many of {@code prompt[at..end)} equal the tokens from {@code offset} of {@code slot} on. */
    int common(int slot, int offset, int[] prompt, int at, int end) {
        int from = (slot & pageMask) * blockTokens + offset;
        int mismatch = Arrays.mismatch(require(tokens[slot >>> pageShift]), from, from + end - at, prompt, at, end);
        return mismatch < 0 ? end - at : mismatch;
    }

    /** Notes a use of {@code count} slots of one page; for readers too. */
    void touch(int slot, int count, int tick) {
        int[] page = ticks[slot >>> pageShift];
        int from = slot & pageMask;
        if (page != null) {
            Arrays.fill(page, from, from + count, tick);
        }
    }

    /** Like {@link #touch}, but no time is set back. */
    void raise(int slot, int count, int tick) {
        int[] page = require(ticks[slot >>> pageShift]);
        int from = slot & pageMask;
        for (int i = from; i < from + count; i++) {
            page[i] = Math.max(page[i], tick);
        }
    }

    BlockKey key(int slot) {
        long[] page = require(keys[slot >>> pageShift]);
        int at = 4 * (slot & pageMask);
        return new BlockKey(page[at], page[at + 1], page[at + 2], page[at + 3]);
    }

    void key(int slot, BlockKey key) {
        long[] page = require(keys[slot >>> pageShift]);
        int at = 4 * (slot & pageMask);
        page[at] = key.word0();
        page[at + 1] = key.word1();
        page[at + 2] = key.word2();
        page[at + 3] = key.word3();
    }

    // ------------------------------------------------------------------------------------------------------------
    // slots

    int count() {
        return used - freedCount;
    }

    int room() {
        return maxBlocks - count();
    }

    long bytes() {
        long bytes = 8L * freed.length;
        for (int page = 0; page < tokens.length; page++) {
            if (tokens[page] != null) {
                long slots = require(ids[page]).length;
                bytes += slots * (4L * blockTokens + 16 + (withKeys ? 32 : 0));
            }
        }
        return bytes + 8L * (4L * tokens.length + keys.length);
    }

    /** The most that {@link #bytes} becomes, without keys. */
    static long maxBytes(int blockTokens, int maxBlocks) {
        long pages = maxBlocks / Math.max(1, PAGE_TOKENS / blockTokens / 2) + 1L;
        return 8L * ((maxBlocks + 63) >>> 6) + maxBlocks * (4L * blockTokens + 16) + 32L * pages;
    }

    /** How many slots the last {@link #allocate} or {@link #extend} gave. */
    int allocated() {
        return allocated;
    }

    /** The first of at most {@code wanted} neighbouring slots of one page, or NONE when all are used. */
    int allocate(int wanted) {
        boolean manyFreed = freedCount > used >>> 2;
        if (used < maxBlocks && !manyFreed) {
            return fresh(wanted);
        }
        if (freedCount > 0) {
            return reuse(wanted);
        }
        allocated = 0;
        return NONE;
    }

    /** Whether and how many of {@code wanted} slots behind {@code last} in its page are free, taken when so. */
    int extend(int last, int wanted) {
        int slot = last + 1;
        allocated = 0;
        if ((slot & pageMask) != 0) {
            if (slot == used) {
                if (used < maxBlocks) {
                    fresh(wanted);
                }
            } else {
                int most = Math.min(wanted, pageMask + 1 - (slot & pageMask));
                while (allocated < most && slot + allocated < used && isFreed(slot + allocated)) {
                    take(slot + allocated++);
                }
            }
        }
        return allocated;
    }

    private int fresh(int wanted) {
        int slot = used;
        int page = slot >>> pageShift;
        if (tokens[page] == null) {
            int slots = Math.min(pageMask + 1, maxBlocks - slot);
            ids[page] = new long[slots];
            ticks[page] = new int[slots];
            nodes[page] = new int[slots];
            if (withKeys) {
                keys[page] = new long[4 * slots];
            }
            tokens[page] = new int[slots * blockTokens];
        }
        allocated = Math.min(wanted, Math.min(pageMask + 1 - (slot & pageMask), maxBlocks - slot));
        used += allocated;
        return slot;
    }

    private boolean isFreed(int slot) {
        return (freed[slot >>> 6] & 1L << slot) != 0;
    }

    private void take(int slot) {
        freed[slot >>> 6] &= ~(1L << slot);
        freedCount--;
    }

    void free(int slot) {
        freed[slot >>> 6] |= 1L << slot;
        freedCount++;
    }

    /** Next fit: from where the last search ended, the first run that is long enough, or the longest of those looked at. */
    private int reuse(int wanted) {
        int words = (used + 63) >>> 6;
        int best = NONE;
        int bestCount = 0;
        int slot = cursor < used ? cursor : 0;
        for (int looked = 0; looked <= words && (looked < SEARCH_STEPS || best == NONE); looked++) {
            long rest = freed[slot >>> 6] >>> slot;
            if (rest == 0) {
                slot = (slot | 63) + 1;
            } else {
                slot += Long.numberOfTrailingZeros(rest);
                int count = runAt(slot, wanted);
                if (count > bestCount) {
                    best = slot;
                    bestCount = count;
                }
                if (count == wanted) {
                    break;
                }
                slot += count;
            }
            slot = slot < used ? slot : 0;
        }
        for (int i = 0; i < bestCount; i++) {
            take(best + i);
        }
        cursor = best + bestCount;
        allocated = bestCount;
        return best;
    }

    private int runAt(int slot, int wanted) {
        int most = Math.min(wanted, Math.min(pageMask + 1 - (slot & pageMask), used - slot));
        int count = 1;
        while (count < most && isFreed(slot + count)) {
            count++;
        }
        return count;
    }
}
