// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory.block;

import io.mooncake.memory.BlockLayout;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicIntegerArray;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicLongArray;

/**
 * Slots of one size over a range of memory, allocated and leased without a lock.
 *
 * <p>Each slot has one atomic word that decides everything about it:
 *
 * <pre>
 *   bits 63..22   generation, 42 bits: raised by one whenever the slot is freed or reused
 *   bits 21..20   state: 0 free, 1 filling, 2 sealed, 3 evicting
 *   bits 19..0    references: leases and pins
 *
 *   free --allocate--> filling --seal (one reference)--> sealed --evict (no references)--> evicting --recycle--> filling
 *                         |                                 ^  |                               |
 *                         +------------free-----------+     +--+ lease, release                +---free--> free
 *                                                     +---> free
 * </pre>
 *
 * <p>Only a sealed slot can be leased and only a slot without references can be evicted, both by compare-and-set on the same word: a block
 * is never leased while it goes, and never goes while leased. Whoever wins free, allocate, evict or seal owns the slot's memory until the next
 * transition; the volatile update of the word publishes what it wrote there.
 *
 * <p>Free slots are a Treiber stack whose head carries a counter beside the index, so that a slot that was popped and pushed back between a
 * read and a compare-and-set (ABA) is noticed.
 */
public final class BlockSlab {
    /** Returned by {@link #allocate()} when nothing is free. */
    public static final int NONE = -1;

    /** Most slots of a slab. */
    public static final int MAX_SLOTS = 1 << 25;

    static final long FREE = 0;
    static final long FILLING = 1;
    static final long SEALED = 2;
    static final long EVICTING = 3;

    private static final int STATE_SHIFT = 20;
    private static final int GENERATION_SHIFT = 22;
    private static final long REFERENCES = (1L << STATE_SHIFT) - 1;
    private static final long HEAD_INDEX = 0xFFFF_FFFFL;
    private static final long HEAD_TICK = 1L << 32;

    private final long baseAddress;
    private final long baseOffset;
    private final long stride;
    private final int headerBytes;
    private final int payloadBytes;
    private final int slots;
    private final boolean checkGenerations;
    private final AtomicLongArray words;
    /** Next free slot plus one, 0 at the end; meaningful for slots on the stack only. */
    private final AtomicIntegerArray nextFree;
    /** Counter in the upper half, top slot plus one in the lower. */
    private final AtomicLong freeHead = new AtomicLong();

    private final AtomicInteger free = new AtomicInteger();

    /**
     * @param regionAddress address of the region
     * @param offset where the slab's range starts in it
     * @param bytes of the range
     */
    public BlockSlab(long regionAddress, long offset, long bytes, BlockLayout layout) {
        this(regionAddress, offset, bytes, layout, true);
    }

    /** For tests: {@code checkGenerations} false lets stale handles through. */
    BlockSlab(long regionAddress, long offset, long bytes, BlockLayout layout, boolean checkGenerations) {
        baseAddress = regionAddress + offset;
        baseOffset = offset;
        stride = BlockDescriptor.strideBytes(layout);
        headerBytes = BlockDescriptor.headerBytes(layout);
        payloadBytes = layout.payloadBytes();
        slots = (int) Math.min(bytes / stride, MAX_SLOTS);
        this.checkGenerations = checkGenerations;
        words = new AtomicLongArray(slots);
        nextFree = new AtomicIntegerArray(slots);
        for (int slot = slots - 1; slot >= 0; slot--) {
            words.set(slot, word(1, FREE, 0));
            push(slot);
        }
    }

    // -------------------------------------------------------------------------------------------------------
    // transitions

    /** Takes a free slot, in state filling; {@link #NONE} when there is none. */
    public int allocate() {
        while (true) {
            long head = freeHead.get();
            int slot = (int) (head & HEAD_INDEX) - 1;
            if (slot < 0) {
                return NONE;
            }
            long next = ((head & ~HEAD_INDEX) + HEAD_TICK) | nextFree.get(slot);
            if (freeHead.compareAndSet(head, next)) {
                free.decrementAndGet();
                words.set(slot, word(generation(slot), FILLING, 0));
                return slot;
            }
        }
    }

    /** Filling to sealed with one reference, the caller's. */
    public void seal(int slot) {
        transition(slot, FILLING, word(generation(slot), SEALED, 1));
    }

