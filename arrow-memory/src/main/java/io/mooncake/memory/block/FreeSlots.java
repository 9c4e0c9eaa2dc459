// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory.block;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.Arrays;
import java.util.concurrent.atomic.AtomicLongArray;

/**
 * Finds free slots. Which slots are free is said by {@link BlockStates} alone; all that is here are hints where to look, and a slot is taken
 * by the one compare-and-set on its own word that makes it filling. So to allocate and free costs two atomic updates, there is no list to
 * corrupt, and a change back and forth between a read and an update (ABA) can do no harm: the slot is free, or it is not.
 *
 * <p>Slots come in groups of {@value #GROUP_SLOTS}, groups in chunks; a chunk has a tag, the kind of slot it is cut into now. Whoever has
 * taken a slot looks at the tag of its chunk, which can't change while a slot of it is in use, and gives it back when it is another.
 *
 * <p>Hints, in the order in which they are tried:
 *
 * <ul>
 *   <li>Each of {@value #STRIPES} stripes of threads remembers a slot for each tag: the one freed last, or the one behind that taken last. Of the
 *       one freed last it remembers the generation too, so that it is taken without a look before.
 *   <li>The group of that slot, unless another stripe remembers it too.
 *   <li>A summary with one bit a group. Whoever frees a slot sets the bit if it is not set. A search that finds no free slot in a group
 *       clears the bit and looks once more: either it sees the slot, or the bit is set after it was cleared. So a slot that stays free
 *       during a search is found by it.
 * </ul>
 *
 * <p>Contention is avoided: a search passes over the groups that other stripes remember while there are others, and a stripe remembers none at
 * first, so threads work on different cache lines until little is left. Lowest groups come first, which leaves the highest chunks to become empty.
 *
 * <p>Threading: {@link #take}, {@link #give} and the counts by any thread, without allocation; {@link #format} and {@link #retire} by one
 * thread at a time, which the caller sees to.
 */
final class FreeSlots {
    static final int NONE = -1;
    /** Instead of a generation. */
    static final long UNKNOWN = 0;

    static final int GROUP_SLOTS = 32;
    static final int STRIPES = 16;

    /** Tag of a chunk that is cut into nothing. */
    static final int NO_TAG = 0;

    private static final int GROUP_SHIFT = 5;
    private static final int IN_GROUP = GROUP_SLOTS - 1;
    /** Slots whose words are in one cache line. */
    private static final int LINE_SLOTS = 8;

    /** Longs from one stripe's memory to the next: two cache lines, as processors fetch them in pairs. */
    private static final int LINE_SHIFT = 4;
    /**
     * What a stripe remembers: in the lower bits a slot, above it the slot's generation, and on top whether it took the slot, rather than freed it:
     * then it looks behind it first.
     */
    private static final long TAKEN = 1L << 63;

    private static final int SLOT_BITS = 25;
    private static final int SLOT = (1 << SLOT_BITS) - 1;
    private static final long NOWHERE = -1;

    private static final VarHandle TAG = MethodHandles.arrayElementVarHandle(int[].class);
    private static final VarHandle HINT = MethodHandles.arrayElementVarHandle(long[].class);

    private final BlockStates states;
    private final int chunkShift;
    private final int groups;
    /** Written and read as volatile, but by whoever holds a slot of the chunk, for whom it does not change. */
    private final int[] tags;
    /** By chunk, from one of its slots to the next. Written before its tag. */
    private final int[] steps;
    /** By tag and stripe. Threads of one stripe may write over each other's: what is read is a guess. */
    private final long[] hints;

    private final AtomicLongArray summary;

    /**
     * @param states of chunks x 2^chunkShift slots at most, all absent
     * @param chunks all without a tag at first
     * @param chunkShift logarithm of the most slots of a chunk
     * @param maxTag tags in use are 1..maxTag
     */
    FreeSlots(BlockStates states, int chunks, int chunkShift, int maxTag) {
        this.states = states;
        this.chunkShift = chunkShift;
        groups = (states.slots() + IN_GROUP) >>> GROUP_SHIFT;
        tags = new int[chunks];
        steps = new int[chunks];
        // Never 0, whatever a thread sees that has not seen the chunk made.
        Arrays.fill(steps, 1);
        hints = new long[((maxTag + 1) * STRIPES) << LINE_SHIFT];
        Arrays.fill(hints, NOWHERE);
        summary = new AtomicLongArray((groups + Long.SIZE - 1) / Long.SIZE);
    }

