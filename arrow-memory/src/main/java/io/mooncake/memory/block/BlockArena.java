// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory.block;

import io.mooncake.base.Deadline;
import io.mooncake.base.MooncakeException;
import io.mooncake.base.MooncakeException.Code;
import io.mooncake.memory.block.BlockStates.Release;
import java.util.Arrays;
import java.util.Comparator;
import java.util.concurrent.locks.ReentrantLock;
import java.util.stream.IntStream;

/**
 * Blocks of many sizes in one range of addresses: memory of the host, of a device, or offsets in a file; nothing here touches a byte of it.
 *
 * <p>The range is cut into chunks, a 256th of it each (256 KiB to 32 MiB, more in ranges above 16 TiB, for the sake of tokens). A chunk holds blocks of one {@link SizeClasses size class}, and may
 * change class whenever it is empty. Blocks longer than half a chunk are runs of whole chunks, taken from the other end.
 *
 * <p>What is lost to fragmentation, at most: within a block a fifth (the class is up to a quarter longer than the size), and half a chunk or
 * less at the end of a run; at the end of a chunk an eighth of it (a quarter for one class of each four when only two fit). A block is
 * refused only when no chunk is empty and its own class has no free block. A single block that stays keeps its chunk in its class, until
 * somebody who may move blocks evacuates it ({@link #beginEvacuation}), as {@code MemoryPool} does.
 *
 * <p>Handles are tokens, so that nothing is allocated: the upper 40 bits are the slot's generation, the lower 24 its number. A token of a
 * block that was freed is refused for ever (until the generation wraps, after 2^40 uses of one slot).
 *
 * <p>Threading: safe for all threads. {@link #allocate}, {@link #free}, {@link #lease} and {@link #release} take no lock and allocate nothing;
 * a lock is taken when a chunk changes its class, and for runs. Waiting is only in {@link #allocate(long, Deadline)}.
 */
public final class BlockArena {
    /** Instead of a token, when there is no room. */
    public static final long NONE = -1;

    /** Blocks begin and end on pages of this size. */
    public static final int PAGE_BYTES = 4096;

    private static final int CHUNKS = 256;
    private static final long MIN_CHUNK_BYTES = 256L << 10;
    private static final long MAX_CHUNK_BYTES = 32L << 20;
    private static final long MAX_SLOTS = 1L << 23;
    private static final int SLOT_BITS = 24;
    private static final int SLOT_MASK = (1 << SLOT_BITS) - 1;
    private static final int MIN_CHUNK_SHIFT = 5;
    /** A cache line of words. */
    private static final int MAX_STEP_SHIFT = 3;

    private static final long WAIT_MILLIS = 5;

    private final String name;
    private final long baseAddress;
    private final long unitBytes;
    private final int unitShift;
    private final long chunkBytes;
    private final int chunks;
    private final int chunkShift;
    private final int maxClass;
    private final int runTag;
    private final int restTag;
    private final int closedTag;
    private final BlockStates states;
    private final FreeSlots free;
    /** By class: bytes of a block, blocks of a chunk. */
    private final long[] blockBytes;

    private final int[] chunkBlocks;
    /**
     * By class, logarithm of the slots from one block's to the next one's. Where a chunk has few blocks, their words are in different cache lines; a
     * group of slots that are searched together has as many blocks as without.
     */
    private final int[] stepShift;
    /** What a chunk is cut into; 0 for runs. Written under shape before the chunk has its tag, read by holders of its blocks. */
    private final int[] chunkClass;
    /** Chunks of the run that begins at a chunk. Guarded by shape. */
    private final int[] runChunks;
    /** Guards which chunks have which tag. */
    private final ReentrantLock shape = new ReentrantLock();

    private final Object room = new Object();
    private volatile int waiting;

