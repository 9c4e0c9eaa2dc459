// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.gpu;

import io.mooncake.base.MooncakeException;
import io.mooncake.natives.CudaDevice;
import io.mooncake.natives.CudaException;
import io.mooncake.transfer.internal.DeviceMemory;
import java.util.ArrayDeque;
import org.jspecify.annotations.Nullable;

/**
 * An open GPU of an engine, with what moves its bytes: passages for the accesses of peers, a bounded number of them, and lanes for the
 * copies of own batches, as many as there are workers at a time. Both are made when first needed and kept.
 *
 * <p>All state is guarded by this; no call into the driver is made under the lock but those that make or free.
 */
final class GpuDevice implements AutoCloseable {
    /** Accesses of peers at a time; 16 MiB of pinned memory. */
    static final int MAX_PASSAGES = 32;

    private final CudaDevice device;
    private final GpuErrors errors;
    private final ArrayDeque<GpuPassage> passages = new ArrayDeque<>();
    private final ArrayDeque<GpuLane> lanes = new ArrayDeque<>();
    private int made;
    private boolean closed;

    GpuDevice(CudaDevice device, GpuErrors errors) {
        this.device = device;
        this.errors = errors;
    }

    CudaDevice device() {
        return device;
    }

    /** A passage; null when all are in use until then, or the driver has none to give. */
    synchronized DeviceMemory.@Nullable Passage passage(long deadlineNanos) {
        while (!closed) {
            GpuPassage free = passages.poll();
            if (free != null) {
                return free;
            }
            if (made < MAX_PASSAGES) {
                return make();
            }
            if (!Waits.await(this, deadlineNanos)) {
                return null;
            }
        }
        return null;
    }

    private @Nullable GpuPassage make() {
        try {
            GpuPassage passage = new GpuPassage(this, device, errors);
            made++;
            return passage;
        } catch (MooncakeException e) {
            errors.count(e);
            return null;
        }
    }

    synchronized void giveBack(GpuPassage passage) {
        if (closed || passage.failed()) {
            made--;
            passage.free();
        } else {
            passages.push(passage);
        }
        notifyAll();
    }

    /** A lane of its own for the caller, to be given back; null when the driver has none to give. */
    synchronized @Nullable GpuLane lane() {
        GpuLane free = lanes.poll();
        if (free != null) {
            return free;
        }
        try {
            return new GpuLane(device, errors);
        } catch (MooncakeException e) {
            errors.count(e);
            return null;
        }
    }

    synchronized void giveBack(GpuLane lane) {
        if (closed || lane.failed()) {
            lane.close();
        } else {
            lanes.push(lane);
        }
    }

    boolean flushRemoteWrites() {
        try {
            device.flushRemoteWrites();
            return true;
        } catch (CudaException e) {
            errors.count(e);
            return false;
        }
    }

    /** Frees everything. No region of the device is registered any more, so nobody uses it. */
    @Override
    public synchronized void close() {
        closed = true;
        notifyAll();
        passages.forEach(GpuPassage::free);
        passages.clear();
        lanes.forEach(GpuLane::close);
        lanes.clear();
        try {
            device.close();
        } catch (MooncakeException e) {
            errors.count(e);
        }
    }
}
