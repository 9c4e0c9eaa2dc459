// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory.gpu;

/**
 * Memory of one device, and copies between it and memory of the host. {@link CudaGpuMemory} is a GPU, {@link HostGpuMemory} plays one in memory
 * of the host.
 *
 * <p>Ownership: who allocates frees; {@link #close} comes after all memory was freed and all streams were closed. Threading: safe for all
 * threads; a stream is for one thread at a time.
 */
public interface GpuMemory extends AutoCloseable {
    /** The device, for messages. */
    String name();

    /** Bytes the device has. */
    long totalBytes();

    /**
     * Allocates memory of the device.
     *
     * @return its address, which no CPU may touch
     * @throws io.mooncake.base.MooncakeException EXHAUSTED when the device has no room
     */
    long allocate(long bytes);

    /** Frees memory of {@link #allocate}. */
    void free(long address);

    /**
     * Locks memory of the host, so that copies from and to it go on by themselves; what is not locked passes through small locked buffers,
     * and such a copy has ended when its call returns.
     *
     * @return false when the system refuses; nothing else changes then
     */
    boolean pin(long hostAddress, long bytes);

    /** Ends {@link #pin}. */
    void unpin(long hostAddress);

    /** Opens a stream: copies that run in the order in which they were started. */
    Stream openStream();

    @Override
    void close();

    /** Copies in order. Both ranges of a copy are the device's until {@link #synchronize} has returned. */
    interface Stream extends AutoCloseable {
        /** Starts a copy to the device. */
        void toDevice(long hostAddress, long deviceAddress, long bytes);

        /** Starts a copy from the device. */
        void toHost(long deviceAddress, long hostAddress, long bytes);

        /**
         * Waits until all copies that were started have ended.
         *
         * @throws io.mooncake.base.MooncakeException one of them failed, or some since the last call; the bytes of none can be relied on
         */
        void synchronize();

        @Override
        void close();
    }
}