    /**
     * @param name of the tier, for messages
     * @param baseAddress where the range begins, a multiple of {@value #PAGE_BYTES}
     * @param bytes of the range, at least one page; what does not fill a chunk at its end is not used
     */
    public BlockArena(String name, long baseAddress, long bytes) {
        if (bytes < PAGE_BYTES) {
            throw MooncakeException.invalid(name + " bytes", bytes, "at least " + PAGE_BYTES);
        }
        this.name = name;
        this.baseAddress = baseAddress;
        long chunk = Math.min(
                Long.highestOneBit(bytes),
                Math.max(MIN_CHUNK_BYTES, Math.min(MAX_CHUNK_BYTES, Long.highestOneBit(bytes / CHUNKS))));
        long unit = PAGE_BYTES;
        while (bytes / unit > MAX_SLOTS) {
            unit *= 2;
        }
        // A chunk has at least so many slots, and all slots have a number in a token.
        while (bytes / chunk > 1L << (SLOT_BITS - MIN_CHUNK_SHIFT)) {
            chunk *= 2;
        }
        chunkBytes = chunk;
        unitBytes = unit;
        unitShift = Long.numberOfTrailingZeros(unit);
        chunks = (int) (bytes / chunkBytes);
        int unitsShift = Long.numberOfTrailingZeros(chunkBytes / unitBytes);
        chunkShift = Math.max(MIN_CHUNK_SHIFT, unitsShift);
        maxClass = SizeClasses.classOf(Math.max(1, chunkBytes / unitBytes / 2));
        runTag = maxClass + 1;
        restTag = maxClass + 2;
        closedTag = maxClass + 3;
        states = new BlockStates(chunks << chunkShift);
        free = new FreeSlots(states, chunks, chunkShift, closedTag);
        blockBytes = new long[maxClass + 1];
        chunkBlocks = new int[maxClass + 1];
        stepShift = new int[maxClass + 1];
        for (int sizeClass = 1; sizeClass <= maxClass; sizeClass++) {
            blockBytes[sizeClass] = SizeClasses.units(sizeClass) * unitBytes;
            chunkBlocks[sizeClass] = (int) (chunkBytes / blockBytes[sizeClass]);
            int room = Math.max(1, FreeSlots.GROUP_SLOTS / chunkBlocks[sizeClass]);
            stepShift[sizeClass] = Math.min(MAX_STEP_SHIFT, Integer.SIZE - 1 - Integer.numberOfLeadingZeros(room));
        }
        chunkClass = new int[chunks];
        runChunks = new int[chunks];
    }

    // ------------------------------------------------------------------------------------------------ allocate, free

    /**
     * Allocates a block, in state filling.
     *
     * @param bytes at least
     * @return its token, or {@link #NONE} when there is no room
     * @throws MooncakeException INVALID_ARGUMENT for sizes that are not 1..{@link #capacityBytes()}
     */
    public long allocate(long bytes) {
        if (bytes < 1 || bytes > capacityBytes()) {
            throw MooncakeException.invalid("size", bytes, "1.." + capacityBytes() + " in " + name);
        }
        long units = (bytes + unitBytes - 1) >>> unitShift;
        int sizeClass = SizeClasses.classOf(units);
        if (sizeClass > maxClass) {
            return allocateRun((int) ((bytes + chunkBytes - 1) / chunkBytes));
        }
        int slot = free.take(sizeClass);
        if (slot == FreeSlots.NONE) {
            slot = takeWithNewChunk(sizeClass);
        }
        return slot == FreeSlots.NONE ? NONE : token(slot);
    }

    /** As {@link #allocate(long)}, waiting until the deadline for room. An interrupt ends the wait, and stays set. */
    public long allocate(long bytes, Deadline deadline) {
        long token = allocate(bytes);
        while (token == NONE && !deadline.expired()) {
            synchronized (room) {
                waiting++;
                try {
                    // Counted as waiting before the last look, so whoever frees after it wakes this thread.
                    token = allocate(bytes);
                    if (token == NONE) {
                        room.wait(Math.max(1, Math.min(WAIT_MILLIS, deadline.remainingMillis())));
                    }
                } catch (InterruptedException e) {
                    Thread.currentThread().interrupt();
                    return NONE;
                } finally {
                    waiting--;
                }
            }
            token = token == NONE ? allocate(bytes) : token;
        }
        return token;
    }

