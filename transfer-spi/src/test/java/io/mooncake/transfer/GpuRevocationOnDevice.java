// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer;

import static org.assertj.core.api.Assertions.assertThat;

import io.mooncake.natives.FakeCuda;
import io.mooncake.natives.FakeVerbs;
import io.mooncake.transfer.internal.Region;
import io.mooncake.transfer.rdma.RdmaConfig;
import io.mooncake.transfer.rdma.RdmaTransport;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

/** Revocation and rails from one GPU to another, whose memory the devices reach by dma-bufs. */
@ExtendWith(FakeGpus.WithCards.class)
final class GpuRevocationOnDevice extends RdmaRevocationOnDevice {
    private static final RdmaConfig BOTH = new RdmaConfig(List.of("rxe0", "rxe1"), 1, -1, 16 << 20, 14, 4);

    @BeforeEach
    void takeDmaBufs() {
        FakeVerbs.behave(true, 0, 0);
    }

    @AfterEach
    void wasDirect() {
        assertThat(FakeVerbs.made().dmaBuf()).isPositive();
        assertThat(FakeVerbs.made().peerMemory()).isZero();
        assertThat(FakeCuda.copies()).isZero();
    }

    @Override
    RdmaPair pair(int bytes) {
        return new RdmaPair(ONE_DEVICE, new GpuTestMemory(bytes, 0), new GpuTestMemory(bytes, 1), 1);
    }

    @Test
    void execute_gpuNearOneDevice_goesOverThatOne() {
        int bytes = 4 << 20;
        try (RdmaPair pair = new RdmaPair(BOTH, new GpuTestMemory(bytes, 0), new GpuTestMemory(bytes, 1), 2)) {
            new RegionRails(GpuRailsTest.SECOND_GPU_NEAR_RXE1, List.of(), List.of("rxe0", "rxe1"))
                    .place(pair.ourRegion);
            pair.preferred = pair.ourRegion.rdmaRails();
            Region region = pair.register(0, bytes, pair.theirs.guard());
            pair.theirs.fill(1, 0, bytes);
            assertThat(pair.move(false, pair.handles(region, 1, bytes, false), bytes, 30_000))
                    .containsExactly(TransferStatus.COMPLETED);
            assertThat(pair.ours.holds(1, 0, bytes)).isTrue();
            assertThat(pair.reader.rails())
                    .extracting(RdmaTransport.Rail::movedBytes)
                    .containsExactly(0L, (long) bytes);
        }
    }
}
