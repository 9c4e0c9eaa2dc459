// SPDX-License-Identifier: Apache-2.0
package io.mooncake.examples.doctor;

import io.mooncake.base.ByteSize;
import io.mooncake.natives.CudaGpu;
import io.mooncake.transfer.gpu.GpuPath;
import io.mooncake.transfer.gpu.GpuReport;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** The GPUs: what each is, and how the bytes of its memory would go to other nodes. */
final class GpuFindings {
    private GpuFindings() {}

    /**
     * @param rdmaDevices that can be used
     * @param verbsDmaBuf whether libibverbs registers dma-bufs
     * @param peerMemoryModule the kernel module of peer memory that is loaded
     */
    static List<Finding> all(
            List<CudaGpu> gpus, List<String> rdmaDevices, boolean verbsDmaBuf, Optional<String> peerMemoryModule) {
        List<Finding> found = new ArrayList<>();
        for (CudaGpu gpu : gpus) {
            String topic = "GPU " + gpu.ordinal();
            found.add(Finding.present(
                    topic,
                    gpu.name() + ", " + gpu.pciBusId() + ", " + ByteSize.format(gpu.totalBytes()) + "; dma-buf "
                            + (gpu.dmaBuf() ? "yes" : "no") + ", GPUDirect " + (gpu.gpuDirect() ? "yes" : "no")));
            found.add(path(topic + " path", GpuReport.outlook(gpu, rdmaDevices, verbsDmaBuf, peerMemoryModule)));
        }
        if (!gpus.isEmpty()) {
            found.add(peerMemoryModule
                    .map(module -> Finding.present("Peer memory module", module))
                    .orElseGet(() ->
                            Finding.absent("Peer memory module", "neither nvidia_peermem nor nv_peer_mem is loaded")));
        }
        return found;
    }

    private static Finding path(String topic, GpuReport report) {
        String text = report.path().text() + (report.reason().isEmpty() ? "" : ", because: " + report.reason());
        return report.path() == GpuPath.STAGED ? Finding.absent(topic, text) : Finding.present(topic, text);
    }
}
