// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.mooncake.base.MooncakeException;
import io.mooncake.natives.Cuda;
import io.mooncake.natives.FakeCuda;
import io.mooncake.natives.FakeVerbs;
import io.mooncake.transfer.gpu.GpuPath;
import io.mooncake.transfer.gpu.GpuProbe;
import io.mooncake.transfer.gpu.GpuReport;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

/** The three ways of GPU memory, one after the other as the better ones fail. Needs devices, as {@link RdmaTransferOnDevice}. */
@ExtendWith(FakeGpus.WithCards.class)
final class GpuDirectFaultOnDevice {
    private static final int SIZE = 6 << 20;
    private static final int NOT_SUPPORTED = 801;
    private static final int EIO = 5;

    private final List<Memory> memories = new ArrayList<>();
    private final TransferEngine owner = GpuDirectContract.engine(TransferProtocol.AUTO);
    private final TransferEngine reader = GpuDirectContract.engine(TransferProtocol.AUTO);
    private final Memory there = memory(0);
    private final Memory here = memory(1);

    private Memory memory(int gpu) {
        Memory made = GpuTestMemory.of(SIZE, gpu);
        memories.add(made);
        return made;
    }

    @AfterEach
    void stop() {
        FakeCuda.heal();
        reader.close();
        owner.close();
        for (Memory memory : memories) {
            assertThat(memory.canariesIntact()).isTrue();
            memory.close();
        }
    }

    private TransferStatus move(boolean write, int region) {
        RemoteHandle[] handles = {
            owner.issueHandle(reader.incarnation(), region, 1, 0, SIZE, write, Duration.ofSeconds(60))
        };
        long[] addresses = {here.address};
        long[] sizes = {SIZE};
        return write
                ? reader.batchTransferSyncWrite(owner.address(), addresses, handles, sizes, TransferContract.soon())[0]
                : reader.batchTransferSyncRead(owner.address(), addresses, handles, sizes, TransferContract.soon())[0];
    }

    private void assertBothWaysMove(int region) {
        there.fill(1, 0, SIZE);
        assertThat(move(false, region)).isEqualTo(TransferStatus.COMPLETED);
        assertThat(here.firstDifference(1, 0, SIZE)).isEqualTo(-1);
        here.fill(2, 0, SIZE);
        assertThat(move(true, region)).isEqualTo(TransferStatus.COMPLETED);
        assertThat(there.firstDifference(2, 0, SIZE)).isEqualTo(-1);
    }

    private static GpuReport report(TransferEngine engine, int region) {
        return engine.gpuPath(region).orElseThrow();
    }

    private static List<GpuProbe.Way> probe() {
        return GpuProbe.ways(Cuda.gpus().get(0), List.of("rxe0", "rxe1"));
    }

    @Test
    void probe_eachWay_isTriedOnEachDeviceAndLeavesNothing() {
        FakeVerbs.behave(true, 0, 0);
        List<String> devices = List.of("rxe0", "rxe1");
        assertThat(probe())
                .containsExactly(
                        new GpuProbe.Way(GpuPath.DMA_BUF, devices, List.of()),
                        new GpuProbe.Way(GpuPath.PEER_MEMORY, devices, List.of()),
                        new GpuProbe.Way(GpuPath.STAGED, List.of(), List.of()));
        assertThat(FakeVerbs.made()).isEqualTo(new FakeVerbs.Registrations(2, 2));
        assertThat(FakeVerbs.live()).isEqualTo(FakeVerbs.Registrations.NONE);
        FakeVerbs.behave(false, FakeVerbs.EOPNOTSUPP, 0);
        assertThat(probe().get(0).against())
                .hasSize(2)
                .allMatch(reason -> reason.contains("not supported by the device or its driver"));
        assertThat(probe().get(1).against()).containsExactly("neither nvidia_peermem nor nv_peer_mem is loaded");
    }

    @Test
    void registerGpuMemory_allWaysOpen_isDmaBufWithoutAReason() {
        FakeVerbs.behave(true, 0, 0);
        here.register(reader);
        int region = there.register(owner);
        assertThat(report(owner, region).path()).isEqualTo(GpuPath.DMA_BUF);
        assertThat(report(owner, region).reason()).isEmpty();
        assertThat(FakeVerbs.made().peerMemory()).isZero();
        assertBothWaysMove(region);
        assertThat(reader.statistics().readRdma()).isEqualTo(SIZE);
        assertThat(reader.statistics().writtenRdma()).isEqualTo(SIZE);
        assertThat(FakeCuda.copies()).isZero();
    }

    @Test
    void registerGpuMemory_exportFails_isPeerMemoryAndSaysWhy() {
        FakeVerbs.behave(true, 0, 0);
        FakeCuda.fail("cuMemGetHandleForAddressRange", 0, FakeCuda.ALWAYS, NOT_SUPPORTED);
        here.register(reader);
        int region = there.register(owner);
        assertThat(report(owner, region).path()).isEqualTo(GpuPath.PEER_MEMORY);
        assertThat(report(owner, region).reason())
                .startsWith("dma-buf: GPU 0: export")
                .contains("CUDA_ERROR_NOT_SUPPORTED (801)");
        assertBothWaysMove(region);
        assertThat(FakeVerbs.made().dmaBuf()).isZero();
        assertThat(reader.statistics().readRdma()).isEqualTo(SIZE);
        assertThat(FakeCuda.copies()).isZero();
    }

