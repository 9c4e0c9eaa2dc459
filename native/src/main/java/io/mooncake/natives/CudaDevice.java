// SPDX-License-Identifier: Apache-2.0
package io.mooncake.natives;

import io.mooncake.base.MooncakeException;
import java.util.function.LongToIntFunction;

/**
 * An open GPU: its primary context.
 *
 * <p>Ownership: the caller closes what it made of the device, memory and streams, before the device itself; a device that is still in use
 * refuses to close and stays open. Threading: safe for all threads, which keep no context from one call to the next.
 */
public final class CudaDevice implements AutoCloseable {
    /** In {@link Pointer#memoryType}: memory of a device. */
    private static final int DEVICE_MEMORY = 2;

    private final CudaGpu gpu;
    private final long driver;
    // Guarded by this.
    private long handle;
    // Calls under way, memory and streams. Guarded by this; at zero alone may the device go.
    private int users;

    CudaDevice(CudaGpu gpu, long driver, long handle) {
        this.gpu = gpu;
        this.driver = driver;
        this.handle = handle;
    }

    /**
     * What the driver knows of an address.
     *
     * @param deviceMemory whether it is memory of a GPU
     * @param ordinal of the GPU that it belongs to
     * @param start of the allocation around it
     * @param bytes of that allocation
     */
    public record Pointer(boolean deviceMemory, int ordinal, long start, long bytes) {}

    /** What the driver said of the device. */
    public CudaGpu gpu() {
        return gpu;
    }

    /** Allocates memory of the device, at an address that no CPU may touch. */
    public CudaMemory allocate(long bytes) {
        return allocate(bytes, false);
    }

    /** Allocates locked memory of the host that all GPUs copy from and to at full speed. */
    public CudaMemory allocatePinned(long bytes) {
        return allocate(bytes, true);
    }

    private CudaMemory allocate(long bytes, boolean pinned) {
        if (bytes < 1) {
            throw MooncakeException.invalid("bytes", bytes, "at least 1");
        }
        long[] out = new long[1];
        boolean made = false;
        long device = enter();
        try {
            require(
                    "allocate " + bytes + (pinned ? " pinned bytes" : " bytes"),
                    CudaCalls.allocate(device, bytes, pinned, out));
            made = true;
            return new CudaMemory(this, out[0], bytes, pinned);
        } finally {
            if (!made) {
                leave();
            }
        }
    }

    /** Locks {@code bytes} of the caller's memory for copies at full speed; undo it with {@link #unpin} before the memory goes. */
    public void pin(long address, long bytes) {
        if (address <= 0 || bytes < 1) {
            throw MooncakeException.invalid("memory", address + "+" + bytes, "an address and at least 1 byte");
        }
        call("pin " + bytes + " bytes", device -> CudaCalls.pin(device, address, bytes));
    }

    /** Undoes {@link #pin}. */
    public void unpin(long address) {
        call("unpin", device -> CudaCalls.pin(device, address, 0));
    }

    /** Makes a stream that waits for no other. */
    public CudaStream createStream() {
        int[] error = new int[1];
        long stream = CudaCalls.createStream(enter(), error);
        if (stream == 0) {
            leave();
            throw exception("create stream", error[0]);
        }
        return new CudaStream(this, stream);
    }

    /**
     * What the driver knows of an address.
     *
     * @throws CudaException INVALID_ARGUMENT when it is no memory of the driver
     */
    public Pointer pointer(long address) {
        long[] out = new long[4];
        call("0x" + Long.toHexString(address), device -> CudaCalls.pointer(device, address, out));
        return new Pointer(out[0] == DEVICE_MEMORY, (int) out[1], out[2], out[3]);
    }

    /** Makes copies from and to this allocation synchronous where they might not be, as direct access by other devices wants it. */
    public void syncMemoryOperations(long address) {
        call("sync memory operations", device -> CudaCalls.syncMemoryOperations(device, address));
    }

    /**
     * Exports a range as a dma-buf, together with what shares a page of the host with it.
     *
     * @return its descriptor, which the caller closes
     */
    public DmaBuf exportDmaBuf(long address, long bytes) {
        if (address <= 0 || bytes < 1) {
            throw MooncakeException.invalid("memory", address + "+" + bytes, "an address and at least 1 byte");
        }
        long page = NativeCalls.pageSizeBytes();
        long start = address & -page;
        long end = (address + bytes + page - 1) & -page;
        int[] descriptor = {-1};
        call(
                "export " + bytes + " bytes as a dma-buf",
                device -> CudaCalls.exportDmaBuf(device, start, end - start, descriptor));
        return new DmaBuf(descriptor[0], address - start);
    }

    /**
     * What a network card has written into this GPU becomes visible to its programs.
     *
     * @throws CudaException the driver failed, or has no call for that and the GPU needs one
     */
    public void flushRemoteWrites() {
        if (gpu.remoteWrites() == CudaGpu.RemoteWrites.ORDERED) {
            return;
        }
        call("flush remote writes", CudaCalls::flushRemoteWrites);
    }

    private void call(String what, LongToIntFunction call) {
        long device = enter();
        try {
            require(what, call.applyAsInt(device));
        } finally {
            leave();
        }
    }

    void require(String what, int error) {
        if (error != 0) {
            throw exception(what, error);
        }
    }

    private CudaException exception(String what, int error) {
        return new CudaException("GPU " + gpu.ordinal() + ": " + what, error, CudaCalls.errorName(driver, error));
    }

    /** Becomes a user; owes a {@link #leave}. */
    synchronized long enter() {
        if (handle == 0) {
            throw new MooncakeException(MooncakeException.Code.ILLEGAL_STATE, "GPU " + gpu.ordinal() + ": closed");
        }
        users++;
        return handle;
    }

    /** A call has returned, or what was made of the device is gone. */
    synchronized void leave() {
        users--;
    }

    /** The handle, for a user. */
    synchronized long handle() {
        return handle;
    }

    @Override
    public synchronized void close() {
        if (handle != 0) {
            if (users > 0) {
                throw new MooncakeException(
                        MooncakeException.Code.ILLEGAL_STATE,
                        "GPU " + gpu.ordinal() + ": " + users + " users (expected: none at its close)");
            }
            long closing = handle;
            handle = 0;
            require("close", CudaCalls.close(closing));
        }
    }
}
