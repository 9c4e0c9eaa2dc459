// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.gpu;

import static org.assertj.core.api.Assertions.assertThat;

import io.mooncake.natives.Cuda;
import io.mooncake.natives.CudaDevice;
import io.mooncake.natives.CudaMemory;
import io.mooncake.transfer.FakeGpus;
import io.mooncake.transfer.internal.Region;
import io.mooncake.transfer.internal.RegionRegistry;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

/** What a registration of GPU memory says of itself. Over the fake driver. */
@ExtendWith(FakeGpus.class)
final class GpuMemoryTest {
    @Test
    void register_secondGpu_regionNamesItsBusAddressAsSysfsDoes() {
        RegionRegistry regions = new RegionRegistry();
        try (GpuMemory gpus = new GpuMemory();
                CudaDevice device = Cuda.open(1);
                CudaMemory memory = device.allocate(4096)) {
            Region region = gpus.register(
                    memory.address(),
                    4096,
                    1,
                    of -> regions.register(memory.address(), 4096, (offset, length, generation) -> true, of),
                    null);
            assertThat(region.device().pciAddress()).isEqualTo("0000:c1:00.0");
            gpus.release(region);
        }
    }
}
