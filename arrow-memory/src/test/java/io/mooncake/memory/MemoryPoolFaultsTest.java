// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.mooncake.base.Deadline;
import io.mooncake.base.MooncakeException;
import io.mooncake.base.MooncakeException.Code;
import io.mooncake.memory.block.BlockArena;
import io.mooncake.memory.gpu.GpuMemory;
import io.mooncake.memory.gpu.HostGpuMemory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** What a {@link MemoryPool} does when others interfere: interrupts, moves of its own, bad beginnings. */
@Timeout(60)
class MemoryPoolFaultsTest {
    private static final long MIB = 1 << 20;

    @TempDir
    private Path folder;

    private static PoolBuffer sealed(MemoryPool pool, long size) {
        PoolBuffer buffer = pool.allocate(size, MemoryTier.DRAM);
        buffer.arrow().setLong(size - 8, 42);
        buffer.seal();
        return buffer;
    }

    private static void assertWhole(PoolBuffer buffer) {
        try (BufferLease lease = buffer.lease()) {
            assertThat(lease.arrow().getLong(buffer.size() - 8)).isEqualTo(42);
        }
    }

    private static void assertCode(Code code, Throwable error) {
        assertThat(error).isInstanceOfSatisfying(MooncakeException.class, e -> assertThat(e.code())
                .isEqualTo(code));
    }

    // ----------------------------------------------------------------------------------------------- interrupts

    @Test
    void migrate_callerIsInterrupted_tierGoesOnAndTheFlagStays() {
        try (MemoryPool pool = MemoryPool.create(0, 4 * MIB, folder, 8 * MIB);
                PoolBuffer buffer = sealed(pool, 100_000)) {
            Thread.currentThread().interrupt();
            try {
                pool.migrate(buffer, MemoryTier.SSD);
            } finally {
                assertThat(Thread.interrupted()).isTrue();
            }
            pool.migrate(buffer, MemoryTier.DRAM);
            pool.migrate(buffer, MemoryTier.SSD);
            pool.migrate(buffer, MemoryTier.DRAM);
            assertWhole(buffer);
        }
    }

    @Test
    void migrate_interruptedAllTheTime_keepsTheBytes() throws Exception {
        try (MemoryPool pool = MemoryPool.create(0, 8 * MIB, folder, 8 * MIB);
                PoolBuffer buffer = sealed(pool, 2 * MIB)) {
            AtomicReference<Throwable> failure = new AtomicReference<>();
            Thread mover = new Thread(() -> {
                try {
                    for (int i = 0; i < 20; i++) {
                        pool.migrate(buffer, MemoryTier.SSD);
                        pool.migrate(buffer, MemoryTier.DRAM);
                    }
                } catch (Throwable e) {
                    failure.set(e);
                }
            });
            mover.start();
            while (mover.isAlive()) {
                mover.interrupt();
                mover.join(1);
            }
            assertThat(failure.get()).isNull();
            assertWhole(buffer);
        }
    }

    // ---------------------------------------------------------------------------------------- moves of the pool

    @Test
    void ownerCalls_whilePoolMovesTheBufferWithinItsTier_areNotRefused() throws Exception {
        try (MemoryPool pool = MemoryPool.create(0, 64 * MIB, folder, 16 * MIB)) {
            AtomicReference<PoolBuffer> current = new AtomicReference<>(sealed(pool, 4 * MIB));
            AtomicBoolean done = new AtomicBoolean();
            AtomicLong moved = new AtomicLong();
            AtomicReference<Throwable> failure = new AtomicReference<>();
            Thread mover = new Thread(() -> {
                try {
                    while (!done.get()) {
                        PoolBuffer buffer = current.get();
                        PoolBuffer.Place at = buffer.place();
                        if (at != null && at.space().tier == MemoryTier.DRAM && pool.moveWithin(buffer, at)) {
                            moved.incrementAndGet();
                        }
                    }
                } catch (Throwable e) {
                    failure.set(e);
                }
            });
            mover.start();
            try {
                for (int i = 0; i < 40 || (moved.get() < 10 && mover.isAlive()); i++) {
                    PoolBuffer buffer = current.get();
                    assertThat(buffer.pin()).isTrue();
                    buffer.unpin();
                    if (i % 4 == 0) {
                        pool.migrate(buffer, MemoryTier.SSD);
                        pool.migrate(buffer, MemoryTier.DRAM);
                    }
                    assertWhole(buffer);
                    current.set(sealed(pool, 4 * MIB));
                    buffer.close();
                }
            } finally {
                done.set(true);
                mover.join();
            }
            assertThat(failure.get()).isNull();
            current.get().close();
            assertThat(pool.arena(MemoryTier.DRAM).usedBytes()).isZero();
        }
    }

    @Test
    void evacuation_ofAnotherThreadTakesLong_isWaitedForUntilTheDeadlineOnly() throws Exception {
        try (MemoryPool pool = MemoryPool.create(0, 4 * MIB, null, 0);
                PoolBuffer buffer = sealed(pool, 4096)) {
            Evacuation evacuation = new Evacuation(pool, buffer.requirePlace().space());
            CountDownLatch held = new CountDownLatch(1);
            CountDownLatch done = new CountDownLatch(1);
            Thread other = new Thread(() -> {
                evacuation.lock.lock();
                held.countDown();
                try {
                    done.await();
                } catch (InterruptedException e) {
                    Thread.currentThread().interrupt();
                } finally {
                    evacuation.lock.unlock();
                }
            });
            other.start();
            held.await();
            try {
                assertThat(evacuation.allocate(4096, Deadline.ofMillis(20))).isEqualTo(BlockArena.NONE);
            } finally {
                done.countDown();
                other.join();
            }
            long token = evacuation.allocate(4096, Deadline.ofMillis(20));
            assertThat(token).isNotEqualTo(BlockArena.NONE);
            pool.arena(MemoryTier.DRAM).free(token);
        }
    }

