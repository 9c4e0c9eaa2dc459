// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.mooncake.base.Deadline;
import io.mooncake.base.MooncakeException;
import io.mooncake.base.MooncakeException.Code;
import io.mooncake.memory.gpu.HostGpuMemory;
import io.mooncake.natives.HugePageMount;
import io.mooncake.natives.NativeBridge;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import org.apache.arrow.memory.ArrowBuf;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class MemoryPoolTest {
    private static final long MIB = 1 << 20;

    @TempDir
    private Path folder;

    private MemoryPool threeTiers() {
        MemoryPoolOptions options = MemoryPoolOptions.of(8 * MIB, 16 * MIB, folder, 32 * MIB);
        return MemoryPool.create(options.withGpu(new HostGpuMemory(64 * MIB)));
    }

    private static PoolBuffer filled(MemoryPool pool, long size, int seed) {
        PoolBuffer buffer = pool.allocate(size, MemoryTier.DRAM);
        ArrowBuf bytes = buffer.arrow();
        for (long i = 0; i + 8 <= size; i += 8) {
            bytes.setLong(i, longAt(seed, i));
        }
        buffer.seal();
        return buffer;
    }

    private static long longAt(int seed, long offset) {
        return seed * 0x9E3779B97F4A7C15L + offset;
    }

    private static boolean isFilled(ArrowBuf bytes, int seed) {
        for (long i = 0; i + 8 <= bytes.capacity(); i += 8) {
            if (bytes.getLong(i) != longAt(seed, i)) {
                return false;
            }
        }
        return true;
    }

    private static void assertCode(Code code, Throwable error) {
        assertThat(error).isInstanceOfSatisfying(MooncakeException.class, e -> assertThat(e.code())
                .isEqualTo(code));
    }

    // ---------------------------------------------------------------------------------------------- bad input

    @Test
    void create_sizesThatCannotBe_nameTheValue() {
        assertThatThrownBy(() -> MemoryPool.create(-1, MIB, null, 0))
                .hasMessage("gpuBytes: -1 (expected: 0 for no such tier, or more)");
        assertThatThrownBy(() -> MemoryPool.create(0, -5, null, 0)).hasMessageContaining("cpuBytes: -5");
        assertThatThrownBy(() -> MemoryPool.create(0, 0, null, 0)).hasMessageContaining("one above 0");
        assertThatThrownBy(() -> MemoryPool.create(0, MIB, null, 5)).hasMessageContaining("ssdPath: null");
        assertThatThrownBy(() -> MemoryPool.create(0, MIB, folder.resolve("none"), MIB))
                .satisfies(e -> assertCode(Code.CONFIGURATION, e))
                .hasMessageContaining("none (expected: a directory)");
        assertThatThrownBy(() -> MemoryPool.create(0, MIB, folder, 1L << 60))
                .satisfies(e -> assertCode(Code.CONFIGURATION, e))
                .hasMessageContaining("ssdBytes: 1152921504606846976");
        assertThat(folder).isEmptyDirectory();
    }

    @Test
    void create_moreThanTheContainerAllowsWithTheHeap_isRefusedWithAllNumbers() {
        MemoryLimits limits = new MemoryLimits(Runtime.getRuntime().maxMemory() + MIB, "the container's limit in x");
        MemoryPoolOptions options = MemoryPoolOptions.of(0, 2 * MIB, null, 0);
        assertThatThrownBy(() -> MemoryPool.create(options, limits))
                .satisfies(e -> assertCode(Code.CONFIGURATION, e))
                .hasMessageContaining("cpuBytes: 2097152 = 2.0 MiB, with a Java heap of up to ")
                .hasMessageContaining("the container's limit in x");
        try (MemoryPool pool = MemoryPool.create(MemoryPoolOptions.of(0, MIB, null, 0), limits)) {
            assertThat(pool.plan().lines())
                    .contains("GPU   none", "SSD   none")
                    .anyMatch(line -> line.startsWith("DRAM  1.0 MiB, "))
                    .anyMatch(line -> line.endsWith("the container's limit in x"));
        }
    }

    @Test
    void create_gpuTierWithoutADriver_saysWhy() {
        assertThatThrownBy(() -> MemoryPool.create(MIB, MIB, null, 0))
                .satisfies(e -> assertCode(Code.CONFIGURATION, e))
                .hasMessageContaining("CUDA");
        HostGpuMemory small = new HostGpuMemory(MIB);
        assertThatThrownBy(() -> MemoryPool.create(
                        MemoryPoolOptions.of(2 * MIB, MIB, null, 0).withGpu(small)))
                .hasMessageContaining("gpuBytes: 2097152 (expected: at most 1048576");
    }

    @Test
    void allocate_absentTierOrWrongSize_isTyped() {
        try (MemoryPool pool = MemoryPool.create(0, MIB, null, 0)) {
            assertThatThrownBy(() -> pool.allocate(1, MemoryTier.GPU))
                    .satisfies(e -> assertCode(Code.INVALID_ARGUMENT, e))
                    .hasMessage("tier: GPU (expected: one this pool has: [DRAM])");
            for (long size : new long[] {0, -7, MIB + 1}) {
                assertThatThrownBy(() -> pool.allocate(size, MemoryTier.DRAM))
                        .satisfies(e -> assertCode(Code.INVALID_ARGUMENT, e))
                        .hasMessage("size: " + size + " (expected: 1..1048576 in DRAM)");
            }
            PoolBuffer buffer = filled(pool, 100, 1);
            assertThatThrownBy(() -> pool.migrate(buffer, MemoryTier.SSD)).hasMessageContaining("tier: SSD");
            assertThat(buffer.tier()).isEqualTo(MemoryTier.DRAM);
            buffer.close();
        }
    }

    // --------------------------------------------------------------------------------------------------- use

    @Test
    void migrate_aroundAllTiers_keepsTheBytes() {
        try (MemoryPool pool = threeTiers()) {
            assertThat(pool.plan().ssd()).contains(folder.toString()).contains("direct I/O");
            for (int size : new int[] {8, 4096, 5000, 3 << 20}) {
                try (PoolBuffer buffer = filled(pool, size, size)) {
                    for (MemoryTier tier : List.of(
                            MemoryTier.SSD,
                            MemoryTier.GPU,
                            MemoryTier.SSD,
                            MemoryTier.DRAM,
                            MemoryTier.GPU,
                            MemoryTier.DRAM,
                            MemoryTier.DRAM)) {
                        pool.migrate(buffer, tier);
                        assertThat(buffer.tier()).isEqualTo(tier);
                    }
                    try (BufferLease lease = buffer.lease()) {
                        assertThat(isFilled(lease.arrow(), size)).isTrue();
                    }
                }
            }
            for (MemoryTier tier : MemoryTier.values()) {
                assertThat(pool.arena(tier).usedBytes()).as(tier.name()).isZero();
            }
        }
        assertThat(folder).as("the file has no name").isEmptyDirectory();
    }

    @Test
    void migrate_whileLeased_leaseKeepsItsPlaceUntilItEnds() {
        try (MemoryPool pool = threeTiers();
                PoolBuffer buffer = filled(pool, 5000, 7)) {
            BufferLease lease = buffer.lease();
            long address = lease.address();
            pool.migrate(buffer, MemoryTier.SSD);
            pool.migrate(buffer, MemoryTier.DRAM);
            try (BufferLease later = buffer.lease()) {
                assertThat(later.address()).isNotEqualTo(address);
                assertThat(isFilled(later.arrow(), 7)).isTrue();
            }
            assertThat(lease.address()).isEqualTo(address);
            assertThat(isFilled(lease.arrow(), 7)).isTrue();
            assertThat(pool.arena(MemoryTier.DRAM).usedBytes()).isEqualTo(2 * 8192);
            lease.close();
            assertThat(pool.arena(MemoryTier.DRAM).usedBytes()).isEqualTo(8192);
        }
    }

    @Test
    void migrate_refusals_leaveTheBufferWhereItIs() {
        try (MemoryPool pool = threeTiers();
                PoolBuffer filling = pool.allocate(100, MemoryTier.DRAM);
                PoolBuffer big = filled(pool, 9 * MIB, 3)) {
            assertThatThrownBy(() -> pool.migrate(filling, MemoryTier.SSD))
                    .satisfies(e -> assertCode(Code.ILLEGAL_STATE, e))
                    .hasMessageContaining("filling");
            assertThatThrownBy(() -> pool.migrate(big, MemoryTier.GPU))
                    .as("larger than that tier")
                    .satisfies(e -> assertCode(Code.INVALID_ARGUMENT, e));
            PoolBuffer other = pool.allocate(8 * MIB, MemoryTier.GPU);
            PoolBuffer small = filled(pool, 64, 4);
            assertThatThrownBy(() -> pool.migrate(small, MemoryTier.GPU)).satisfies(e -> assertCode(Code.EXHAUSTED, e));
            assertThat(small.pin()).isTrue();
            assertThatThrownBy(() -> pool.migrate(small, MemoryTier.SSD)).hasMessageContaining("1 hard pins");
            assertThatThrownBy(small::close).hasMessageContaining("1 hard pins");
            small.unpin();
            pool.migrate(small, MemoryTier.SSD);
            assertThatThrownBy(small::lease).hasMessageContaining("tier SSD");
            assertThatThrownBy(small::address).isInstanceOf(MooncakeException.class);
            small.close();
            other.close();
            try (BufferLease lease = big.lease()) {
                assertThat(isFilled(lease.arrow(), 3)).isTrue();
            }
        }
    }

    @Test
    void migrate_readersAllTheTime_neverSeeOtherBytes() throws Exception {
        try (MemoryPool pool = threeTiers();
                PoolBuffer buffer = filled(pool, 20_000, 5)) {
            AtomicReference<Throwable> failure = new AtomicReference<>();
            AtomicLong reads = new AtomicLong();
            CountDownLatch done = new CountDownLatch(1);
            List<Thread> threads = new ArrayList<>();
            for (int t = 0; t < 3; t++) {
                Thread reader = new Thread(() -> {
                    while (done.getCount() > 0 && failure.get() == null) {
                        try (BufferLease lease = buffer.lease()) {
                            if (lease.tier() == MemoryTier.DRAM && !isFilled(lease.arrow(), 5)) {
                                failure.set(new AssertionError("other bytes"));
                            }
                            reads.incrementAndGet();
                        } catch (Throwable e) {
                            failure.set(e);
                        }
                    }
                });
                reader.start();
                threads.add(reader);
            }
            int rounds = Seeds.count(300, 100_000);
            for (int i = 0; i < rounds || reads.get() < 100; i++) {
                pool.migrate(buffer, MemoryTier.GPU);
                // Whoever has freed a slot gets it first: were the old place free too early, this would be written
                // under its readers.
                try (PoolBuffer other = pool.allocate(20_000, MemoryTier.DRAM)) {
                    other.arrow().setOne(0, 20_000);
                }
                pool.migrate(buffer, MemoryTier.DRAM);
            }
            done.countDown();
            for (Thread thread : threads) {
                thread.join();
            }
            assertThat(failure.get()).isNull();
            System.out.println(reads + " reads during " + 2 * rounds + " moves");
        }
    }

    @Test
    void locks_readersAndWriter_excludeEachOtherUntilTheirDeadlines() throws Exception {
        try (MemoryPool pool = threeTiers();
                PoolBuffer buffer = pool.allocate(64, MemoryTier.DRAM)) {
            assertThatThrownBy(buffer::lease).hasMessageContaining("filling");
            assertThatThrownBy(() -> buffer.lease(Deadline.ofMillis(20)))
                    .satisfies(e -> assertCode(Code.DEADLINE_EXCEEDED, e));
            ArrowBuf writing = buffer.arrow();
            writing.setLong(0, 1);
            buffer.seal();
            assertThatThrownBy(() -> writing.setLong(0, 2))
                    .as("sealed bytes do not change")
                    .isInstanceOf(IllegalStateException.class);
            BufferLease lease = buffer.lease();
            assertThatThrownBy(() -> buffer.reopen(Deadline.ofMillis(20)))
                    .satisfies(e -> assertCode(Code.DEADLINE_EXCEEDED, e))
                    .hasMessageContaining("1 references");
            Thread writer = new Thread(() -> {
                buffer.reopen(Deadline.ofMillis(10_000));
                buffer.arrow().setLong(0, 3);
                buffer.seal();
            });
            writer.start();
            assertThat(lease.arrow().getLong(0)).isEqualTo(1);
            lease.close();
            writer.join();
            try (BufferLease again = buffer.lease(Deadline.ofMillis(1000))) {
                assertThat(again.arrow().getLong(0)).isEqualTo(3);
            }
            buffer.softPin(Duration.ofHours(1));
            pool.migrate(buffer, MemoryTier.GPU);
            pool.migrate(buffer, MemoryTier.DRAM);
            assertThatThrownBy(() -> buffer.reopen(Deadline.ofMillis(20)))
                    .as("the soft pin went along")
                    .satisfies(e -> assertCode(Code.DEADLINE_EXCEEDED, e));
        }
    }

    @Test
    void softPin_ends_bufferCanBeOpenedNotBefore() {
        try (MemoryPool pool = threeTiers();
                PoolBuffer buffer = filled(pool, 64, 1)) {
            long begin = System.nanoTime();
            buffer.softPin(Duration.ofMillis(100));
            buffer.reopen(Deadline.ofMillis(30_000));
            assertThat(System.nanoTime() - begin).isGreaterThanOrEqualTo(100_000_000);
        }
    }

    @Test
    void allocate_sizesThatChangeAllTheTime_movesBuffersBeforeItRefuses() {
        SplittableRandom random = Seeds.random("allocate_sizesThatChange");
        long bytes = 64 * MIB;
        try (MemoryPool pool = MemoryPool.create(0, bytes, null, 0)) {
            List<PoolBuffer> live = new ArrayList<>();
            long liveBytes = 0;
            double shares = 0;
            int refusals = 0;
            int rounds = Seeds.count(16_000, 1_000_000);
            for (int i = 0; i < rounds; i++) {
                // Each phase has its own size, from 4 to 128 KiB, and leaves a few of its buffers behind.
                int size = 4096 << new SplittableRandom(i / 4000).nextInt(6);
                PoolBuffer buffer = null;
                while (buffer == null) {
                    try {
                        buffer = pool.allocate(size - random.nextInt(size / 4), MemoryTier.DRAM);
                    } catch (MooncakeException e) {
                        shares += i > 4000 ? (double) liveBytes / bytes : 0;
                        refusals += i > 4000 ? 1 : 0;
                        int victim = random.nextInt(live.size());
                        PoolBuffer gone = live.get(victim);
                        live.set(victim, live.get(live.size() - 1));
                        live.remove(live.size() - 1);
                        assertThat(isStamped(gone)).isTrue();
                        liveBytes -= gone.size();
                        gone.close();
                    }
                }
                stamp(buffer);
                live.add(buffer);
                liveBytes += buffer.size();
            }
            // On average: a machine that is busy gives some of them less time to make room.
            double share = shares / refusals;
            System.out.printf("refused at %.2f of the tier in use, %d buffers live%n", share, live.size());
            assertThat(share).as("share in use when a buffer was refused").isGreaterThan(0.6);
            for (PoolBuffer buffer : live) {
                assertThat(isStamped(buffer)).isTrue();
                buffer.close();
            }
            pool.allocate(bytes, MemoryTier.DRAM).close();
        }
    }

    private static void stamp(PoolBuffer buffer) {
        ArrowBuf bytes = buffer.arrow();
        bytes.setLong(0, System.identityHashCode(buffer));
        bytes.setLong(buffer.size() - 8, System.identityHashCode(buffer));
        buffer.seal();
    }

    private static boolean isStamped(PoolBuffer buffer) {
        try (BufferLease lease = buffer.lease()) {
            long stamp = System.identityHashCode(buffer);
            return lease.arrow().getLong(0) == stamp && lease.arrow().getLong(buffer.size() - 8) == stamp;
        }
    }

    // ------------------------------------------------------------------------------------------------ faults

    /** T22. */
    @Test
    void deallocate_twiceOrInUse_isRefused() {
        try (MemoryPool pool = threeTiers();
                MemoryPool foreign = MemoryPool.create(0, MIB, null, 0)) {
            PoolBuffer buffer = filled(pool, 100, 1);
            assertThatThrownBy(() -> foreign.deallocate(buffer)).hasMessageContaining("of another pool");
            BufferLease lease = buffer.lease();
            ArrowBuf view = lease.arrow();
            assertThatThrownBy(() -> pool.deallocate(buffer))
                    .satisfies(e -> assertCode(Code.ILLEGAL_STATE, e))
                    .hasMessageContaining("sealed, 1 references");
            lease.close();
            lease.close();
            assertThatThrownBy(lease::address).hasMessage("lease: closed (expected: open)");
            assertThatThrownBy(() -> view.getLong(0)).as("use after free").isInstanceOf(IllegalStateException.class);
            assertThatThrownBy(view::close).as("never retained").isInstanceOf(MooncakeException.class);
            pool.deallocate(buffer);
            assertThatThrownBy(() -> pool.deallocate(buffer))
                    .satisfies(e -> assertCode(Code.ILLEGAL_STATE, e))
                    .hasMessage("buffer 1 of 100 bytes: deallocated (expected: open)");
            buffer.close();
            assertThatThrownBy(buffer::lease).hasMessageContaining("deallocated");
            assertThatThrownBy(buffer::seal).hasMessageContaining("deallocated");
            assertThat(pool.open()).isZero();
        }
    }

    /** T22. */
    @Test
    void view_smallAndHeld_keepsItsOwnBlockOnly() {
        try (MemoryPool pool = MemoryPool.create(0, 16 * MIB, null, 0)) {
            PoolBuffer buffer = filled(pool, 4096, 9);
            ArrowBuf view;
            try (BufferLease lease = buffer.lease()) {
                view = lease.arrow(16, 8);
                view.getReferenceManager().retain();
                assertThatThrownBy(() -> lease.arrow(4090, 8)).hasMessageContaining("view: 4090+8");
            }
            ArrowBuf slice = view.slice(0, 4);
            assertThat(slice.getInt(0)).isEqualTo((int) longAt(9, 16));
            List<PoolBuffer> rest = new ArrayList<>();
            for (int i = 0; i < 4095; i++) {
                rest.add(pool.allocate(4096, MemoryTier.DRAM));
            }
            rest.forEach(PoolBuffer::close);
            pool.allocate(15 * MIB, MemoryTier.DRAM).close();
            assertThatThrownBy(buffer::close).hasMessageContaining("1 references");
            slice.close();
            assertThatThrownBy(() -> slice.getInt(0)).isInstanceOf(IllegalStateException.class);
            buffer.close();
        }
    }

    /** T22. */
    @Test
    void close_withLeaks_namesTheirSitesAndMemoryStaysForThem() {
        MemoryPool pool = MemoryPool.create(0, MIB, null, 0);
        PoolBuffer buffer = filled(pool, 100, 1);
        BufferLease lease = buffer.lease();
        ArrowBuf view = lease.arrow();
        assertThatThrownBy(pool::close)
                .satisfies(e -> assertCode(Code.ILLEGAL_STATE, e))
                .hasMessageContaining("2 open at close (expected: 0)")
                .hasMessageContaining("buffer opened by thread")
                .hasMessageContaining("lease opened by thread")
                .hasMessageContaining("MemoryPoolTest.close_withLeaks_namesTheirSitesAndMemoryStaysForThem");
        pool.close();
        assertThatThrownBy(() -> pool.allocate(1, MemoryTier.DRAM)).hasMessageContaining("closed");
        assertThat(isFilled(view, 1)).isTrue();
        lease.close();
        buffer.close();
        assertThatThrownBy(pool.region()::retain).as("freed").isInstanceOf(MooncakeException.class);
    }

    @Test
    void create_sharedFolder_putsTheRegionInAFile() throws Exception {
        assumeTrue(NativeBridge.available(), "native bridge");
        MemoryPoolOptions options = MemoryPoolOptions.of(0, MIB, null, 0).withSharedFolder(folder);
        try (MemoryPool pool = MemoryPool.create(options)) {
            assertThat(pool.region().sharedFile().path()).hasParentRaw(folder);
            assertThat(pool.plan().cpuPages()).contains(folder.toString());
            assertThat(Files.list(folder)).hasSize(1);
        }
        assertThat(folder).isEmptyDirectory();
    }

    @Test
    void create_mountOfHugePages_isUsedWhereItHasRoom() throws Exception {
        assumeTrue(NativeBridge.available(), "native bridge");
        try (HugePageMount mount = HugePageMount.mount(folder, 5, true)) {
            try (MemoryPool pool = MemoryPool.create(0, 8 * MIB, null, 0)) {
                assertThat(pool.plan().cpuPages()).startsWith("huge pages, a file in ");
                filled(pool, 3 * MIB, 1).close();
            }
            try (MemoryPool pool = MemoryPool.create(0, 64 * MIB, null, 0)) {
                assertThat(pool.plan().cpuPages()).isEqualTo("pages of this process");
            }
        }
    }
}
