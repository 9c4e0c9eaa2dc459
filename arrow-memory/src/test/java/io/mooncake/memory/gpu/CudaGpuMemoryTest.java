// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory.gpu;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.mooncake.base.MooncakeException;
import io.mooncake.base.MooncakeException.Code;
import io.mooncake.memory.BufferLease;
import io.mooncake.memory.MemoryPool;
import io.mooncake.memory.MemoryPoolOptions;
import io.mooncake.memory.MemoryTier;
import io.mooncake.memory.PoolBuffer;
import io.mooncake.natives.FakeCuda;
import org.apache.arrow.memory.util.MemoryUtil;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** The GPU tier over the fake driver; none of it has run on a GPU. The same questions are put to {@link HostGpuMemory}. */
class CudaGpuMemoryTest {
    private static final int BYTES = 3 * CudaGpuMemory.STAGE_BYTES + 12_345;

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
        FakeCuda.configure(1, true);
    }

    @AfterEach
    void nothingIsLeft() {
        FakeCuda.heal();
        assertThat(FakeCuda.held()).isEqualTo(FakeCuda.Held.NOTHING);
    }

    @Test
    void copies_throughLockedBuffers_keepTheBytes() {
        try (GpuMemory gpu = CudaGpuMemory.open(0)) {
            roundTrip(gpu);
        }
    }

    @Test
    void copies_fromLockedMemory_areTheDriversOwnAndLate() {
        try (GpuMemory gpu = CudaGpuMemory.open(0);
                GpuMemory.Stream stream = gpu.openStream()) {
            long host = MemoryUtil.allocateMemory(BYTES);
            assertThat(gpu.pin(host, BYTES)).isTrue();
            long device = gpu.allocate(BYTES);
            long before = FakeCuda.copies();
            stream.toDevice(host, device, BYTES);
            assertThat(FakeCuda.held().copies()).as("under way").isEqualTo(1);
            stream.synchronize();
            assertThat(FakeCuda.copies() - before).as("in one piece").isEqualTo(1);
            gpu.unpin(host);
            gpu.free(device);
            MemoryUtil.freeMemory(host);
            roundTrip(gpu);
        }
    }

    @Test
    void copies_inMemoryOfTheHost_answerTheSame() {
        try (GpuMemory gpu = new HostGpuMemory(1 << 24)) {
            roundTrip(gpu);
            assertThatThrownBy(() -> gpu.allocate(1 << 25))
                    .isInstanceOfSatisfying(
                            MooncakeException.class, e -> assertThat(e.code()).isEqualTo(Code.EXHAUSTED));
        }
    }

    /** Two ranges, in order on one stream: what was started later wins. */
    private static void roundTrip(GpuMemory gpu) {
        long host = MemoryUtil.allocateMemory(2L * BYTES);
        long device = gpu.allocate(BYTES);
        try (GpuMemory.Stream stream = gpu.openStream()) {
            for (int i = 0; i < BYTES; i++) {
                MemoryUtil.putByte(host + i, (byte) (i * 31 + (i >> 10)));
                MemoryUtil.putByte(host + BYTES + i, (byte) 0);
            }
            stream.toDevice(host + BYTES, device, BYTES);
            stream.toDevice(host, device, BYTES);
            stream.toHost(device, host + BYTES, BYTES);
            stream.synchronize();
            for (int i = 0; i < BYTES; i++) {
                if (MemoryUtil.getByte(host + BYTES + i) != (byte) (i * 31 + (i >> 10))) {
                    throw new AssertionError("byte " + i);
                }
            }
        }
        gpu.free(device);
        assertThatThrownBy(() -> gpu.free(device)).hasMessageContaining("device address");
        MemoryUtil.freeMemory(host);
    }

    @Test
    void migrate_driverFails_bufferStaysReadableAndTheTierRecovers() {
        try (MemoryPool pool = MemoryPool.create(MemoryPoolOptions.of(4 << 20, 4 << 20, null, 0));
                PoolBuffer buffer = pool.allocate(100_000, MemoryTier.DRAM)) {
            assertThat(pool.plan().gpu()).contains("Fake GPU 0").contains("locked DRAM");
            buffer.arrow().setLong(8, 42);
            buffer.seal();
            FakeCuda.fail("cuStreamSynchronize", 0, 1, FakeCuda.ILLEGAL_ADDRESS);
            assertThatThrownBy(() -> pool.migrate(buffer, MemoryTier.GPU))
                    .hasMessageContaining("CUDA_ERROR_ILLEGAL_ADDRESS");
            assertThat(buffer.tier()).isEqualTo(MemoryTier.DRAM);
            assertThat(pool.arena(MemoryTier.GPU).usedBytes()).isZero();
            pool.migrate(buffer, MemoryTier.GPU);
            try (BufferLease lease = buffer.lease()) {
                assertThat(lease.tier()).isEqualTo(MemoryTier.GPU);
                assertThatThrownBy(lease::arrow).hasMessageContaining("tier GPU (expected: DRAM");
            }
            pool.migrate(buffer, MemoryTier.DRAM);
            try (BufferLease lease = buffer.lease()) {
                assertThat(lease.arrow().getLong(8)).isEqualTo(42);
            }
        }
    }

    @Test
    void migrate_copyCannotStart_leavesNoStreamAndTheTierRecovers() {
        try (MemoryPool pool = MemoryPool.create(MemoryPoolOptions.of(4 << 20, 4 << 20, null, 0));
                PoolBuffer buffer = pool.allocate(100_000, MemoryTier.DRAM)) {
            buffer.arrow().setLong(8, 42);
            buffer.seal();
            long streams = FakeCuda.held().streams();
            FakeCuda.fail("cuMemcpyHtoDAsync_v2", 0, 1, FakeCuda.ILLEGAL_ADDRESS);
            assertThatThrownBy(() -> pool.migrate(buffer, MemoryTier.GPU))
                    .hasMessageContaining("CUDA_ERROR_ILLEGAL_ADDRESS");
            assertThat(FakeCuda.held().streams()).isEqualTo(streams);
            pool.migrate(buffer, MemoryTier.GPU);
            FakeCuda.fail("cuMemcpyDtoHAsync_v2", 0, 1, FakeCuda.ILLEGAL_ADDRESS);
            assertThatThrownBy(() -> pool.migrate(buffer, MemoryTier.DRAM))
                    .hasMessageContaining("CUDA_ERROR_ILLEGAL_ADDRESS");
            assertThat(FakeCuda.held().streams()).isEqualTo(streams);
            pool.migrate(buffer, MemoryTier.DRAM);
            try (BufferLease lease = buffer.lease()) {
                assertThat(lease.arrow().getLong(8)).isEqualTo(42);
            }
        }
    }

    @Test
    void create_memoryCannotBeLocked_stagesAndSaysSo() {
        FakeCuda.fail("cuMemHostRegister_v2", 0, 1, FakeCuda.OUT_OF_MEMORY);
        try (MemoryPool pool = MemoryPool.create(MemoryPoolOptions.of(4 << 20, 4 << 20, null, 0));
                PoolBuffer buffer = pool.allocate(2_500_000, MemoryTier.DRAM)) {
            assertThat(pool.plan().gpu()).contains("through locked buffers");
            buffer.arrow().setLong(2_400_000, 42);
            buffer.seal();
            pool.migrate(buffer, MemoryTier.GPU);
            pool.migrate(buffer, MemoryTier.DRAM);
            try (BufferLease lease = buffer.lease()) {
                assertThat(lease.arrow().getLong(2_400_000)).isEqualTo(42);
            }
        }
    }
}
