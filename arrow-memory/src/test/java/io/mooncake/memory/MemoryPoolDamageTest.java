// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.mooncake.base.Deadline;
import io.mooncake.base.MooncakeException;
import io.mooncake.base.MooncakeException.Code;
import io.mooncake.memory.gpu.HostGpuMemory;
import io.mooncake.memory.ssd.TestMount;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.file.FileStore;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.SplittableRandom;
import java.util.stream.Stream;
import org.apache.arrow.memory.ArrowBuf;
import org.apache.arrow.memory.util.MemoryUtil;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** What a {@link MemoryPool} does when a tier does not give back what it got, or its directory can't be used. */
@Timeout(400)
class MemoryPoolDamageTest {
    private static final long MIB = 1 << 20;

    @TempDir
    private Path folder;

    private MemoryPool pool(boolean verified) {
        MemoryPoolOptions options = MemoryPoolOptions.of(4 * MIB, 8 * MIB, folder, 8 * MIB);
        return MemoryPool.create(options.withGpu(new HostGpuMemory(8 * MIB)), MemoryLimits.ofThisProcess(), verified);
    }

    private static byte byteAt(long seed, int offset) {
        return (byte) ((seed + offset) * 0x9E3779B97F4A7C15L >>> 40);
    }

    private static PoolBuffer filled(MemoryPool pool, int size, long seed) {
        PoolBuffer buffer = pool.allocate(size, MemoryTier.DRAM);
        ArrowBuf bytes = buffer.arrow();
        for (int i = 0; i < size; i++) {
            bytes.setByte(i, byteAt(seed, i));
        }
        buffer.seal();
        return buffer;
    }

    private static boolean isFilled(PoolBuffer buffer, long seed) {
        try (BufferLease lease = buffer.lease()) {
            ArrowBuf bytes = lease.arrow();
            for (int i = 0; i < buffer.size(); i++) {
                if (bytes.getByte(i) != byteAt(seed, i)) {
                    return false;
                }
            }
            return true;
        }
    }

    /** Flips one bit of the tier's file, which has no name, or of the device. */
    private void flip(PoolBuffer buffer, long bit) throws IOException {
        PoolBuffer.Place at = buffer.requirePlace();
        long address = at.arena().address(at.token()) + bit / 8;
        int mask = 1 << (bit % 8);
        if (at.space().tier == MemoryTier.GPU) {
            MemoryUtil.putByte(address, (byte) (MemoryUtil.getByte(address) ^ mask));
            return;
        }
        try (RandomAccessFile file = new RandomAccessFile(tierFile().toFile(), "rw")) {
            file.seek(address);
            int value = file.read();
            file.seek(address);
            file.write(value ^ mask);
        }
    }

    private Path tierFile() throws IOException {
        try (Stream<Path> files = Files.list(Path.of("/proc/self/fd"))) {
            return files.filter(this::isTierFile).findFirst().orElseThrow();
        }
    }

    private boolean isTierFile(Path descriptor) {
        try {
            String target = Files.readSymbolicLink(descriptor).toString();
            return target.startsWith(folder.toString()) && target.contains(".tier");
        } catch (IOException e) {
            return false; // of the listing itself
        }
    }

    private static void assertLost(Throwable error, PoolBuffer buffer) {
        assertThat(error)
                .isInstanceOfSatisfying(
                        MooncakeException.class, e -> assertThat(e.code()).isEqualTo(Code.CORRUPT))
                .hasMessageStartingWith("buffer ")
                .hasMessageContaining(" of " + buffer.size() + " bytes: ");
    }

    // ------------------------------------------------------------------------------------------------------- flips

