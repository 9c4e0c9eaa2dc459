// SPDX-License-Identifier: Apache-2.0
package io.mooncake.natives;

/**
 * A GPU as the driver describes it, without a context on it.
 *
 * @param ordinal its number for this process
 * @param pciBusId as sysfs names it: {@code 0000:41:00.0}
 * @param totalBytes of its memory
 * @param dmaBuf whether its memory can be exported as a dma-buf
 * @param gpuDirect whether other devices of the bus may reach its memory at all
 * @param remoteWrites when its own programs see what such a device has written
 */
public record CudaGpu(
        int ordinal,
        String name,
        String pciBusId,
        long totalBytes,
        boolean dmaBuf,
        boolean gpuDirect,
        RemoteWrites remoteWrites) {
    /** When a GPU's programs see what another device has written into its memory. In the order of the bridge's numbers. */
    public enum RemoteWrites {
        /** No call makes them visible for certain. */
        HIDDEN,
        /** Always, in order. */
        ORDERED,
        /** After a flush. */
        FLUSHED
    }
}