    /** Adds a reference if the slot is sealed. */
    public boolean lease(int slot) {
        while (true) {
            long word = words.get(slot);
            if (state(word) != SEALED || (word & REFERENCES) == REFERENCES) {
                return false;
            }
            if (words.compareAndSet(slot, word, word + 1)) {
                return true;
            }
        }
    }

    /** Drops a reference; true when it was the last. */
    public boolean release(int slot) {
        while (true) {
            long word = words.get(slot);
            if ((word & REFERENCES) == 0) {
                throw new IllegalStateException("slot " + slot + " released more often than leased");
            }
            if (words.compareAndSet(slot, word, word - 1)) {
                return ((word - 1) & REFERENCES) == 0;
            }
        }
    }

    /** Sealed without references to evicting. */
    public boolean startEviction(int slot) {
        long word = words.get(slot);
        return state(word) == SEALED
                && (word & REFERENCES) == 0
                && words.compareAndSet(slot, word, word(word >>> GENERATION_SHIFT, EVICTING, 0));
    }

    /** Evicting to filling under the next generation. */
    public void recycle(int slot) {
        transition(slot, EVICTING, word(generation(slot) + 1, FILLING, 0));
    }

    /** Filling or evicting to free under the next generation. */
    public void free(int slot) {
        long word = words.get(slot);
        if (state(word) != FILLING && state(word) != EVICTING) {
            throw new IllegalStateException("slot " + slot + " freed in state " + state(word));
        }
        transition(slot, state(word), word(generation(slot) + 1, FREE, 0));
        push(slot);
    }

    private void transition(int slot, long from, long to) {
        long word = words.get(slot);
        if (state(word) != from || !words.compareAndSet(slot, word, to)) {
            throw new IllegalStateException("slot " + slot + " in state " + state(word) + ", not " + from);
        }
    }

    private void push(int slot) {
        while (true) {
            long head = freeHead.get();
            nextFree.set(slot, (int) (head & HEAD_INDEX));
            long next = ((head & ~HEAD_INDEX) + HEAD_TICK) | (slot + 1);
            if (freeHead.compareAndSet(head, next)) {
                free.incrementAndGet();
                return;
            }
        }
    }

    // ------------------------------------------------------------------------------------------------------- look

    /** Slots in all. */
    public int slots() {
        return slots;
    }

    /** Slots free now. */
    public int freeSlots() {
        return free.get();
    }

    /** Bytes a slot takes. */
    public long strideBytes() {
        return stride;
    }

    /** Address of the slot's header. */
    public long headerAddress(int slot) {
        return baseAddress + slot * stride;
    }

    /** Address of the slot's payload. */
    public long payloadAddress(int slot) {
        return headerAddress(slot) + headerBytes;
    }

    /** Bytes from the start of the region to the slot's payload. */
    public long payloadOffset(int slot) {
        return baseOffset + slot * stride + headerBytes;
    }

    /** Whether the slot holds a block that can be leased. */
    public boolean isSealed(int slot) {
        return state(words.get(slot)) == SEALED;
    }

    /** References held on the slot now. */
    public int references(int slot) {
        return (int) (words.get(slot) & REFERENCES);
    }

    /** The slot's generation. */
    public long generation(int slot) {
        return words.get(slot) >>> GENERATION_SHIFT;
    }

    /** Whether {@code offset..offset+length} of the region lies in one payload that is sealed and of {@code generation}. No allocation. */
    public boolean isCurrent(long offset, long length, long generation) {
        long within = offset - baseOffset;
        if (within < 0 || length < 0) {
            return false;
        }
        long slot = within / stride;
        long start = within - slot * stride - headerBytes;
        if (slot >= slots || start < 0 || length > payloadBytes - start) {
            return false;
        }
        long word = words.get((int) slot);
        return state(word) == SEALED && (!checkGenerations || word >>> GENERATION_SHIFT == generation);
    }

    /** Bytes from the start of the region to the header of the slot whose payload holds {@code offset}, or -1 when none does. */
    public long headerOffset(long offset) {
        long within = offset - baseOffset;
        long slot = within < 0 ? -1 : within / stride;
        return slot < 0 || slot >= slots || within - slot * stride < headerBytes ? -1 : baseOffset + slot * stride;
    }

    private static long state(long word) {
        return (word >>> STATE_SHIFT) & 3;
    }

    private static long word(long generation, long state, long references) {
        return generation << GENERATION_SHIFT | state << STATE_SHIFT | references;
    }
}