    /** Takes a free slot of {@code tag}, now in state filling, or {@link #NONE}. */
    int take(int tag) {
        int line = line(tag);
        long hint = hint(line);
        if (hint == NOWHERE) {
            return search(tag, line);
        }
        boolean taken = hint < 0;
        int slot = taken ? behind(slot(hint)) : slot(hint);
        return takeOne(slot, taken ? UNKNOWN : generation(hint), tag, line) ? slot : search(tag, line);
    }

    /** The generation under which this thread took {@code slot}, if it was the last that it took of {@code tag}; else {@link #UNKNOWN}. A guess. */
    long taken(int tag, int slot) {
        long hint = hint(line(tag));
        return hint < 0 && hint != NOWHERE && slot(hint) == slot ? generation(hint) : UNKNOWN;
    }

    private boolean takeOne(int slot, long guess, int tag, int line) {
        // By the tag first: a slot of another one, taken for a moment, would be missed by who looks for it.
        if (tag(slot >>> chunkShift) != tag) {
            return false;
        }
        long generation = states.tryFill(slot, guess);
        if (generation == BlockStates.NOT_FREE) {
            return false;
        }
        if (tag(slot >>> chunkShift) != tag) {
            states.free(slot);
            mark(slot >>> GROUP_SHIFT);
            return false;
        }
        HINT.setOpaque(hints, line, TAKEN | generation << SLOT_BITS | slot);
        return true;
    }

    /** The next slot of the same group, which may be none. */
    private int behind(int slot) {
        int next = (slot & ~IN_GROUP) | ((slot + steps[slot >>> chunkShift]) & IN_GROUP);
        return next < states.slots() ? next : slot & ~IN_GROUP;
    }

    /** A free slot of the group, from its slot number {@code from} on and around. */
    private int takeFrom(int group, int from, int tag, int line) {
        int first = group << GROUP_SHIFT;
        int step = steps[first >>> chunkShift];
        for (int i = 0; i < GROUP_SLOTS; i += step) {
            int slot = first + ((from + i) & IN_GROUP);
            if (slot < states.slots() && states.isFree(slot) && takeOne(slot, UNKNOWN, tag, line)) {
                return slot;
            }
        }
        return NONE;
    }

    private int search(int tag, int line) {
        long hint = hint(line);
        int group = slot(hint) >>> GROUP_SHIFT;
        int slot = hint == NOWHERE || isHintOfOthers(tag, line, group) ? NONE : takeFrom(group, 0, tag, line);
        slot = slot != NONE ? slot : search(tag, line, true);
        return slot != NONE ? slot : search(tag, line, false);
    }

    private int search(int tag, int line, boolean passOver) {
        int group = 0;
        while ((group = nextMarked(group)) < groups) {
            int chunk = (group << GROUP_SHIFT) >>> chunkShift;
            if (tag(chunk) != tag) {
                group = nextChunk(chunk);
                continue;
            }
            if (!passOver || !isHintOfOthers(tag, line, group)) {
                // Where others are too, in another cache line than the first of them.
                int slot = takeFrom(group, passOver ? 0 : LINE_SLOTS * (1 + stripe(line) % 3), tag, line);
                if (slot != NONE) {
                    return slot;
                }
                unmark(group);
            }
            group++;
        }
        return NONE;
    }

    private int nextChunk(int chunk) {
        return chunk + 1 == tags.length ? groups : ((chunk + 1) << chunkShift) >>> GROUP_SHIFT;
    }

    private boolean isHintOfOthers(int tag, int line, int group) {
        int first = (tag * STRIPES) << LINE_SHIFT;
        for (int stripe = 0; stripe < STRIPES; stripe++) {
            int at = first + (stripe << LINE_SHIFT);
            long hint = hint(at);
            if (at != line && hint != NOWHERE && slot(hint) >>> GROUP_SHIFT == group) {
                return true;
            }
        }
        return false;
    }

    /** Notes that a slot was freed, under {@code generation} if that is known. */
    void give(int slot, long generation) {
        int line = line(tags[slot >>> chunkShift]);
        // A slot of another group was taken by another stripe, or long ago: to go there would be to meet others.
        if (((hint(line) ^ slot) & SLOT & ~IN_GROUP) == 0) {
            HINT.setOpaque(hints, line, generation << SLOT_BITS & ~TAKEN | slot);
        }
        mark(slot >>> GROUP_SHIFT);
    }

