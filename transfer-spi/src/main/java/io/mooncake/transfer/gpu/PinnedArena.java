// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.gpu;

import io.mooncake.base.MooncakeException;
import io.mooncake.natives.CudaDevice;
import io.mooncake.natives.CudaMemory;
import io.mooncake.transfer.internal.Region;
import java.util.ArrayDeque;
import java.util.BitSet;
import org.jspecify.annotations.Nullable;

/**
 * Pinned memory of the host for the engine's own batches, which each take one row of equal slots of it, and wait while they have none: a
 * batch that holds a row never waits for another, so batches cannot block each other. All GPUs copy from and to it. Guarded by this.
 */
final class PinnedArena implements AutoCloseable {
    /** All of it; also the longest segment of a checksum that a read into GPU memory may have. */
    static final int BYTES = 32 << 20;

    private static final int UNIT_BYTES = 64 << 10;
    private static final int UNITS = BYTES / UNIT_BYTES;

    private final CudaMemory memory;
    private final GpuErrors errors;
    private final BitSet used = new BitSet(UNITS);
    /** In the order of their coming: who needs a long row is not passed by those who need short ones. */
    private final ArrayDeque<Thread> waiting = new ArrayDeque<>();

    private GpuMemory.@Nullable Card card;
    private final Region region;
    private long cuts;

    /** A batch's slots. */
    record Row(long address, int slotBytes, int slots) {}

    PinnedArena(CudaDevice device, GpuErrors errors) {
        this.memory = device.allocatePinned(BYTES);
        this.errors = errors;
        this.region = Region.ofBuffers(memory.address(), BYTES);
    }

    /** Makes the buffers known to the engine's network card; why that has none or does not take them, else empty. */
    synchronized String register(GpuMemory.@Nullable Card asked) {
        if (asked == null) {
            return "no RDMA device is in use";
        }
        try {
            asked.register(region);
            card = asked;
            return "";
        } catch (MooncakeException e) {
            return "the RDMA device does not take pinned memory: " + e.getMessage();
        }
    }

    /**
     * Takes up to {@code wanted} slots, at least one; null when there is none by the deadline, or {@link #cut} or an interrupt ends the wait.
     *
     * @param slotBytes of one, at most {@link #BYTES}
     */
    synchronized @Nullable Row take(int slotBytes, int wanted, long deadlineNanos) {
        int units = (slotBytes + UNIT_BYTES - 1) / UNIT_BYTES;
        long asked = cuts;
        Thread self = Thread.currentThread();
        waiting.add(self);
        try {
            while (true) {
                Row row = waiting.peek() == self ? tryTake(units, wanted) : null;
                if (row != null) {
                    return row;
                }
                if (cuts != asked || !Waits.await(this, deadlineNanos)) {
                    return null;
                }
            }
        } finally {
            waiting.remove(self);
            // The next in turn.
            notifyAll();
        }
    }

    private @Nullable Row tryTake(int units, int wanted) {
        for (int slots = Math.min(wanted, UNITS / units); slots > 0; slots /= 2) {
            int at = find(units * slots);
            if (at >= 0) {
                used.set(at, at + units * slots);
                return new Row(memory.address() + (long) at * UNIT_BYTES, units * UNIT_BYTES, slots);
            }
        }
        return null;
    }

    private int find(int units) {
        int at = used.nextClearBit(0);
        while (at + units <= UNITS) {
            int taken = used.nextSetBit(at);
            if (taken < 0 || taken - at >= units) {
                return at;
            }
            at = used.nextClearBit(taken);
        }
        return -1;
    }

    synchronized void give(Row row) {
        int at = (int) ((row.address - memory.address()) / UNIT_BYTES);
        used.clear(at, at + row.slots * (row.slotBytes / UNIT_BYTES));
        notifyAll();
    }

    /** Ends all waits. */
    synchronized void cut() {
        cuts++;
        notifyAll();
    }

    /** Frees it; no batch has a row. */
    @Override
    public synchronized void close() {
        GpuMemory.Card registered = card;
        card = null;
        try {
            if (registered != null) {
                registered.deregister(region);
            }
            memory.close();
        } catch (MooncakeException e) {
            errors.count(e);
        }
    }
}
