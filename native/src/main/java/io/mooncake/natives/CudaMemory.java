// SPDX-License-Identifier: Apache-2.0
package io.mooncake.natives;

/** Memory that the driver allocated, on a device or locked on the host. Closing frees it. Threading: any. */
public final class CudaMemory implements AutoCloseable {
    private final CudaDevice device;
    private final long address;
    private final long bytes;
    private final boolean pinned;
    private boolean closed;

    CudaMemory(CudaDevice device, long address, long bytes, boolean pinned) {
        this.device = device;
        this.address = address;
        this.bytes = bytes;
        this.pinned = pinned;
    }

    /** Where it begins. */
    public long address() {
        return address;
    }

    /** How much it is. */
    public long bytes() {
        return bytes;
    }

    @Override
    public synchronized void close() {
        if (!closed) {
            closed = true;
            int error = CudaCalls.release(device.handle(), address, pinned);
            device.leave();
            device.require("free", error);
        }
    }
}
