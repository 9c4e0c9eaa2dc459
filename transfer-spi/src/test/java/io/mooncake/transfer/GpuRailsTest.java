// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer;

import static org.assertj.core.api.Assertions.assertThat;

import io.mooncake.natives.Cuda;
import io.mooncake.natives.CudaDevice;
import io.mooncake.natives.CudaMemory;
import io.mooncake.transfer.gpu.GpuMemory;
import io.mooncake.transfer.internal.Region;
import io.mooncake.transfer.internal.RegionRegistry;
import io.mooncake.transfer.topology.Gpu;
import io.mooncake.transfer.topology.Nic;
import io.mooncake.transfer.topology.NumaNode;
import io.mooncake.transfer.topology.Proximity;
import io.mooncake.transfer.topology.RailPreference;
import io.mooncake.transfer.topology.Topology;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

/** Memory of a GPU prefers the rails near that GPU, whatever the process is near to. */
@ExtendWith(FakeGpus.class)
final class GpuRailsTest {
    /** A machine on which the second fake GPU shares a switch with the second of two devices, and nobody is near the first GPU. */
    static final Topology SECOND_GPU_NEAR_RXE1 = new Topology(
            List.of(new NumaNode(0, "0-63", List.of(10))),
            List.of(
                    new Nic("rxe0", true, 0, List.of("pci0000:00", "0000:01:00.0"), 100_000, true),
                    new Nic("rxe1", true, 0, List.of("pci0000:c0", "0000:c0:01.0", "0000:c2:00.0"), 100_000, true)),
            List.of(new Gpu(0, 0, List.of("pci0000:c0", "0000:c0:01.0", "0000:c1:00.0"))),
            List.of(
                    new RailPreference("cpu:0", List.of("rxe0"), List.of("rxe1"), Proximity.NUMA_NODE, false),
                    new RailPreference("gpu:0", List.of("rxe1"), List.of("rxe0"), Proximity.SWITCH, false)));

    @Test
    void place_memoryOfAGpu_prefersWhatIsNearThatGpu() {
        assertThat(rdmaRails(1)).isEqualTo(0b10);
        assertThat(rdmaRails(0)).as("a GPU that the machine does not show").isEqualTo(Region.ANY_RAIL);
    }

    private static int rdmaRails(int gpu) {
        RegionRegistry regions = new RegionRegistry();
        try (GpuMemory gpus = new GpuMemory();
                CudaDevice device = Cuda.open(gpu);
                CudaMemory memory = device.allocate(4096)) {
            Region region = gpus.register(
                    memory.address(),
                    4096,
                    gpu,
                    of -> regions.register(memory.address(), 4096, (offset, length, generation) -> true, of),
                    null);
            new RegionRails(SECOND_GPU_NEAR_RXE1, List.of(), List.of("rxe0", "rxe1")).place(region);
            gpus.release(region);
            return region.rdmaRails();
        }
    }

    @Test
    void ownRails_gpusOfTheProcess_addTheirs() {
        assertThat(SECOND_GPU_NEAR_RXE1.ownRails(List.of())).containsExactly("rxe0");
        assertThat(SECOND_GPU_NEAR_RXE1.ownRails(List.of("0000:c1:00.0", "0000:c0:00.0")))
                .containsExactly("rxe0", "rxe1");
    }
}
