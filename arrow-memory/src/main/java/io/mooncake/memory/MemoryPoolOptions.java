// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory;

import io.mooncake.base.MooncakeException;
import io.mooncake.memory.block.BlockArena;
import io.mooncake.memory.gpu.GpuMemory;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;

/**
 * What a {@link MemoryPool} is made of. A tier of 0 bytes is absent, any other has at least a page of 4096.
 *
 * @param gpuBytes bytes of the GPU tier
 * @param gpu device of the GPU tier, which stays the caller's; null for the first GPU of the CUDA driver
 * @param cpuBytes bytes of the DRAM tier
 * @param sharedFolder memory file system for the DRAM tier, so that other processes map it; null for memory of this process alone
 * @param hugePages whether to look for a mount of hugetlbfs with room, where {@code sharedFolder} is null
 * @param ssdPath directory of the SSD tier's file
 * @param ssdBytes bytes of the SSD tier
 * @param leakDebug whether to note where each buffer and lease was opened
 */
public record MemoryPoolOptions(
        long gpuBytes,
        @Nullable GpuMemory gpu,
        long cpuBytes,
        @Nullable Path sharedFolder,
        boolean hugePages,
        @Nullable Path ssdPath,
        long ssdBytes,
        boolean leakDebug) {

    public MemoryPoolOptions {
        requireNotNegative("gpuBytes", gpuBytes);
        requireNotNegative("cpuBytes", cpuBytes);
        requireNotNegative("ssdBytes", ssdBytes);
        if (gpuBytes == 0 && cpuBytes == 0 && ssdBytes == 0) {
            throw MooncakeException.invalid("gpuBytes, cpuBytes, ssdBytes", "0, 0, 0", "one above 0");
        }
        if (ssdBytes > 0 && ssdPath == null) {
            throw MooncakeException.invalid("ssdPath", null, "a directory for ssdBytes " + ssdBytes);
        }
        requirePage("gpuBytes", gpuBytes);
        requirePage("cpuBytes", cpuBytes);
        requirePage("ssdBytes", ssdBytes);
    }

    private static void requireNotNegative(String name, long bytes) {
        if (bytes < 0) {
            throw MooncakeException.invalid(name, bytes, "0 for no such tier, or more");
        }
    }

    private static void requirePage(String name, long bytes) {
        if (bytes > 0 && bytes < BlockArena.PAGE_BYTES) {
            throw MooncakeException.invalid(name, bytes, "0 for no such tier, or at least " + BlockArena.PAGE_BYTES);
        }
    }

    /** Tiers of these sizes, the rest as it comes: the first GPU, huge pages where there are, memory of this process alone. */
    public static MemoryPoolOptions of(long gpuBytes, long cpuBytes, @Nullable Path ssdPath, long ssdBytes) {
        return new MemoryPoolOptions(
                gpuBytes, null, cpuBytes, null, true, ssdPath, ssdBytes, Boolean.getBoolean("mooncake.leakDebug"));
    }

    /** The same with another device. */
    public MemoryPoolOptions withGpu(GpuMemory device) {
        return new MemoryPoolOptions(gpuBytes, device, cpuBytes, sharedFolder, hugePages, ssdPath, ssdBytes, leakDebug);
    }

    /** The same with its DRAM in a file of {@code folder}. */
    public MemoryPoolOptions withSharedFolder(Path folder) {
        return new MemoryPoolOptions(gpuBytes, gpu, cpuBytes, folder, hugePages, ssdPath, ssdBytes, leakDebug);
    }
}
