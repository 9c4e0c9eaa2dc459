// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.internal;

/**
 * Pinned memory of the host for the slices of one batch whose local end lies on a device: they are on the wire there and nowhere else.
 * Safe for the batch's workers. Who closes it gets all buffers back, so the transport must have returned before.
 */
public interface Staging extends AutoCloseable {
    /** From {@link #acquire}: the deadline has passed, or the thread was interrupted, before a buffer was free. */
    long NONE_IN_TIME = -1;

    /** Whether the request's local end lies on a device. */
    boolean onDevice(int request);

    /** Whether the engine's network card reaches it there. */
    boolean direct(int request);

    /**
     * A buffer for {@code bytes}. The first one of a batch is waited for until the batch's deadline; later ones only when the worker says
     * that it holds none.
     *
     * @return its address, 0 when all are with slices under way, or {@link #NONE_IN_TIME}
     */
    long acquire(int bytes, boolean holdsNone);

    /** Takes a buffer back. */
    void release(long buffer);

    /** Copies to the device, and is done with it on return; false when the device failed. */
    boolean toDevice(int request, long buffer, long deviceAddress, int bytes);

    /** Copies from the device, likewise. */
    boolean fromDevice(int request, long deviceAddress, long buffer, int bytes);

    /** After reads over a network card: what arrived is visible on the device; false when the device failed. */
    boolean flush(int request);

    @Override
    void close();
}