    @Test
    void registerGpuMemory_deviceTakesNoDmaBufAndNoModule_isStagedAndSaysBoth() {
        FakeVerbs.behave(false, FakeVerbs.EOPNOTSUPP, 0);
        here.register(reader);
        int region = there.register(owner);
        assertThat(report(owner, region).path()).isEqualTo(GpuPath.STAGED);
        assertThat(report(owner, region).reason())
                .contains("dma-buf: rxe0: register", "not supported by the device")
                .endsWith("; peer memory: neither nvidia_peermem nor nv_peer_mem is loaded");
        assertBothWaysMove(region);
        assertThat(reader.statistics().readTcp())
                .as("the owner's device does not have it")
                .isEqualTo(SIZE);
        assertThat(FakeCuda.copies()).isPositive();
    }

    @Test
    void registerGpuMemory_bothRefusedByTheDevice_isStagedAndLeavesNoHalf() {
        // The driver lets go of its third dma-buf no more: the pieces before it are given back.
        FakeCuda.fail("cuMemGetHandleForAddressRange", 2, FakeCuda.ALWAYS, NOT_SUPPORTED);
        FakeVerbs.behave(true, 0, EIO);
        int region = there.register(owner);
        assertThat(report(owner, region).path()).isEqualTo(GpuPath.STAGED);
        assertThat(report(owner, region).reason()).contains("dma-buf: GPU 0: export", "; peer memory: rxe0: register");
        assertThat(FakeVerbs.made()).isEqualTo(new FakeVerbs.Registrations(2, 0));
        assertThat(FakeVerbs.live()).isEqualTo(FakeVerbs.Registrations.NONE);
        here.register(reader);
        assertBothWaysMove(region);
    }

    @Test
    void batchTransferSyncRead_readersMemoryStagedOwnersDirect_goesByRdmaThroughTheReadersBuffers() {
        int region = there.register(owner);
        FakeVerbs.behave(false, FakeVerbs.EOPNOTSUPP, 0);
        int local = here.register(reader);
        assertThat(report(owner, region).path()).isEqualTo(GpuPath.DMA_BUF);
        assertThat(report(reader, local).path()).isEqualTo(GpuPath.STAGED);
        assertBothWaysMove(region);
        assertThat(reader.statistics().readRdma()).isEqualTo(SIZE);
        assertThat(FakeCuda.copies()).isPositive();
    }

    @Test
    void batchTransferSyncWrite_noKeysThatWriteToBeHad_goesByTcp() {
        FakeVerbs.behave(true, 0, 0);
        here.register(reader);
        int region = there.register(owner);
        FakeVerbs.behave(true, EIO, EIO);
        assertBothWaysMove(region);
        assertThat(reader.statistics().readRdma()).isEqualTo(SIZE);
        assertThat(reader.statistics().writtenTcp()).isEqualTo(SIZE);
        FakeVerbs.behave(true, 0, 0);
        assertThat(move(true, region)).isEqualTo(TransferStatus.COMPLETED);
        assertThat(reader.statistics().writtenRdma()).isEqualTo(SIZE);
    }

    @Test
    void batchTransferSync_flushFails_isDeviceFailedAtEitherEndAndRecovers() {
        here.register(reader);
        int region = there.register(owner);
        there.fill(1, 0, SIZE);
        for (boolean write : new boolean[] {false, true}) {
            FakeCuda.fail("cuFlushGPUDirectRDMAWrites", 0, 1, FakeCuda.ILLEGAL_ADDRESS);
            assertThat(move(write, region)).as("write: %s", write).isEqualTo(TransferStatus.DEVICE_FAILED);
            assertThat(move(write, region)).as("write: %s", write).isEqualTo(TransferStatus.COMPLETED);
        }
    }

    @Test
    void registerGpuMemory_writesOfCardsAreInOrderOrStayHidden_areNotFlushedOrNotDirect() {
        FakeCuda.remoteWrites(0, 100);
        here.register(reader);
        int ordered = there.register(owner);
        assertThat(report(owner, ordered).path()).isEqualTo(GpuPath.DMA_BUF);
        assertBothWaysMove(ordered);
        assertThat(reader.statistics().readRdma()).isEqualTo(SIZE);
        owner.unregisterMemory(ordered);
        FakeCuda.remoteWrites(0, 0);
        int hidden = there.register(owner);
        assertThat(report(owner, hidden).path()).isEqualTo(GpuPath.STAGED);
        assertThat(report(owner, hidden).reason()).contains("no flush");
        assertBothWaysMove(hidden);
        assertThat(FakeCuda.flushes()).isZero();
    }

    @Test
    void revoke_rangeOfGpuMemory_makesOtherKeysForItsPieces() {
        FakeVerbs.behave(true, 0, 0);
        here.register(reader);
        int region = there.register(owner);
        assertBothWaysMove(region);
        FakeVerbs.Registrations live = FakeVerbs.live();
        FakeVerbs.behave(true, 0, 0);
        owner.revoke(region, 100, 1000);
        // One piece of 4 MiB, on two devices, to read it and to write it.
        assertThat(FakeVerbs.made()).isEqualTo(new FakeVerbs.Registrations(4, 0));
        assertThat(FakeVerbs.live()).isEqualTo(live);
        assertBothWaysMove(region);
        assertThat(reader.statistics().readRdma()).isEqualTo(2 * SIZE);
    }

    @Test
    void revoke_noOtherKeysToBeHad_throwsAndTheRegionGoesByTcp() {
        FakeVerbs.behave(true, 0, 0);
        here.register(reader);
        int region = there.register(owner);
        FakeVerbs.behave(true, EIO, EIO);
        assertThatThrownBy(() -> owner.revoke(region, 0, 1)).isInstanceOf(MooncakeException.class);
        assertThat(report(owner, region).path()).isEqualTo(GpuPath.STAGED);
        assertThat(report(owner, region).reason()).startsWith("revoked, and no new keys are to be had: rxe0: register");
        assertBothWaysMove(region);
        assertThat(reader.statistics().readTcp()).isEqualTo(SIZE);
    }
}
