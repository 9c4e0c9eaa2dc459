// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory.block;

import io.mooncake.base.MooncakeException;
import io.mooncake.memory.BlockLayout;
import io.mooncake.memory.block.BlockStates.Release;

/**
 * Slots of one size over a range of memory, allocated and leased without a lock: {@link BlockStates} says who may touch a slot,
 * {@link FreeSlots} which ones nobody uses.
 */
public final class BlockSlab {
    /** Returned by {@link #allocate()} when nothing is free. */
    public static final int NONE = FreeSlots.NONE;

    /** Most slots of a slab. */
    public static final int MAX_SLOTS = 1 << 25;

    /** All slots are of one kind. */
    private static final int TAG = 1;

    private final long baseAddress;
    private final long baseOffset;
    private final long stride;
    private final int headerBytes;
    private final int payloadBytes;
    private final int slots;
    private final boolean checkGenerations;
    private final BlockStates states;
    private final FreeSlots free;

    /**
     * @param regionAddress address of the region
     * @param offset where the slab's range starts in it
     * @param bytes of the range, at least one block's
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
        if (bytes < stride) {
            throw MooncakeException.invalid("slab bytes", bytes, "at least " + stride + ", one block");
        }
        slots = (int) Math.min(bytes / stride, MAX_SLOTS);
        this.checkGenerations = checkGenerations;
        states = new BlockStates(slots);
        // One chunk of all slots.
        free = new FreeSlots(states, 1, Integer.SIZE - 1, TAG);
        free.format(0, TAG, slots, 1);
    }

    // -------------------------------------------------------------------------------------------------------
    // transitions

    /** Takes a free slot, in state filling; {@link #NONE} when there is none. */
    public int allocate() {
        return free.take(TAG);
    }

    /** Filling to sealed with one reference, the caller's. */
    public void seal(int slot) {
        states.seal(slot, 1);
    }

    /** Adds a reference if the slot is sealed. */
    public boolean lease(int slot) {
        return states.lease(slot);
    }

    /** The same if the slot is of {@code generation} too. */
    public boolean lease(int slot, long generation) {
        return states.lease(slot, generation);
    }

    /** Drops a reference; true when it was the last. A slot that has moved goes back with its last reference, and gives false. */
    public boolean release(int slot) {
        Release left = states.release(slot);
        if (left == Release.DRAINED) {
            free(slot);
        }
        return left == Release.IDLE;
    }

    /** Sealed without references to evicting. */
    public boolean startEviction(int slot) {
        return states.startEviction(slot);
    }

    /** Sealed without references and pins at {@code nowNanos} to evicting. */
    public boolean startEviction(int slot, long nowNanos) {
        return states.startEviction(slot, nowNanos);
    }

    /**
     * Takes a sealed block without hard pins from everybody who does not hold it yet.
     *
     * @return whether the caller has the slot, to be freed; if not, {@link BlockStates#release} says DRAINED to who drops the last reference
     */
    public boolean take(int slot) {
        if (!states.startMove(slot, states.generation(slot))) {
            throw new MooncakeException(
                    MooncakeException.Code.ILLEGAL_STATE,
                    "slot " + slot + ": " + states.describe(slot) + " (expected: sealed, without hard pins)");
        }
        return states.finishMove(slot) == Release.DRAINED;
    }

    /** Evicting to filling under the next generation. */
    public void recycle(int slot) {
        states.recycle(slot);
    }

    /** Filling or evicting to free under the next generation. */
    public void free(int slot) {
        long taken = free.taken(TAG, slot);
        if (taken != FreeSlots.UNKNOWN && states.freeFilling(slot, taken, false)) {
            free.give(slot, taken + 1);
        } else {
            free.give(slot, states.free(slot));
        }
    }

    /** The states of the slots, for moves and pins. */
    public BlockStates states() {
        return states;
    }

    // ------------------------------------------------------------------------------------------------------- look

    /** Slots in all. */
    public int slots() {
        return slots;
    }

    /** Slots free now. */
    public int freeSlots() {
        return free.freeIn(0);
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
        return states.isReadable(slot);
    }

    /** References held on the slot now. */
    public int references(int slot) {
        return states.references(slot);
    }

    /** The slot's generation. */
    public long generation(int slot) {
        return states.generation(slot);
    }

    /**
     * Whether {@code offset..offset+length} of the region lies in one payload that is sealed and of {@code generation}, or has gone but for those who
     * hold it still. No allocation.
     */
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
        return checkGenerations ? states.isIntact((int) slot, generation) : states.isReadable((int) slot);
    }

    /** Bytes from the start of the region to the header of the slot whose payload holds {@code offset}, or -1 when none does. */
    public long headerOffset(long offset) {
        long within = offset - baseOffset;
        long slot = within < 0 ? -1 : within / stride;
        return slot < 0 || slot >= slots || within - slot * stride < headerBytes ? -1 : baseOffset + slot * stride;
    }
}