    private static int line(int tag) {
        return (tag * STRIPES + ((int) Thread.currentThread().getId() & (STRIPES - 1))) << LINE_SHIFT;
    }

    private long hint(int line) {
        return (long) HINT.getOpaque(hints, line);
    }

    private static int stripe(int line) {
        return (line >>> LINE_SHIFT) & (STRIPES - 1);
    }

    private static int slot(long hint) {
        return (int) hint & SLOT;
    }

    /** But for the upper bits, which are 0 in the first 2^38 uses of a slot: it is a guess. */
    private static long generation(long hint) {
        return (hint & ~TAKEN) >>> SLOT_BITS;
    }

    // ----------------------------------------------------------------------------------------------------- chunks

    /** The tag of a chunk. */
    int tag(int chunk) {
        return (int) TAG.getVolatile(tags, chunk);
    }

    /**
     * Gives a chunk without a tag its tag, and makes {@code slots} of its slots free: the first, and each that is {@code step} behind another.
     *
     * @param step a power of two, at most {@value #GROUP_SLOTS}
     */
    void format(int chunk, int tag, int slots, int step) {
        int first = chunk << chunkShift;
        int end = first + slots * step;
        steps[chunk] = step;
        TAG.setVolatile(tags, chunk, tag);
        for (int slot = first; slot < end; slot += step) {
            states.appear(slot);
        }
        for (int slot = first; slot < end; slot += GROUP_SLOTS) {
            mark(slot >>> GROUP_SHIFT);
        }
    }

    /**
     * Takes the tag from a chunk whose slots are all free, and makes them absent. While it tries, takers may miss slots of that chunk; so only
     * a miss of a caller that excludes this call says that there is none.
     *
     * @param slots the chunk was formatted with
     * @return false when some slot is in use; then all is as before
     */
    boolean retire(int chunk, int slots) {
        int first = chunk << chunkShift;
        int step = steps[chunk];
        int end = first + slots * step;
        for (int slot = first; slot < end; slot += step) {
            if (!states.isFree(slot)) {
                return false;
            }
        }
        for (int slot = first; slot < end; slot += step) {
            if (!states.tryVanish(slot)) {
                for (int back = first; back < slot; back += step) {
                    states.appear(back);
                    mark(back >>> GROUP_SHIFT);
                }
                return false;
            }
        }
        TAG.setVolatile(tags, chunk, NO_TAG);
        return true;
    }

    /** Gives a chunk another tag, its slots staying what they are. */
    void retag(int chunk, int tag) {
        TAG.setVolatile(tags, chunk, tag);
        int first = (chunk << chunkShift) >>> GROUP_SHIFT;
        int end = nextChunk(chunk);
        for (int group = first; group < end; group++) {
            mark(group);
        }
    }

    /** Free slots of a chunk now; looks at each of them. */
    int freeIn(int chunk) {
        int first = chunk << chunkShift;
        int end = tags.length == 1 ? states.slots() : Math.min(first + (1 << chunkShift), states.slots());
        int free = 0;
        for (int slot = first; slot < end; slot++) {
            free += states.isFree(slot) ? 1 : 0;
        }
        return free;
    }

    // ---------------------------------------------------------------------------------------------------- summary

    private int nextMarked(int group) {
        if (group >= groups) {
            return groups;
        }
        int at = group >>> 6;
        long marks = summary.get(at) & (-1L << group);
        while (marks == 0) {
            if (++at == summary.length()) {
                return groups;
            }
            marks = summary.get(at);
        }
        return (at << 6) + Long.numberOfTrailingZeros(marks);
    }

    private void mark(int group) {
        int at = group >>> 6;
        long bit = 1L << group;
        long marks = summary.get(at);
        while ((marks & bit) == 0 && !summary.compareAndSet(at, marks, marks | bit)) {
            marks = summary.get(at);
        }
    }

    private void unmark(int group) {
        int at = group >>> 6;
        long bit = 1L << group;
        long marks = summary.get(at);
        while (!summary.compareAndSet(at, marks, marks & ~bit)) {
            marks = summary.get(at);
        }
        int end = Math.min((group + 1) << GROUP_SHIFT, states.slots());
        for (int slot = group << GROUP_SHIFT; slot < end; slot++) {
            if (states.isFree(slot)) {
                mark(group);
                return;
            }
        }
    }
}
