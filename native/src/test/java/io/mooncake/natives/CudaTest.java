// SPDX-License-Identifier: Apache-2.0
package io.mooncake.natives;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.mooncake.base.MooncakeException;
import java.lang.reflect.Field;
import java.util.Random;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import sun.misc.Unsafe;

/** The CUDA calls against the fake driver; none of it has run on a GPU. */
class CudaTest {
    private static final int BYTES = 3 << 20;
    private static final Unsafe UNSAFE = unsafe();

    private static Unsafe unsafe() {
        try {
            Field field = Unsafe.class.getDeclaredField("theUnsafe");
            field.setAccessible(true);
            return (Unsafe) field.get(null);
        } catch (ReflectiveOperationException e) {
            throw new AssertionError(e);
        }
    }

    @BeforeAll
    static void install() {
        assumeTrue(FakeCuda.available(), "SKIPPED: no native bridge or no fake CUDA driver in this build");
        FakeCuda.install();
    }

    @AfterAll
    static void uninstall() {
        FakeCuda.uninstall();
    }

    @BeforeEach
    void healthy() {
        FakeCuda.configure(2, true);
    }

    @AfterEach
    void nothingIsLeft() throws Exception {
        FakeCuda.heal();
        assertThat(FakeCuda.held()).isEqualTo(FakeCuda.Held.NOTHING);
        assertThat(FakeCuda.openDmaBufs()).isZero();
    }

    @Test
    void gpus_twoDevices_areDescribedWithoutAContext() {
        assertThat(Cuda.unavailable()).isEmpty();
        assertThat(Cuda.gpus())
                .containsExactly(
                        new CudaGpu(
                                0, "Fake GPU 0", "0000:c0:00.0", 1L << 30, true, true, CudaGpu.RemoteWrites.FLUSHED),
                        new CudaGpu(
                                1, "Fake GPU 1", "0000:c1:00.0", 1L << 30, true, true, CudaGpu.RemoteWrites.FLUSHED));
        assertThat(NativeProbe.take().cuda().devices()).containsExactly("Fake GPU 0", "Fake GPU 1");
    }

    @Test
    void gpus_oldDriver_saysNoDmaBuf() {
        FakeCuda.configure(1, false);
        assertThat(Cuda.gpus()).hasSize(1).noneMatch(CudaGpu::dmaBuf);
    }

    @Test
    void flushRemoteWrites_eachKindOfGpu_flushesWhereItMust() {
        try (CudaDevice device = Cuda.open(0)) {
            device.flushRemoteWrites();
            assertThat(FakeCuda.flushes()).isOne();
        }
        FakeCuda.remoteWrites(0, 100);
        try (CudaDevice device = Cuda.open(0)) {
            assertThat(device.gpu().remoteWrites()).isEqualTo(CudaGpu.RemoteWrites.ORDERED);
            device.flushRemoteWrites();
            assertThat(FakeCuda.flushes()).isOne();
        }
        FakeCuda.remoteWrites(2, 0);
        try (CudaDevice device = Cuda.open(0)) {
            assertThat(device.gpu().remoteWrites()).isEqualTo(CudaGpu.RemoteWrites.HIDDEN);
            assertThatThrownBy(device::flushRemoteWrites).hasMessageContaining("CUDA_ERROR_NOT_SUPPORTED");
        }
    }

    @Test
    void open_ordinalThatIsNone_isInvalid() {
        assertThatThrownBy(() -> Cuda.open(2))
                .isInstanceOf(MooncakeException.class)
                .hasMessageContaining("cudaDevice: 2 (expected: one of [0, 1])");
    }

    @Test
    void open_driverRefuses_throwsItsNameOfTheError() {
        FakeCuda.fail("cuDevicePrimaryCtxRetain", 0, 1, FakeCuda.OUT_OF_MEMORY);
        assertThatThrownBy(() -> Cuda.open(0))
                .isInstanceOfSatisfying(CudaException.class, e -> {
                    assertThat(e.error()).isEqualTo(2);
                    assertThat(e.code()).isEqualTo(MooncakeException.Code.EXHAUSTED);
                })
                .hasMessage("GPU 0: open: CUDA_ERROR_OUT_OF_MEMORY (2)");
    }

    @Test
    void copy_batchBothWays_movesExactlyItsBytes() {
        try (CudaDevice device = Cuda.open(1);
                CudaMemory there = device.allocate(BYTES);
                CudaMemory here = device.allocatePinned(2L * BYTES);
                CudaStream stream = device.createStream()) {
            byte[] expected = new byte[BYTES];
            new Random(1).nextBytes(expected);
            UNSAFE.copyMemory(expected, Unsafe.ARRAY_BYTE_BASE_OFFSET, null, here.address(), BYTES);
            long[] copies = new long[CudaStream.MAX_COPIES * CudaStream.COPY_LONGS];
            int piece = BYTES / CudaStream.MAX_COPIES;
            for (int i = 0; i < CudaStream.MAX_COPIES; i++) {
                long at = (long) i * piece;
                CudaStream.describe(copies, i, true, there.address() + at, here.address() + at, piece);
            }
            stream.copy(copies, CudaStream.MAX_COPIES);
            CudaStream.describe(copies, 0, false, there.address(), here.address() + BYTES, BYTES);
            stream.start(copies, 1);
            assertThat(FakeCuda.held().copies()).isEqualTo(1);
            stream.synchronize();
            byte[] found = new byte[BYTES];
            UNSAFE.copyMemory(null, here.address() + BYTES, found, Unsafe.ARRAY_BYTE_BASE_OFFSET, BYTES);
            assertThat(found).isEqualTo(expected);
        }
    }

