// SPDX-License-Identifier: Apache-2.0
package io.mooncake.natives;

import io.mooncake.base.MooncakeException;

/**
 * Copies between pinned memory of the host and memory of a device, in order, while the CPU does something else.
 *
 * <p>Threading: one thread at a time. A copy that has started cannot be called off: both its ranges are the device's until
 * {@link #synchronize} has returned, which it does soon or with an error, unless the device hangs. When a call throws, nothing that was
 * started runs any more.
 */
public final class CudaStream implements AutoCloseable {
    /** Longs that describe a copy. */
    public static final int COPY_LONGS = 4;

    /** Copies that one call takes. */
    public static final int MAX_COPIES = 64;

    private static final long[] NONE = new long[0];

    private final CudaDevice device;
    private final long stream;
    private boolean closed;

    CudaStream(CudaDevice device, long stream) {
        this.device = device;
        this.stream = stream;
    }

    /** Writes one copy into {@code copies} at {@code index}. */
    public static void describe(
            long[] copies, int index, boolean toDevice, long deviceAddress, long hostAddress, long bytes) {
        int at = index * COPY_LONGS;
        copies[at] = toDevice ? 1 : 0;
        copies[at + 1] = deviceAddress;
        copies[at + 2] = hostAddress;
        copies[at + 3] = bytes;
    }

    /**
     * Starts copies.
     *
     * @throws CudaException one could not be started; those before it have ended
     */
    public void start(long[] copies, int count) {
        copy(copies, count, false);
    }

    /**
     * Makes copies, all in one call of the bridge.
     *
     * @throws CudaException at least one failed
     */
    public void copy(long[] copies, int count) {
        copy(copies, count, true);
    }

    /**
     * Waits for all that was started.
     *
     * @throws CudaException something that was started has failed
     */
    public void synchronize() {
        copy(NONE, 0, true);
    }

    private void copy(long[] copies, int count, boolean wait) {
        if (count < 0 || count > MAX_COPIES || copies.length < count * COPY_LONGS) {
            throw MooncakeException.invalid("copies", count, "0.." + MAX_COPIES + ", all described");
        }
        int error = CudaCalls.copy(device.handle(), stream, copies, count, wait);
        if (error != 0) {
            device.require("copy", error);
        }
    }

    @Override
    public synchronized void close() {
        if (!closed) {
            closed = true;
            int error = CudaCalls.destroyStream(device.handle(), stream);
            device.leave();
            device.require("destroy stream", error);
        }
    }
}
