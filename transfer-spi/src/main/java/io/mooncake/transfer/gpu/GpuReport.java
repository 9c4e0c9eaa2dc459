// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.gpu;

import io.mooncake.natives.CudaGpu;
import java.util.Optional;

/**
 * How the bytes of a GPU's memory go, and why.
 *
 * @param gpu which one
 * @param path how
 * @param reason why it is none of the better ways; empty for the best
 */
public record GpuReport(CudaGpu gpu, GpuPath path, String reason) {
    private static final String HIDDEN_WRITES =
            "the GPU's programs may not see what a card wrote, and the driver has no flush for that (11.3 can)";

    /** Why dma-bufs can't be used; empty when nothing is known against it. */
    static String againstDmaBuf(CudaGpu gpu, boolean verbsDmaBuf) {
        if (gpu.remoteWrites() == CudaGpu.RemoteWrites.HIDDEN) {
            return HIDDEN_WRITES;
        }
        if (!gpu.dmaBuf()) {
            return "the CUDA driver does not export it (open kernel modules and driver 11.7 do)";
        }
        return verbsDmaBuf ? "" : "libibverbs cannot register it (rdma-core 34 can)";
    }

    /** Why peer memory can't be used; empty when nothing is known against it. */
    static String againstPeerMemory(CudaGpu gpu, Optional<String> module) {
        if (gpu.remoteWrites() == CudaGpu.RemoteWrites.HIDDEN) {
            return HIDDEN_WRITES;
        }
        if (!gpu.gpuDirect()) {
            return "the GPU does not support GPUDirect RDMA";
        }
        return module.isPresent() ? "" : "neither nvidia_peermem nor nv_peer_mem is loaded";
    }
}
