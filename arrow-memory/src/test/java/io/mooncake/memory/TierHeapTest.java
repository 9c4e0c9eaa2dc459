// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.mooncake.base.MooncakeException;
import io.mooncake.memory.ssd.SsdAccess;
import io.mooncake.memory.ssd.SsdSettings;
import io.mooncake.memory.ssd.SsdStore;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The Java heap that an SSD takes is what is planned for it, and a heap that is too small is said before anything is made. */
final class TierHeapTest {
    private static final KvIdentity IDENTITY = Pools.identity(ReuseMode.EXACT);
    private static final int STRIDE = (int) LocalKvPool.blockStrideBytes(IDENTITY);

    @TempDir
    Path folder;

    private static long usedBytes() {
        for (int i = 0; i < 3; i++) {
            System.gc();
        }
        return ManagementFactory.getMemoryMXBean().getHeapMemoryUsage().getUsed();
    }

    @Test
    void heapBytes_store_isWhatItsIndexTakes() {
        int slots = 600_000;
        SsdSettings settings = SsdSettings.builder(folder, "node-1", "ab".repeat(32), 4096, 4096L * slots)
                .scrubBytesPerSecond(0)
                .build();
        SsdAccess device = new SsdAccess();
        long before = usedBytes();
        try (SsdStore store = device.open(settings)) {
            long taken = usedBytes() - before;
            assertThat(store.slots()).isEqualTo(slots);
            assertThat((double) taken / SsdStore.heapBytes(slots)).isBetween(0.7, 1.3);
        }
    }

    @Test
    void heapBytes_tier_isWhatItsCatalogueTakes() {
        int blocks = 100_000;
        SplittableRandom random = new SplittableRandom(1);
        TierCatalog catalog = new TierCatalog(
                key -> {}, List.of(), (key, lastUse) -> 0, () -> 0, key -> false, new TenantAccount(""));
        long before = usedBytes();
        for (int i = 0; i < blocks; i++) {
            BlockKey key = key(i);
            BlockKey parent = key(i % 100 == 0 ? -1 : i - 1);
            int[] tokens = Pools.tokens(random, Pools.BLOCK_TOKENS);
            catalog.written(new StoredBlock(key, parent, i % 100, tokens, i, ""), () -> true);
        }
        long taken = usedBytes() - before;
        assertThat(catalog.ssdBlocks()).isEqualTo(blocks);
        long planned = SsdTier.heapBytes(IDENTITY, (long) blocks * STRIDE) - SsdStore.heapBytes(blocks);
        System.out.println("catalogue: " + taken / blocks + " bytes a block, planned " + planned / blocks);
        assertThat((double) taken / planned).isBetween(0.7, 1.3);
    }

    private static BlockKey key(long number) {
        return new BlockKey(number * 0x9E37_79B9_7F4A_7C15L, number, ~number, 7);
    }

    @Test
    void open_moreThanTheHeapHolds_isRefusedByNameAndMakesNothing() throws Exception {
        long capacity = 16_000_000L * STRIDE;
        try (LocalKvPool pool = Pools.pool(IDENTITY, 8)) {
            assertThatThrownBy(() -> SsdTier.open(
                            pool,
                            SsdTier.settings(pool, folder, "node-1", capacity).build(),
                            List.of()))
                    .isInstanceOfSatisfying(MooncakeException.class, e -> assertThat(e.code())
                            .isEqualTo(MooncakeException.Code.CONFIGURATION))
                    .hasMessageContaining("ssd capacity bytes: " + capacity)
                    .hasMessageContaining("-Xmx")
                    .hasMessageContaining("expected: at most");
        }
        try (var files = Files.list(folder)) {
            assertThat(files).isEmpty();
        }
    }
}
