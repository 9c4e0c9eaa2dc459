// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer;

import static org.assertj.core.api.Assertions.assertThat;

import io.mooncake.natives.FakeCuda;
import io.mooncake.natives.FakeVerbs;
import io.mooncake.transfer.gpu.GpuPath;
import io.mooncake.transfer.gpu.GpuReport;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

/** The contract over RDMA devices that reach the memory of fake GPUs. Needs devices, as {@link RdmaTransferOnDevice}. */
@ExtendWith(FakeGpus.WithCards.class)
abstract class GpuDirectContract extends GpuContract {
    private static final int BYTES = 3 << 20;

    /** What the devices do with GPU memory. */
    abstract void behave();

    abstract GpuPath way();

    static TransferEngine engine(TransferProtocol protocol) {
        // Other tests with engines run meanwhile, in another JVM.
        return TransferEngine.start(TransferEngineConfig.builder("127.0.0.1", SECRET)
                .protocol(protocol)
                .rdma(RdmaTransferOnDevice.CONFIG)
                .ports(29_000, 29_600)
                .build());
    }

    @Override
    TransferEngine start() {
        return engine(TransferProtocol.RDMA);
    }

    @Override
    boolean leasedReadsSeeGenerations() {
        return false;
    }

    @Override
    long read(TransferStatistics statistics) {
        return statistics.readRdma();
    }

    @BeforeEach
    @Override
    void startEngines() {
        behave();
        super.startEngines();
        for (GpuReport report : List.of(
                owner.gpuPath(ownerRegion).orElseThrow(),
                reader.gpuPath(readerRegion).orElseThrow())) {
            assertThat(report.path()).as(report.reason()).isEqualTo(way());
        }
    }

    @Test
    void batchTransferSync_raw_passesThroughNoBufferAndIsMadeVisible() {
        ownerMemory.fill(1, 7, BYTES);
        assertThat(read(handle(7, BYTES, false), BYTES, 3)).isEqualTo(TransferStatus.COMPLETED);
        assertThat(readerMemory.firstDifference(1, 3, BYTES)).isEqualTo(-1);
        assertThat(FakeCuda.flushes()).as("by the reader").isOne();
        readerMemory.fill(2, 11, BYTES);
        assertThat(write(handle(5, BYTES, true), BYTES, 11)).isEqualTo(TransferStatus.COMPLETED);
        assertThat(ownerMemory.firstDifference(2, 5, BYTES)).isEqualTo(-1);
        assertThat(FakeCuda.flushes()).as("by the owner too").isEqualTo(2);
        assertThat(FakeCuda.copies()).isZero();
        assertThat(FakeCuda.held().streams()).isZero();
    }

    @Test
    void read_leased_isStagedForTheReadersChecksumsAlone() {
        leases.put(1, 0, BYTES, 1 << 18);
        try (RemoteLease lease = lease(1)) {
            assertThat(readAll(lease)).containsExactly(TransferStatus.COMPLETED);
        }
        assertThat(readerMemory.holds(1, 0, BYTES)).isTrue();
        assertThat(reader.statistics().readRdma()).isEqualTo(BYTES);
        // The owner's device reads GPU memory itself, so each slice is copied once.
        assertThat(FakeCuda.copies()).isBetween(1L, (long) BYTES >> 18);
    }

    @Test
    void registerGpuMemory_unregistered_leavesNoKeyAndNoDescriptor() throws Exception {
        FakeVerbs.Registrations before = FakeVerbs.live();
        // Both ends of it lie within pages.
        int region = owner.registerGpuMemory(ownerMemory.address + 4096 + 77, 9 << 20, 0, ownerMemory.guard());
        assertThat(owner.gpuPath(region).orElseThrow().path()).isEqualTo(way());
        // Pieces of 4 MiB, of two devices.
        int made = 2 * 3;
        boolean dmaBuf = way() == GpuPath.DMA_BUF;
        assertThat(FakeVerbs.live())
                .isEqualTo(new FakeVerbs.Registrations(
                        before.dmaBuf() + (dmaBuf ? made : 0), before.peerMemory() + (dmaBuf ? 0 : made)));
        assertThat(FakeCuda.openDmaBufs()).as("while it is registered").isZero();
        owner.unregisterMemory(region);
        assertThat(FakeVerbs.live()).isEqualTo(before);
    }
}