    @Test
    void softPinAndMigrate_bufferIsMovingAllTheTime_endAtTheirDeadlines() {
        try (MemoryPool pool = MemoryPool.create(0, 4 * MIB, folder, 4 * MIB);
                PoolBuffer buffer = sealed(pool, 4096)) {
            BlockArena arena = pool.arena(MemoryTier.DRAM);
            long token = buffer.requirePlace().token();
            assertThat(arena.startMove(token)).isTrue();
            assertThatThrownBy(() -> buffer.softPin(Duration.ofSeconds(1), Deadline.ofMillis(20)))
                    .satisfies(e -> assertCode(Code.DEADLINE_EXCEEDED, e))
                    .hasMessageContaining("moving");
            assertThatThrownBy(() -> pool.migrate(buffer, MemoryTier.SSD))
                    .satisfies(e -> assertCode(Code.ILLEGAL_STATE, e))
                    .hasMessageContaining("moving");
            arena.cancelMove(token);
            AtomicLong clock = new AtomicLong();
            Deadline passed = Deadline.of(Duration.ofNanos(1), clock::get);
            clock.set(2);
            assertThatThrownBy(() -> pool.migrate(buffer, MemoryTier.SSD, passed))
                    .satisfies(e -> assertCode(Code.DEADLINE_EXCEEDED, e));
            assertThat(buffer.tier()).isEqualTo(MemoryTier.DRAM);
            assertThat(pool.arena(MemoryTier.SSD).usedBytes()).isZero();
            PoolBuffer all = pool.allocate(4 * MIB, MemoryTier.SSD);
            assertThatThrownBy(() -> pool.migrate(buffer, MemoryTier.SSD, Deadline.ofMillis(20)))
                    .satisfies(e -> assertCode(Code.EXHAUSTED, e));
            all.close();
            assertWhole(buffer);
        }
    }

    @Test
    void close_byTwoThreadsAtOnce_isQuiet() throws Exception {
        try (MemoryPool pool = MemoryPool.create(0, 4 * MIB, null, 0)) {
            AtomicReference<Throwable> failure = new AtomicReference<>();
            for (int i = 0; i < 300 && failure.get() == null; i++) {
                PoolBuffer buffer = sealed(pool, 4096);
                CountDownLatch start = new CountDownLatch(1);
                Thread other = new Thread(() -> {
                    try {
                        start.await();
                        buffer.close();
                    } catch (Throwable e) {
                        failure.set(e);
                    }
                });
                other.start();
                start.countDown();
                buffer.close();
                other.join();
            }
            assertThat(failure.get()).isNull();
            assertThat(pool.open()).isZero();
        }
    }

    // ------------------------------------------------------------------------------------------- bad beginnings

    @Test
    void create_tiersBelowAPage_areRefusedByNameAndNothingIsTaken() throws Exception {
        HostGpuMemory gpu = new HostGpuMemory(MIB);
        assertThatThrownBy(() -> MemoryPool.create(
                        MemoryPoolOptions.of(4095, MIB, null, 0).withGpu(gpu)))
                .hasMessage("gpuBytes: 4095 (expected: 0 for no such tier, or at least 4096)");
        assertThatThrownBy(() -> MemoryPool.create(0, 1, null, 0)).hasMessageContaining("cpuBytes: 1 ");
        assertThatThrownBy(() -> MemoryPool.create(0, MIB, folder, 100)).hasMessageContaining("ssdBytes: 100 ");
        gpu.free(gpu.allocate(MIB));
        try (var files = Files.list(folder)) {
            assertThat(files).isEmpty();
        }
        gpu.close();
    }

    @Test
    void create_deviceRefusesToLock_leavesNothingOnIt() {
        HostGpuMemory memory = new HostGpuMemory(MIB);
        GpuMemory refusing = new RefusingGpu(memory);
        assertThatThrownBy(() -> MemoryPool.create(
                        MemoryPoolOptions.of(MIB, MIB, null, 0).withGpu(refusing)))
                .hasMessage("no lock");
        memory.free(memory.allocate(MIB));
        memory.close();
    }

    /** A device that fails when memory is to be locked. */
    private record RefusingGpu(GpuMemory memory) implements GpuMemory {
        @Override
        public String name() {
            return memory.name();
        }

        @Override
        public long totalBytes() {
            return memory.totalBytes();
        }

        @Override
        public long allocate(long bytes) {
            return memory.allocate(bytes);
        }

        @Override
        public void free(long address) {
            memory.free(address);
        }

        @Override
        public boolean pin(long hostAddress, long bytes) {
            throw new IllegalStateException("no lock");
        }

        @Override
        public void unpin(long hostAddress) {
            memory.unpin(hostAddress);
        }

        @Override
        public Stream openStream() {
            return memory.openStream();
        }

        @Override
        public void close() {
            memory.close();
        }
    }
}
