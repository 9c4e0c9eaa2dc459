// SPDX-License-Identifier: Apache-2.0
package io.mooncake.examples.doctor;

import io.mooncake.base.ByteSize;
import io.mooncake.natives.CudaGpu;
import io.mooncake.transfer.gpu.GpuPath;
import io.mooncake.transfer.gpu.GpuProbe;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Function;

/** The GPUs: what each is, and which ways the bytes of its memory could go to other nodes; each was tried. */
final class GpuFindings {
    private GpuFindings() {}

    /** @param ways of a GPU, best first */
    static List<Finding> all(List<CudaGpu> gpus, Function<CudaGpu, List<GpuProbe.Way>> ways) {
        List<Finding> found = new ArrayList<>();
        for (CudaGpu gpu : gpus) {
            String topic = "GPU " + gpu.ordinal();
            found.add(Finding.present(
                    topic, gpu.name() + ", " + gpu.pciBusId() + ", " + ByteSize.format(gpu.totalBytes())));
            boolean taken = false;
            for (GpuProbe.Way way : ways.apply(gpu)) {
                found.add(way(topic, way, !taken));
                taken |= way.open();
            }
        }
        return found;
    }

    private static Finding way(String gpu, GpuProbe.Way way, boolean first) {
        String topic = gpu
                + switch (way.path()) {
                    case DMA_BUF -> " dma-buf";
                    case PEER_MEMORY -> " peer memory";
                    case STAGED -> " staging";
                };
        if (way.open()) {
            String how = way.path() == GpuPath.STAGED
                    ? "through pinned memory of the host"
                    : "reached by " + String.join(", ", way.over());
            return Finding.present(topic, how + (first ? "; this way is taken" : ""));
        }
        String against = String.join("; ", way.against());
        return way.over().isEmpty()
                ? Finding.absent(topic, against)
                : Finding.warning(topic, "not by all devices: " + String.join(", ", way.over()) + "; " + against);
    }
}
