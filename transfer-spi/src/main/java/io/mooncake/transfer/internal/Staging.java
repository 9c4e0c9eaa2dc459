// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.internal;

/**
 * Pinned memory of the host for the slices of one batch whose local end lies on a device: they are on the wire there and nowhere else.
 * Safe for the batch's workers. Who closes it gets all buffers back, so the transport must have returned before.
 */
public interface Staging extends AutoCloseable {
    /** Whether the request's local end lies on a device. */
    boolean onDevice(int request);

    /** Whether the engine's network card reaches it there. */
    boolean direct(int request);

    /**
     * Takes the batch's buffers out of those of all batches, and waits for that until the batch's deadline; before anything of it is staged.
     * The caller holds nothing that other batches wait for. False when there were none in time, the thread was interrupted, or all waits ended.
     */
    boolean reserve();

    /** Waits until one of the batch's buffers is free, if it has any, likewise; who holds one itself does not call it. */
    boolean awaitFree();

    /** Whether one of the batch's buffers is free, or it has none because nothing is staged. */
    boolean hasFree();

    /** A buffer for a slice of {@code bytes}, out of those that are reserved; 0 when all are with slices under way. */
    long acquire(int bytes);

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
