// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.gpu;

import io.mooncake.natives.CudaGpu;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * How the bytes of a GPU's memory go, and why.
 *
 * @param gpu which one
 * @param path how
 * @param reason why it is none of the better ways; empty for the best
 */
public record GpuReport(CudaGpu gpu, GpuPath path, String reason) {
    /**
     * What to expect of a GPU, before any memory is registered: each way is open as far as driver, library and kernel say.
     *
     * @param rdmaDevices RDMA devices that can be used
     * @param verbsDmaBuf whether libibverbs registers dma-bufs
     * @param peerMemoryModule the kernel module of peer memory that is loaded
     */
    public static GpuReport outlook(
            CudaGpu gpu, List<String> rdmaDevices, boolean verbsDmaBuf, Optional<String> peerMemoryModule) {
        if (rdmaDevices.isEmpty()) {
            return new GpuReport(gpu, GpuPath.STAGED, "no RDMA device");
        }
        String dmaBuf = againstDmaBuf(gpu, verbsDmaBuf);
        if (dmaBuf.isEmpty()) {
            return new GpuReport(gpu, GpuPath.DMA_BUF, "");
        }
        List<String> against = new ArrayList<>();
        against.add("dma-buf: " + dmaBuf);
        String peerMemory = againstPeerMemory(gpu, peerMemoryModule);
        if (peerMemory.isEmpty()) {
            return new GpuReport(gpu, GpuPath.PEER_MEMORY, String.join("; ", against));
        }
        against.add("peer memory: " + peerMemory);
        return new GpuReport(gpu, GpuPath.STAGED, String.join("; ", against));
    }

    /** Why dma-bufs can't be used; empty when nothing is known against it. */
    static String againstDmaBuf(CudaGpu gpu, boolean verbsDmaBuf) {
        if (!gpu.dmaBuf()) {
            return "the CUDA driver does not export it (open kernel modules and driver 11.7 do)";
        }
        return verbsDmaBuf ? "" : "libibverbs cannot register it (rdma-core 34 can)";
    }

    /** Why peer memory can't be used; empty when nothing is known against it. */
    static String againstPeerMemory(CudaGpu gpu, Optional<String> module) {
        if (!gpu.gpuDirect()) {
            return "the GPU does not support GPUDirect RDMA";
        }
        return module.isPresent() ? "" : "neither nvidia_peermem nor nv_peer_mem is loaded";
    }
}