    private int takeWithNewChunk(int sizeClass) {
        shape.lock();
        try {
            int slot = free.take(sizeClass);
            while (slot == FreeSlots.NONE) {
                int chunk = emptyChunk();
                if (chunk < 0) {
                    return FreeSlots.NONE;
                }
                // Others may take all of it before this thread does.
                chunkClass[chunk] = sizeClass;
                free.format(chunk, sizeClass, chunkBlocks[sizeClass], 1 << stepShift[sizeClass]);
                slot = free.take(sizeClass);
            }
            return slot;
        } finally {
            shape.unlock();
        }
    }

    /** The lowest chunk without a tag, emptying one if there is none; -1 when every chunk is in use. */
    private int emptyChunk() {
        int chunk = untagged();
        return chunk >= 0 || !retireEmpty() ? chunk : untagged();
    }

    private int untagged() {
        for (int chunk = 0; chunk < chunks; chunk++) {
            if (free.tag(chunk) == FreeSlots.NO_TAG) {
                return chunk;
            }
        }
        return -1;
    }

    private boolean retireEmpty() {
        boolean retired = false;
        for (int chunk = 0; chunk < chunks; chunk++) {
            int tag = free.tag(chunk);
            if (isClass(tag)) {
                retired |= free.retire(chunk, chunkBlocks[tag]);
            }
        }
        return retired;
    }

    private long allocateRun(int length) {
        shape.lock();
        try {
            int first = findRun(length);
            if (first < 0 && retireEmpty()) {
                first = findRun(length);
            }
            if (first < 0) {
                return NONE;
            }
            for (int chunk = first; chunk < first + length; chunk++) {
                chunkClass[chunk] = 0;
                free.format(chunk, chunk == first ? runTag : restTag, 0, 1);
            }
            runChunks[first] = length;
            // Never free, so that nobody takes it by a hint from another time.
            int slot = first << chunkShift;
            states.appearFilling(slot);
            return token(slot);
        } finally {
            shape.unlock();
        }
    }

    /** The highest run of chunks without a tag, or -1. */
    private int findRun(int length) {
        int found = 0;
        for (int chunk = chunks - 1; chunk >= 0; chunk--) {
            found = free.tag(chunk) == FreeSlots.NO_TAG ? found + 1 : 0;
            if (found == length) {
                return chunk;
            }
        }
        return -1;
    }

    /**
     * Frees a block that is being filled, or sealed and held by nobody.
     *
     * @throws MooncakeException STALE when the token's block is freed already; ILLEGAL_STATE when it is leased, pinned or moving
     */
    public void free(long token) {
        int slot = slot(token);
        long generation = generation(token);
        // Whose block it is can't change while the token is good; when it is not, nothing is freed.
        boolean run = isRun(slot);
        if (!states.freeFilling(slot, generation, run)) {
            if (!states.startEvictionOf(slot, generation)) {
                throw refused(slot, generation, "filling, or sealed and held by nobody");
            }
            states.freeEvicting(slot, run);
        }
        giveBack(slot, generation + 1, run);
    }

    private boolean isRun(int slot) {
        return free.tag(slot >>> chunkShift) == runTag;
    }

    private void freeDrained(int slot) {
        boolean run = isRun(slot);
        states.freeEvicting(slot, run);
        giveBack(slot, FreeSlots.UNKNOWN, run);
    }

    private void giveBack(int slot, long generation, boolean run) {
        if (run) {
            freeRun(slot >>> chunkShift);
        } else {
            free.give(slot, generation);
        }
        if (waiting > 0) {
            synchronized (room) {
                room.notifyAll();
            }
        }
    }

    private void freeRun(int first) {
        shape.lock();
        try {
            int end = first + runChunks[first];
            for (int chunk = first; chunk < end; chunk++) {
                free.retire(chunk, 0);
            }
        } finally {
            shape.unlock();
        }
    }

    // ------------------------------------------------------------------------------------------------- evacuate