    @Test
    void copy_unpinnedOrForeignMemory_throwsAndNothingRuns() {
        try (CudaDevice device = Cuda.open(0);
                CudaDevice other = Cuda.open(1);
                CudaMemory there = device.allocate(4096);
                CudaMemory foreign = other.allocate(4096);
                CudaMemory here = device.allocatePinned(4096);
                CudaStream stream = device.createStream()) {
            long[] copies = new long[2 * CudaStream.COPY_LONGS];
            CudaStream.describe(copies, 0, true, there.address(), here.address(), 4096);
            CudaStream.describe(copies, 1, true, foreign.address(), here.address(), 4096);
            assertThatThrownBy(() -> stream.start(copies, 2)).hasMessage("GPU 0: copy: CUDA_ERROR_INVALID_VALUE (1)");
            // The first of the two has been waited for.
            assertThat(FakeCuda.held().copies()).isZero();
            assertThatThrownBy(() -> stream.copy(copies, 3)).hasMessageContaining("copies: 3");
            long unpinned = UNSAFE.allocateMemory(4096);
            CudaStream.describe(copies, 0, true, there.address(), unpinned, 4096);
            assertThatThrownBy(() -> stream.copy(copies, 1)).isInstanceOf(CudaException.class);
            device.pin(unpinned, 4096);
            stream.copy(copies, 1);
            device.unpin(unpinned);
            UNSAFE.freeMemory(unpinned);
        }
    }

    @Test
    void synchronize_asynchronousError_throwsItsName() {
        try (CudaDevice device = Cuda.open(0);
                CudaMemory there = device.allocate(4096);
                CudaMemory here = device.allocatePinned(4096);
                CudaStream stream = device.createStream()) {
            long[] copies = new long[CudaStream.COPY_LONGS];
            CudaStream.describe(copies, 0, false, there.address(), here.address(), 4096);
            FakeCuda.fail("cuStreamSynchronize", 0, 1, FakeCuda.ILLEGAL_ADDRESS);
            stream.start(copies, 1);
            assertThatThrownBy(stream::synchronize).hasMessage("GPU 0: copy: CUDA_ERROR_ILLEGAL_ADDRESS (700)");
        }
    }

    @Test
    void pointer_kindsOfMemory_areTold() {
        try (CudaDevice device = Cuda.open(0);
                CudaDevice other = Cuda.open(1);
                CudaMemory there = other.allocate(100_000);
                CudaMemory here = device.allocatePinned(4096)) {
            assertThat(device.pointer(there.address() + 5))
                    .isEqualTo(new CudaDevice.Pointer(true, 1, there.address(), 100_000));
            assertThat(device.pointer(here.address()).deviceMemory()).isFalse();
            assertThatThrownBy(() -> device.pointer(4096))
                    .isInstanceOfSatisfying(CudaException.class, e -> assertThat(e.code())
                            .isEqualTo(MooncakeException.Code.INVALID_ARGUMENT));
        }
    }

    @Test
    void exportDmaBuf_anyRange_isOnPagesAndTheCallers() throws Exception {
        try (CudaDevice device = Cuda.open(0);
                CudaMemory there = device.allocate(1 << 20)) {
            device.syncMemoryOperations(there.address());
            device.flushRemoteWrites();
            DmaBuf buffer = device.exportDmaBuf(there.address(), 1 << 20);
            assertThat(FakeCuda.openDmaBufs()).isOne();
            buffer.close();
            buffer.close();
            assertThat(FakeCuda.openDmaBufs()).isZero();
            try (DmaBuf inside = device.exportDmaBuf(there.address() + 4097, 4096)) {
                assertThat(inside.offset()).isEqualTo(1);
            }
            FakeCuda.configure(2, false);
            assertThatThrownBy(() -> device.exportDmaBuf(there.address(), 4096))
                    .hasMessageContaining("CUDA_ERROR_NOT_SUPPORTED");
        }
    }

    @Test
    void close_deviceInUse_refusesAndStaysOpen() {
        CudaDevice device = Cuda.open(0);
        CudaMemory there = device.allocate(4096);
        assertThatThrownBy(device::close).hasMessageContaining("1 users");
        there.close();
        there.close();
        device.close();
        device.close();
        assertThatThrownBy(() -> device.allocate(1)).hasMessage("GPU 0: closed");
    }

    @Test
    void allocate_driverIsOut_throwsAndTheDeviceCloses() {
        try (CudaDevice device = Cuda.open(0)) {
            FakeCuda.fail("cuMemHostAlloc", 0, 1, FakeCuda.OUT_OF_MEMORY);
            assertThatThrownBy(() -> device.allocatePinned(4096))
                    .hasMessage("GPU 0: allocate 4096 pinned bytes: CUDA_ERROR_OUT_OF_MEMORY (2)");
            assertThatThrownBy(() -> device.allocate(2L << 30)).isInstanceOf(CudaException.class);
        }
    }

    @Test
    void unavailable_driverFailsToStart_saysWhyAndNothingThrows() {
        FakeCuda.fail("cuInit", 0, FakeCuda.ALWAYS, 719);
        assertThat(Cuda.unavailable()).contains("cuInit: 719 (CUDA_ERROR_LAUNCH_FAILED)");
        assertThat(Cuda.gpus()).isEmpty();
        assertThatThrownBy(() -> Cuda.open(0)).hasMessageContaining("cuInit: 719");
    }

    @Test
    void unavailable_noDriver_saysWhy() {
        FakeCuda.uninstall();
        System.setProperty(Cuda.LIBRARY_PROPERTY, "libno-such-driver.so.1");
        assertThat(Cuda.unavailable()).hasValueSatisfying(why -> assertThat(why).contains("libno-such-driver.so.1"));
        assertThat(Cuda.gpus()).isEmpty();
        FakeCuda.install();
    }
}