    @Test
    void migrate_bitFlippedInTheTiersFile_isFoundAndNeverServed() throws Exception {
        SplittableRandom random = Seeds.random("bit flips in the tier's file");
        int flips = Seeds.count(1_000, 20_000);
        try (MemoryPool pool = pool(true)) {
            for (int i = 0; i < flips; i++) {
                int size = 1 + random.nextInt(i % 50 == 0 ? 2 << 20 : 20_000);
                try (PoolBuffer struck = filled(pool, size, i);
                        PoolBuffer beside = filled(pool, 3_000, -i)) {
                    pool.migrate(struck, MemoryTier.SSD);
                    pool.migrate(beside, MemoryTier.SSD);
                    flip(struck, random.nextLong(8L * size));
                    MemoryTier to = i % 5 == 0 ? MemoryTier.GPU : MemoryTier.DRAM;
                    assertThatThrownBy(() -> pool.migrate(struck, to))
                            .as("flip %d", i)
                            .satisfies(e -> assertLost(e, struck))
                            .hasMessageContaining(" in SSD (expected: ");
                    assertThat(pool.lost()).isEqualTo(i + 1);
                    assertThat(struck.tier()).isEqualTo(MemoryTier.SSD);
                    pool.migrate(beside, MemoryTier.DRAM);
                    assertThat(isFilled(beside, -i)).as("the one beside %d", i).isTrue();
                }
            }
            for (MemoryTier tier : MemoryTier.values()) {
                assertThat(pool.arena(tier).usedBytes()).as(tier.name()).isZero();
            }
        }
        System.out.println("bit flips in the tier's file: " + flips + " injected, " + flips + " found");
    }

    @Test
    void migrate_bitFlippedOnTheGpu_isFoundAndNeverServed() throws Exception {
        SplittableRandom random = Seeds.random("bit flips on the GPU");
        int flips = Seeds.count(300, 5_000);
        try (MemoryPool pool = pool(true)) {
            for (int i = 0; i < flips; i++) {
                int size = 1 + random.nextInt(20_000);
                try (PoolBuffer struck = filled(pool, size, i)) {
                    pool.migrate(struck, MemoryTier.GPU);
                    if (i % 3 == 0) { // what passes the host on its way keeps the sum it had
                        pool.migrate(struck, MemoryTier.SSD);
                        pool.migrate(struck, MemoryTier.GPU);
                    }
                    flip(struck, random.nextLong(8L * size));
                    MemoryTier to = i % 2 == 0 ? MemoryTier.DRAM : MemoryTier.SSD;
                    assertThatThrownBy(() -> pool.migrate(struck, to)).satisfies(e -> assertLost(e, struck));
                }
            }
            assertThat(pool.lost()).isEqualTo(flips);
        }
    }

    @Test
    void migrate_verificationOff_servesTheFlippedBit() throws Exception {
        try (MemoryPool pool = pool(false);
                PoolBuffer buffer = filled(pool, 9_000, 1)) {
            pool.migrate(buffer, MemoryTier.SSD);
            flip(buffer, 8 * 5_000);
            pool.migrate(buffer, MemoryTier.DRAM);
            assertThat(isFilled(buffer, 1)).isFalse();
        }
    }

    @Test
    void lostBuffer_everyCallOfItsOwner_isToldAndItsMemoryComesBack() throws Exception {
        try (MemoryPool pool = pool(true)) {
            PoolBuffer onSsd = filled(pool, 9_000, 1);
            PoolBuffer onGpu = filled(pool, 9_000, 2);
            pool.migrate(onSsd, MemoryTier.SSD);
            pool.migrate(onGpu, MemoryTier.GPU);
            flip(onSsd, 0);
            flip(onGpu, 8 * 8_999 + 7);
            for (PoolBuffer buffer : List.of(onSsd, onGpu)) {
                for (int i = 0; i < 3; i++) {
                    assertThatThrownBy(() -> pool.migrate(buffer, MemoryTier.DRAM))
                            .satisfies(e -> assertLost(e, buffer));
                    assertThatThrownBy(buffer::lease).satisfies(e -> assertLost(e, buffer));
                }
            }
            assertThat(pool.lost()).as("each once").isEqualTo(2);
            // No address, so the write lock changes no byte; on the GPU it is the owner's way to write them anew.
            onSsd.reopen(Deadline.ofMillis(1_000));
            onSsd.seal();
            assertThatThrownBy(() -> pool.migrate(onSsd, MemoryTier.DRAM)).satisfies(e -> assertLost(e, onSsd));
            onGpu.reopen(Deadline.ofMillis(1_000));
            flip(onGpu, 8 * 8_999 + 7);
            onGpu.seal();
            pool.migrate(onGpu, MemoryTier.DRAM);
            assertThat(isFilled(onGpu, 2)).isTrue();
            onSsd.close();
            onGpu.close();
            assertThat(pool.arena(MemoryTier.SSD).usedBytes()).isZero();
        }
    }

