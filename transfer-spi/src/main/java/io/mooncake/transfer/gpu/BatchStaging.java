// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.gpu;

import io.mooncake.transfer.internal.Staging;
import org.jspecify.annotations.Nullable;

/**
 * The slots of one batch. It takes its row of the arena when it has something to stage, since a batch whose bytes go directly needs none.
 * State is guarded by this; copies run outside of the lock, on a lane of the GPU for their own time.
 */
final class BatchStaging implements Staging {
    /** Slots of a row at most; with slices of 1 MiB four batches run at a time. */
    private static final int MAX_SLOTS = 8;

    private final PinnedArena arena;
    /** By request; null for those whose local end is memory of the host. */
    private final @Nullable GpuRegion[] regions;
    /** As it was at the start: what is staged and what is not does not change under a transport. */
    private final boolean[] direct;

    private final int slotBytes;
    private final int wanted;
    private final long deadlineNanos;
    private PinnedArena.@Nullable Row row;
    private long used;

    BatchStaging(PinnedArena arena, @Nullable GpuRegion[] regions, int slotBytes, int slices, long deadlineNanos) {
        this.arena = arena;
        this.regions = regions;
        this.direct = new boolean[regions.length];
        for (int i = 0; i < regions.length; i++) {
            GpuRegion region = regions[i];
            direct[i] = region != null && region.direct();
        }
        this.slotBytes = slotBytes;
        this.wanted = Math.max(1, Math.min(MAX_SLOTS, slices));
        this.deadlineNanos = deadlineNanos;
    }

    @Override
    public boolean onDevice(int request) {
        return regions[request] != null;
    }

    @Override
    public boolean direct(int request) {
        return direct[request];
    }

    @Override
    public synchronized boolean reserve() {
        if (row == null) {
            row = arena.take(slotBytes, wanted, deadlineNanos);
        }
        return row != null;
    }

    @Override
    public synchronized boolean awaitFree() {
        while (!hasFree()) {
            if (!Waits.await(this, deadlineNanos)) {
                return false;
            }
        }
        return true;
    }

    @Override
    public synchronized boolean hasFree() {
        PinnedArena.Row slots = row;
        return slots == null || free() < slots.slots();
    }

    @Override
    public synchronized long acquire(int bytes) {
        PinnedArena.Row slots = row;
        if (slots == null || bytes > slots.slotBytes()) {
            throw new IllegalStateException("no buffers of " + bytes + " bytes are reserved");
        }
        int free = free();
        if (free == slots.slots()) {
            return 0;
        }
        used |= 1L << free;
        return slots.address() + (long) free * slots.slotBytes();
    }

    /** The first free slot; their number when there is none. */
    private int free() {
        return Long.numberOfTrailingZeros(~used);
    }

    @Override
    public synchronized void release(long buffer) {
        PinnedArena.Row slots = row;
        if (slots != null) {
            used &= ~(1L << ((buffer - slots.address()) / slots.slotBytes()));
            notifyAll();
        }
    }

    @Override
    public boolean toDevice(int request, long buffer, long deviceAddress, int bytes) {
        return copy(request, true, deviceAddress, buffer, bytes);
    }

    @Override
    public boolean fromDevice(int request, long deviceAddress, long buffer, int bytes) {
        return copy(request, false, deviceAddress, buffer, bytes);
    }

    private boolean copy(int request, boolean toDevice, long deviceAddress, long buffer, int bytes) {
        GpuDevice device = device(request);
        GpuLane lane = device.lane();
        if (lane == null) {
            return false;
        }
        try {
            return lane.copy(toDevice, deviceAddress, buffer, bytes);
        } finally {
            device.giveBack(lane);
        }
    }

    private GpuDevice device(int request) {
        GpuRegion region = regions[request];
        if (region == null) {
            throw new IllegalStateException("request " + request + " is memory of the host");
        }
        return region.device();
    }

    @Override
    public boolean flush(int request) {
        return device(request).flushRemoteWrites();
    }

    @Override
    public synchronized void close() {
        PinnedArena.Row slots = row;
        row = null;
        if (slots != null) {
            arena.give(slots);
        }
    }
}
