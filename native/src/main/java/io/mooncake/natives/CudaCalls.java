// SPDX-License-Identifier: Apache-2.0
package io.mooncake.natives;

import org.jspecify.annotations.Nullable;

/**
 * The exports of cuda_calls.c, one method each. Call {@link #load} first; the others only with handles that these methods returned and that
 * are not closed. Calls that return a handle return 0 on failure and store the driver's error in {@code error[0]}; those that return an int
 * return the driver's error, or 0.
 */
final class CudaCalls {
    private CudaCalls() {}

    /** The driver, or 0 with the reason in {@code reason[0]}. */
    static native long load(String library, @Nullable String[] reason);

    /** {@code {version, devices}}. */
    static native int init(long driver, int[] out);

    static native String errorName(long driver, int error);

    /** {@code {name, PCI bus id}} and {@code {bytes, dma-buf, GPUDirect RDMA}}. */
    static native int describe(long driver, int ordinal, @Nullable String[] texts, long[] numbers);

    static native long open(long driver, int ordinal, int[] error);

    static native int close(long device);

    static native int allocate(long device, long bytes, boolean pinned, long[] out);

    static native int release(long device, long address, boolean pinned);

    /** Pins the caller's memory; with {@code bytes} 0 lets it go. */
    static native int pin(long device, long address, long bytes);

    static native long createStream(long device, int[] error);

    static native int destroyStream(long device, long stream);

    /** Starts copies of {@link CudaStream#COPY_LONGS} longs each. */
    static native int copy(long device, long stream, long[] copies, int count, boolean wait);

    /** {@code {memory type, device, start, bytes}}. */
    static native int pointer(long device, long address, long[] out);

    static native int syncMemoryOperations(long device, long address);

    static native int exportDmaBuf(long device, long address, long bytes, int[] descriptor);

    static native void closeDescriptor(int descriptor);

    static native int flushRemoteWrites(long device);
}