    // ------------------------------------------------------------------------------------------------- directories

    private static double use(Path path) throws IOException {
        FileStore store = Files.getFileStore(path);
        double used = store.getTotalSpace() - store.getUnallocatedSpace();
        return used / (used + store.getUsableSpace());
    }

    private static void assertRefused(Path path, long ssdBytes, String... parts) throws IOException {
        assertThatThrownBy(() -> MemoryPool.create(0, MIB, path, ssdBytes))
                .isInstanceOfSatisfying(
                        MooncakeException.class, e -> assertThat(e.code()).isEqualTo(Code.CONFIGURATION))
                .hasMessageContainingAll(parts);
    }

    @Test
    void create_smallFileSystem_takesAllOfTheFileAtOnceAndNoMoreThanItsShare() throws Exception {
        try (TestMount mount = TestMount.of(folder, "tmpfs", "size=64m")) {
            Path path = mount.folder();
            assertRefused(
                    path, 62 * MIB, "ssdBytes: " + 62 * MIB, "expected: at most 637", path + " has free below 95 %");
            assertThat(path).isEmptyDirectory();
            try (MemoryPool pool = MemoryPool.create(0, MIB, path, 60 * MIB)) {
                assertThat(use(path)).as("allocated before anything is written").isBetween(0.93, 0.95);
                assertRefused(path, MIB, "ssdBytes: 1048576 (expected: at most ");
                try (PoolBuffer buffer = filled(pool, 100_000, 1)) {
                    pool.migrate(buffer, MemoryTier.SSD);
                    TestMount.fill(path.resolve("ballast")); // somebody else takes the rest
                    pool.migrate(buffer, MemoryTier.DRAM);
                    pool.migrate(buffer, MemoryTier.SSD);
                    pool.migrate(buffer, MemoryTier.DRAM);
                    assertThat(isFilled(buffer, 1)).isTrue();
                }
            }
            assertRefused(path, 60 * MIB, "ssdBytes: " + 60 * MIB, "95 %");
            Files.delete(path.resolve("ballast"));
            assertThat(use(path)).as("the file has gone with the pool").isLessThan(0.02);
        }
    }

    @Test
    void create_directoryThatCannotBeUsed_isRefusedByName() throws Exception {
        assertRefused(folder.resolve("none"), MIB, "ssdPath: ", "none (expected: a directory)");
        Path file = Files.createFile(folder.resolve("file"));
        assertRefused(file, MIB, "ssdPath: " + file + " (expected: a directory)");
        try (TestMount mount = TestMount.of(folder, "tmpfs", "size=8m")) {
            mount.remount("ro");
            assertRefused(mount.folder(), MIB, "ssdPath: " + mount.folder(), "Read-only", "a directory to write in");
            mount.remount("rw");
            MemoryPool.create(0, MIB, mount.folder(), MIB).close();
        }
    }

    @Test
    void create_noDirectIo_goesThroughThePageCacheAndSaysSo() throws Exception {
        try (TestMount mount = TestMount.of(folder, "ramfs", "mode=0755")) {
            try (MemoryPool pool = MemoryPool.create(0, MIB, mount.folder(), 4 * MIB);
                    PoolBuffer buffer = filled(pool, 100_001, 3)) {
                assertThat(pool.plan().ssd())
                        .contains(mount.folder().toString())
                        .contains("WITHOUT direct I/O: ");
                pool.migrate(buffer, MemoryTier.SSD);
                pool.migrate(buffer, MemoryTier.DRAM);
                assertThat(isFilled(buffer, 3)).isTrue();
            }
        }
    }
}
