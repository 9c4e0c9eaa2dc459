// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.mooncake.base.MooncakeException;
import io.mooncake.base.MooncakeException.Code;
import io.mooncake.natives.HugePageMount;
import io.mooncake.natives.NativeBridge;
import io.mooncake.natives.SharedFile;
import java.nio.file.Files;
import java.nio.file.Path;
import org.apache.arrow.memory.util.MemoryUtil;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class MemoryRegionTest {
    @TempDir
    private Path folder;

    @Test
    void allocate_severalThreadsWorth_isAlignedZeroAndThere() throws Exception {
        long bytes = (200L << 20) + 1;
        try (MemoryRegion region = MemoryRegion.allocate(bytes)) {
            assertThat(region.address() % MemoryRegion.PAGE_BYTES).isZero();
            assertThat(region.bytes()).isEqualTo((200L << 20) + 4096);
            // Before it is read, which would bring pages of zeros of its own.
            assertThat(PageMap.missing(region.address(), region.bytes())).isZero();
            long or = 0;
            for (long at = 0; at < region.bytes(); at += 8) {
                or |= MemoryUtil.getLong(region.address() + at);
            }
            assertThat(or).isZero();
        }
    }

    @Test
    void missing_memoryThatNobodyTouched_isAllOfIt() throws Exception {
        long bytes = 64L << 20;
        long address = MemoryUtil.allocateMemory(bytes);
        try {
            long from = (address + 4095) & -4096;
            long pages = (bytes >> 12) - 1;
            assertThat(PageMap.missing(from, pages << 12)).isGreaterThan(pages * 9 / 10);
            MemoryUtil.setMemory(from, pages << 12, (byte) 0);
            assertThat(PageMap.missing(from, pages << 12)).isZero();
        } finally {
            MemoryUtil.freeMemory(address);
        }
    }

    @Test
    void allocateShared_inMemoryFileSystem_isThere() throws Exception {
        assumeTrue(NativeBridge.available(), "native bridge");
        assumeTrue(Files.isWritable(SharedFile.DEFAULT_FOLDER), "/dev/shm");
        try (MemoryRegion region = MemoryRegion.allocateShared(20 << 20, SharedFile.DEFAULT_FOLDER)) {
            assertThat(PageMap.missing(region.address(), region.bytes())).isZero();
        }
    }

    @Test
    void allocateInHugePages_mountWithRoom_isMappedInSuchPages() throws Exception {
        assumeTrue(NativeBridge.available(), "native bridge");
        int page = HugePageMount.PAGE_BYTES;
        try (HugePageMount mount = HugePageMount.mount(folder, 10, false)) {
            try (MemoryRegion region =
                    MemoryRegion.allocateInHugePages(8L * page + 1).orElseThrow()) {
                assertThat(region.bytes()).isEqualTo(9L * page);
                assertThat(region.sharedFile().path()).hasParentRaw(folder);
                assertThat(PageMap.kernelPageBytes(region.address())).isEqualTo(page);
                assertThat(PageMap.missing(region.address(), region.bytes())).isZero();
            }
            assertThat(MemoryRegion.allocateInHugePages(10L * page))
                    .as("none left for the engine")
                    .isEmpty();
            assertThat(MemoryRegion.allocateInHugePages(page + 1))
                    .as("nearly half of it would be lost")
                    .isEmpty();
        }
        assertThat(folder).isEmptyDirectory();
    }

    @Test
    void allocateShared_blocksOfAPool_showTheirGenerationToOtherMappings() {
        assumeTrue(NativeBridge.available(), "native bridge");
        KvIdentity identity = Pools.identity(ReuseMode.EXACT);
        try (MemoryRegion region = MemoryRegion.allocateShared((1 << 20) + 1, folder)) {
            assertThat(region.bytes()).isEqualTo((1 << 20) + 4096);
            SharedFile file = region.sharedFile();
            LocalKvPool pool = LocalKvPool.create("p", identity, Pools.VOCABULARY, region, 4096, 1 << 20);
            try (SharedFile seen = SharedFile.open(file.path(), file.device(), file.inode())) {
                assertThat(Pools.store(pool, Tenant.DEFAULT, new int[20])).isEqualTo(2);
                int shown = 0;
                for (long offset = 0; offset < region.bytes(); offset += 4096) {
                    long word = pool.generationOffset(offset);
                    long generation = word < 0 ? 0 : MemoryUtil.getLong(seen.address() + word);
                    if (pool.isCurrent(offset, 1, 1)) {
                        assertThat(generation).isEqualTo(1);
                        shown++;
                    }
                }
                assertThat(shown).isGreaterThanOrEqualTo(2);
                assertThat(pool.generationOffset(0)).isEqualTo(-1);
                assertThat(pool.generationOffset(-1)).isEqualTo(-1);
                assertThat(pool.generationOffset(1L << 40)).isEqualTo(-1);
            }
            pool.close();
        }
        assertThat(folder).isEmptyDirectory();
    }

    @Test
    void allocate_overTheLimit_namesBothAndWhoSetsIt() {
        assertThatThrownBy(() -> MemoryRegion.allocate(1L << 50))
                .isInstanceOfSatisfying(
                        MooncakeException.class, e -> assertThat(e.code()).isEqualTo(Code.CONFIGURATION))
                .hasMessageContaining("region bytes: 1125899906842624 = 1024.0 TiB (expected: at most ");
        MemoryLimits limits = new MemoryLimits(1 << 20, "the container's limit in x");
        assertThatThrownBy(() -> MemoryRegion.allocate(2 << 20, limits))
                .hasMessage(
                        "region bytes: 2097152 = 2.0 MiB (expected: at most 1048576 = 1.0 MiB, the container's limit in x)");
        assertThatThrownBy(() -> MemoryRegion.allocate(100)).hasMessageContaining("at least 4096");
    }

    @Test
    void close_poolOpen_keepsMemoryUntilThePoolCloses() {
        KvIdentity identity = Pools.identity(ReuseMode.EXACT);
        MemoryRegion region = MemoryRegion.allocate(1 << 20);
        LocalKvPool pool = LocalKvPool.create("p", identity, Pools.VOCABULARY, region, 0, 1 << 20);
        region.retain();
        region.close();
        region.close();
        assertThat(Pools.store(pool, Tenant.DEFAULT, new int[20])).isEqualTo(2);
        pool.close();
        MemoryUtil.putByte(region.address(), (byte) 1);
        region.release();
        assertThatThrownBy(region::release).hasMessageContaining("more often than retained");
        assertThatThrownBy(region::retain).hasMessageContaining("freed");
        assertThatThrownBy(() -> LocalKvPool.create("q", identity, 10, region, 0, 1 << 20))
                .hasMessageContaining("region: closed");
    }

    @Test
    void read_groupsOfVersion2_takesTheLeastOnThePath() throws Exception {
        write("proc/meminfo", "MemTotal:       24000000 kB\nMemFree: 1 kB\n");
        write("proc/self/cgroup", "0::/outer/inner\n");
        write("cgroup/memory.max", "max\n");
        write("cgroup/outer/memory.max", "1073741824\n");
        write("cgroup/outer/inner/memory.max", "2147483648\n");
        MemoryLimits limits = MemoryLimits.read(folder.resolve("proc"), folder.resolve("cgroup"));
        assertThat(limits.bytes()).isEqualTo(1 << 30);
        assertThat(limits.origin()).endsWith("cgroup/outer/memory.max");
    }

    @Test
    void read_groupsOfVersion1AndContainer_readsRootToo() throws Exception {
        write("proc/meminfo", "MemTotal: 1000 kB\n");
        write("proc/self/cgroup", "5:cpu,cpuacct:/x\n4:memory:/docker/abc\n");
        write("cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
        MemoryLimits machine = MemoryLimits.read(folder.resolve("proc"), folder.resolve("cgroup"));
        assertThat(machine).isEqualTo(new MemoryLimits(1_024_000, "the machine's memory"));
        write("cgroup/memory/memory.limit_in_bytes", "5000\n");
        assertThat(MemoryLimits.read(folder.resolve("proc"), folder.resolve("cgroup"))
                        .bytes())
                .isEqualTo(5000);
    }

    @Test
    void read_nothingThere_isNoLimit() {
        assertThat(MemoryLimits.read(folder, folder).bytes()).isEqualTo(Long.MAX_VALUE);
        assertThat(MemoryLimits.ofThisProcess().bytes()).isBetween(1L << 20, 1L << 50);
    }

    private void write(String file, String text) throws Exception {
        Path path = folder.resolve(file);
        Files.createDirectories(path.getParent());
        Files.writeString(path, text);
    }
}
