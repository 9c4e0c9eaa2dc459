// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.gpu;

import static org.assertj.core.api.Assertions.assertThat;

import io.mooncake.natives.Cuda;
import io.mooncake.natives.FakeCuda;
import io.mooncake.transfer.FakeGpus;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

/** Where there is no RDMA device; {@code GpuDirectFaultOnDevice} has those. */
@ExtendWith(FakeGpus.class)
final class GpuProbeTest {
    private static List<GpuProbe.Way> ways() {
        return GpuProbe.ways(Cuda.gpus().get(1), List.of());
    }

    @Test
    void ways_noDevice_areStagingAlone() {
        assertThat(ways()).extracting(GpuProbe.Way::path).containsExactly(GpuPath.values());
        assertThat(ways()).extracting(GpuProbe.Way::open).containsExactly(false, false, true);
        assertThat(ways().get(0).against()).contains("no RDMA device");
        assertThat(ways().get(1).against())
                .containsExactly("no RDMA device", "neither nvidia_peermem nor nv_peer_mem is loaded");
    }

    @Test
    void ways_writesOfCardsStayHidden_areStagingAlone() {
        FakeCuda.remoteWrites(0, 0);
        assertThat(ways().get(0).against()).anyMatch(reason -> reason.contains("no flush"));
        assertThat(ways().get(1).against()).anyMatch(reason -> reason.contains("no flush"));
        assertThat(ways().get(2).open()).isTrue();
    }

    @Test
    void ways_copiesFail_stagingIsClosedToo() {
        FakeCuda.fail("cuMemcpyHtoDAsync_v2", 0, 1, FakeCuda.ILLEGAL_ADDRESS);
        assertThat(ways().get(2).against()).containsExactly("GPU 1: copy: CUDA_ERROR_ILLEGAL_ADDRESS (700)");
        assertThat(ways().get(2).open()).isTrue();
    }

    @Test
    void ways_gpuCannotBeOpened_areAllClosedForThatReason() {
        FakeCuda.fail("cuDevicePrimaryCtxRetain", 0, 1, FakeCuda.OUT_OF_MEMORY);
        assertThat(ways()).allSatisfy(way -> assertThat(way.against())
                .containsExactly("GPU 1: open: CUDA_ERROR_OUT_OF_MEMORY (2)"));
    }
}
