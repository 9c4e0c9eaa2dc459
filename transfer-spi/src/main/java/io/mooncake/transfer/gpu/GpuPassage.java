// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.gpu;

import io.mooncake.base.MooncakeException;
import io.mooncake.natives.CudaDevice;
import io.mooncake.natives.CudaMemory;
import io.mooncake.transfer.internal.DeviceMemory;
import io.mooncake.transfer.internal.DirectViews;
import java.io.IOException;
import java.nio.ByteBuffer;

/**
 * Two pinned buffers and a lane: while the bytes of one buffer are on the wire, the GPU copies the other. Used by one access at a time and
 * again by the next; one whose lane has failed is replaced.
 */
final class GpuPassage implements DeviceMemory.Passage {
    /** Large enough that starting a copy costs little next to it, small enough that the first piece is there soon. */
    static final int PIECE_BYTES = 256 << 10;

    private final GpuDevice owner;
    private final GpuErrors errors;
    private final CudaMemory buffers;
    private final GpuLane lane;
    private final ByteBuffer[] views = new ByteBuffer[2];

    GpuPassage(GpuDevice owner, CudaDevice device, GpuErrors errors) {
        this.owner = owner;
        this.errors = errors;
        this.buffers = device.allocatePinned(2L * PIECE_BYTES);
        try {
            this.lane = new GpuLane(device, errors);
        } catch (MooncakeException e) {
            buffers.close();
            throw e;
        }
        for (int i = 0; i < 2; i++) {
            views[i] = DirectViews.view(address(i), PIECE_BYTES);
        }
    }

    private long address(int buffer) {
        return buffers.address() + (long) buffer * PIECE_BYTES;
    }

    boolean failed() {
        return lane.failed();
    }

    @Override
    public boolean send(long deviceAddress, int length, DeviceMemory.Sink sink) throws IOException {
        try {
            int at = 0;
            int now = 0;
            boolean sound = lane.start(false, deviceAddress, address(0), piece(length, 0));
            while (at < length) {
                int bytes = piece(length, at);
                // Before the next copy starts, so that this waits for nothing else.
                sound = sound && lane.await();
                int next = at + bytes;
                if (sound && next < length) {
                    sound = lane.start(false, deviceAddress + next, address(1 - now), piece(length, next));
                } else if (!sound) {
                    zero(now, bytes);
                }
                sink.take(views[now].limit(bytes).position(0));
                at = next;
                now = 1 - now;
            }
            return sound;
        } finally {
            lane.await();
        }
    }

    private void zero(int buffer, int bytes) {
        ByteBuffer view = views[buffer].limit(bytes).position(0);
        while (view.remaining() >= Long.BYTES) {
            view.putLong(0);
        }
        while (view.hasRemaining()) {
            view.put((byte) 0);
        }
    }

    private static int piece(int length, int at) {
        return Math.min(PIECE_BYTES, length - at);
    }

    @Override
    public boolean receive(long deviceAddress, int length, DeviceMemory.Source source) throws IOException {
        boolean sound = true;
        try {
            int at = 0;
            int now = 0;
            while (at < length) {
                int bytes = piece(length, at);
                // The copy out of the other buffer runs meanwhile; this one is free, because at most one copy is under
                // way.
                if (!source.fill(views[now].limit(bytes).position(0))) {
                    break;
                }
                sound = lane.await() && lane.start(true, deviceAddress + at, address(now), bytes);
                if (!sound) {
                    return false;
                }
                at += bytes;
                now = 1 - now;
            }
        } finally {
            sound = lane.await();
        }
        return sound;
    }

    @Override
    public void close() {
        owner.giveBack(this);
    }

    /** Frees it; nothing is under way. */
    void free() {
        lane.close();
        try {
            buffers.close();
        } catch (MooncakeException e) {
            errors.count(e);
        }
    }
}