    /**
     * Chunks whose blocks would fit into other chunks of their class, the least used first. Looks at every slot, so it is for when there is no
     * room.
     *
     * @param most chunks at most
     */
    public int[] evacuationOrder(int most) {
        shape.lock();
        try {
            int[] freeBlocks = new int[maxClass + 1];
            int[] used = new int[chunks];
            for (int chunk = 0; chunk < chunks; chunk++) {
                int tag = free.tag(chunk);
                if (isClass(tag)) {
                    used[chunk] = usedIn(chunk);
                    freeBlocks[tag] += chunkBlocks[tag] - used[chunk];
                }
            }
            return IntStream.range(0, chunks)
                    .filter(chunk -> {
                        int tag = free.tag(chunk);
                        return isClass(tag) && used[chunk] <= freeBlocks[tag] - (chunkBlocks[tag] - used[chunk]);
                    })
                    .boxed()
                    .sorted(Comparator.comparingLong(chunk -> used[chunk] * blockBytes[free.tag(chunk)]))
                    .limit(most)
                    .mapToInt(Integer::intValue)
                    .toArray();
        } finally {
            shape.unlock();
        }
    }

    /**
     * Closes a chunk of blocks: nothing is allocated in it until {@link #endEvacuation}. The caller moves its blocks elsewhere meanwhile.
     *
     * @return false when it is no chunk of blocks now
     */
    public boolean beginEvacuation(int chunk) {
        shape.lock();
        try {
            boolean ofBlocks = isClass(free.tag(chunk));
            if (ofBlocks) {
                free.retag(chunk, closedTag);
            }
            return ofBlocks;
        } finally {
            shape.unlock();
        }
    }

    /** Tokens of the blocks in use in a closed chunk. */
    public long[] blocks(int chunk) {
        int first = chunk << chunkShift;
        int sizeClass = chunkClass[chunk];
        int step = 1 << stepShift[sizeClass];
        long[] tokens = new long[usedIn(chunk)];
        int count = 0;
        for (int i = 0; i < chunkBlocks[sizeClass] && count < tokens.length; i++) {
            int slot = first + i * step;
            if (!states.isFree(slot)) {
                tokens[count++] = token(slot);
            }
        }
        return Arrays.copyOf(tokens, count);
    }

    /** Opens a closed chunk again: for any class when it is empty, which this says, else for its own. */
    public boolean endEvacuation(int chunk) {
        shape.lock();
        try {
            int sizeClass = chunkClass[chunk];
            boolean empty = free.retire(chunk, chunkBlocks[sizeClass]);
            if (!empty) {
                free.retag(chunk, sizeClass);
            }
            return empty;
        } finally {
            shape.unlock();
        }
    }

    private boolean isClass(int tag) {
        return tag != FreeSlots.NO_TAG && tag <= maxClass;
    }

    private int usedIn(int chunk) {
        return chunkBlocks[chunkClass[chunk]] - free.freeIn(chunk);
    }

    // ----------------------------------------------------------------------------------------------------- use

    /** Filling to sealed. The token stays. */
    public void seal(long token) {
        requireGeneration(token);
        states.seal(slot(token), 0);
    }

    /** Adds a reference if the block is sealed or moving; false when it is not, or freed. */
    public boolean lease(long token) {
        return states.lease(slot(token), generation(token));
    }

    /**
     * Drops a reference. The last one of a block that has moved frees its old place.
     *
     * @throws MooncakeException ILLEGAL_STATE when none is held; STALE when the block is another
     */
    public void release(long token) {
        int slot = slot(token);
        Release left = states.release(slot, generation(token));
        if (left == null) {
            throw refused(slot, generation(token), "generation " + generation(token));
        }
        if (left == Release.DRAINED) {
            freeDrained(slot);
        }
    }

    /** The write lock on a sealed block that nobody holds: filling again, under the token that is returned; {@link #NONE} when it is held. */
    public long reopen(long token, long nowNanos) {
        int slot = slot(token);
        return states.reopen(slot, generation(token), nowNanos) ? token(slot) : NONE;
    }

    /** Starts a move of a sealed block to another arena; false when it is not sealed, hard pinned or freed. */
    public boolean startMove(long token) {
        return states.startMove(slot(token), generation(token));
    }

    /** Ends a move: the block stays. */
    public void cancelMove(long token) {
        states.cancelMove(slot(token));
    }

    /** Ends a move: readers find the block elsewhere now. This place is free as soon as its last reader has gone. */
    public void finishMove(long token) {
        int slot = slot(token);
        if (states.finishMove(slot) == Release.DRAINED) {
            freeDrained(slot);
        }
    }

    /** The soft pin of a block that moves goes with it. */
    public void carrySoftPin(BlockArena from, long fromToken, long token) {
        states.carrySoftPin(from.states, from.slot(fromToken), slot(token));
    }

    /** Adds a hard pin to a sealed block; false when that can't be. */
    public boolean pin(long token) {
        return states.pin(slot(token), generation(token));
    }

    /** Takes a hard pin off. */
    public void unpin(long token) {
        requireGeneration(token);
        states.unpin(slot(token));
    }

    /** As {@link BlockStates#softPin}. */
    public boolean softPin(long token, long untilNanos) {
        requireGeneration(token);
        return states.softPin(slot(token), untilNanos);
    }

    // ---------------------------------------------------------------------------------------------------- look

    /** Where the block begins. The token is of a block that the caller holds. */
    public long address(long token) {
        int slot = slot(token);
        int chunk = slot >>> chunkShift;
        int sizeClass = chunkClass[chunk];
        long within = ((slot & ((1 << chunkShift) - 1)) >>> stepShift[sizeClass]) * blockBytes[sizeClass];
        return baseAddress + chunk * chunkBytes + within;
    }

    /** Bytes of the block, at least what was asked for. The token is of a block that the caller holds. */
    public long bytes(long token) {
        int chunk = slot(token) >>> chunkShift;
        int sizeClass = chunkClass[chunk];
        return sizeClass != 0 ? blockBytes[sizeClass] : runChunks[chunk] * chunkBytes;
    }

    /** Whether the block can be leased. */
    public boolean isReadable(long token) {
        return states.isReadable(slot(token), generation(token));
    }

    /** Whether the block is being filled. */
    public boolean isFilling(long token) {
        return states.isFilling(slot(token), generation(token));
    }

    /** Whether the block is just being freed or opened again, which may be called off. */
    public boolean isEvicting(long token) {
        return states.isEvicting(slot(token), generation(token));
    }

    /** References on the block; 0 when it is freed. */
    public int references(long token) {
        return states.generation(slot(token)) == generation(token) ? states.references(slot(token)) : 0;
    }

    /** State, references and pins of the block in words. */
    public String describe(long token) {
        return states.describe(slot(token));
    }

    /** The most that one block may have, and all blocks together. */
    public long capacityBytes() {
        return chunks * chunkBytes;
    }

    /** The number of the block's slot, 0..{@link #slots()}-1: no two blocks have the same at a time. */
    public int slotOf(long token) {
        return slot(token);
    }

    /** Slots in all. */
    public int slots() {
        return states.slots();
    }

    /** Bytes of a chunk. */
    public long chunkBytes() {
        return chunkBytes;
    }

    /** Bytes of the Java heap that this takes, those for soft pins included, which it takes when there is one. */
    public long heapBytes() {
        return 2L * Long.BYTES * states.slots();
    }

    /** Bytes of blocks that are in use; looks at each slot, so not for the data plane. */
    public long usedBytes() {
        long used = 0;
        for (int chunk = 0; chunk < chunks; chunk++) {
            int tag = free.tag(chunk);
            if (tag == runTag || tag == restTag) {
                used += chunkBytes;
            } else if (tag != FreeSlots.NO_TAG) {
                used += usedIn(chunk) * blockBytes[chunkClass[chunk]];
            }
        }
        return used;
    }

    private long token(int slot) {
        return states.generation(slot) << SLOT_BITS | slot;
    }

    private int slot(long token) {
        int slot = (int) token & SLOT_MASK;
        if (slot >= states.slots()) {
            throw MooncakeException.invalid("token", token, "one of " + name);
        }
        return slot;
    }

    private static long generation(long token) {
        return token >>> SLOT_BITS;
    }

    private void requireGeneration(long token) {
        int slot = slot(token);
        if (states.generation(slot) != generation(token)) {
            throw refused(slot, generation(token), "generation " + generation(token));
        }
    }

    private MooncakeException refused(int slot, long generation, String expected) {
        boolean stale = states.generation(slot) != generation;
        return new MooncakeException(
                stale ? Code.STALE : Code.ILLEGAL_STATE,
                name + " block " + slot + (stale ? " of generation " + generation + ", freed since: " : ": ")
                        + states.describe(slot) + " (expected: " + expected + ")");
    }
}
