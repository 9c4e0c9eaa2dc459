// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory;

import static org.assertj.core.api.Assertions.assertThat;

import io.mooncake.base.Deadline;
import io.mooncake.memory.ssd.SsdAccess;
import io.mooncake.memory.ssd.SsdSettings;
import io.mooncake.memory.ssd.SsdStatus;
import io.mooncake.memory.ssd.TestMount;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** T19 below a pool: a quota, a file system that becomes read-only while it is used. Memory goes on, and nobody's call fails. */
@Timeout(120)
final class SsdTierRoomTest {
    private static final KvIdentity IDENTITY = Pools.identity(ReuseMode.EXACT);
    private static final int STRIDE = (int) LocalKvPool.blockStrideBytes(IDENTITY);
    private static final int SEGMENT_BLOCKS = 16;

    private final SplittableRandom random = Seeds.random("room of the SSD tier");

    @TempDir
    Path folder;

    private SsdSettings settings(LocalKvPool pool, Path path) {
        return SsdTier.settings(pool, path, "node-1", 96L * STRIDE)
                .segmentBytes((long) SEGMENT_BLOCKS * STRIDE)
                .commitMillis(5)
                .retryMillis(200)
                .scrubBytesPerSecond(0)
                .build();
    }

    private SsdTier open(LocalKvPool pool, SsdAccess device) {
        return SsdTier.over(pool, device.open(settings(pool, folder)), block -> true, 64, List.of());
    }

    /** Prompts of four blocks, each stored. */
    private List<int[]> store(LocalKvPool pool, int prompts) {
        List<int[]> stored = new ArrayList<>();
        for (int i = 0; i < prompts; i++) {
            int[] prompt = Pools.tokens(random, 4 * Pools.BLOCK_TOKENS + 1);
            assertThat(Pools.store(pool, Tenant.DEFAULT, prompt)).isEqualTo(4);
            stored.add(prompt);
        }
        return stored;
    }

    private static void requireHit(KvPool through, LocalKvPool pool, int[] prompt) {
        List<BlockKey> chain = pool.chain(Tenant.DEFAULT, prompt);
        try (PrefixLease hit = through.acquire(prompt, Pools.soon())) {
            assertThat(hit.blockCount()).isEqualTo(4);
            for (int i = 0; i < 4; i++) {
                assertThat(Pools.isFilled(hit.block(i), pool.layout(), "default", chain.get(i)))
                        .isTrue();
            }
        }
    }

    private static void requireHits(SsdTier tier, LocalKvPool pool, List<int[]> prompts) {
        prompts.forEach(prompt -> requireHit(tier.pool(), pool, prompt));
    }

    private static void await(String what, Supplier<Object> seen, BooleanSupplier condition)
            throws InterruptedException {
        Deadline deadline = Deadline.ofMillis(30_000); // what the fault table allows
        while (!condition.getAsBoolean()) {
            assertThat(deadline.expired()).as("%s: %s", what, seen.get()).isFalse();
            Thread.sleep(5);
        }
    }

    private static boolean onSsd(SsdTier tier, LocalKvPool pool, List<int[]> prompts) {
        return prompts.stream()
                .flatMap(prompt -> pool.chain(Tenant.DEFAULT, prompt).stream())
                .allMatch(tier::contains);
    }

    private static SsdStatus.State state(SsdTier tier) {
        return tier.statistics().status().state();
    }

    @Test
    void store_quotaExceededWhileOpen_memoryGoesOnAndTheSsdGrowsAgainAfterwards() throws Exception {
        SsdAccess device = new SsdAccess();
        try (LocalKvPool pool = Pools.pool(IDENTITY, 64);
                SsdTier tier = open(pool, device)) {
            List<int[]> before = store(pool, 2);
            assertThat(tier.flush(Pools.soon())).isTrue();
            device.quotaExceeded();
            List<int[]> during = store(pool, 10);
            await("no room is shown", tier::statistics, () -> state(tier) == SsdStatus.State.NO_ROOM);
            assertThat(tier.statistics().status().reason()).contains("Disk quota exceeded");
            requireHits(tier, pool, during);
            assertThat(tier.statistics().blocks()).isLessThanOrEqualTo(SEGMENT_BLOCKS);
            requireHit(tier.pool(), pool, before.get(0));
            device.works();
            // Nobody stores anything: the tier finds out by itself.
            await("open again", tier::statistics, () -> state(tier) == SsdStatus.State.OPEN);
            List<int[]> after = store(pool, 3);
            await("written", tier::statistics, () -> onSsd(tier, pool, after));
            assertThat(tier.statistics().blocks()).isGreaterThan(SEGMENT_BLOCKS);
        }
    }

    @Test
    void store_fileSystemReadOnlyForAWhile_memoryAndReadsGoOnAndWritesComeBack() throws Exception {
        SsdAccess device = new SsdAccess();
        try (LocalKvPool pool = Pools.pool(IDENTITY, 24);
                SsdTier tier = open(pool, device)) {
            List<int[]> before = store(pool, 3);
            assertThat(tier.flush(Pools.soon())).isTrue();
            device.readOnly();
            List<int[]> during = store(pool, 3);
            await("paused is shown", tier::statistics, () -> state(tier) == SsdStatus.State.PAUSED);
            assertThat(tier.statistics().status().reason()).contains("Read-only file system");
            requireHits(tier, pool, during);
            // More than memory has: what was on the SSD before takes the place of what never got there.
            store(pool, 3);
            requireHits(tier, pool, before);
            assertThat(tier.statistics().loaded()).isPositive();
            device.works();
            List<int[]> after = store(pool, 3);
            await("written", tier::statistics, () -> onSsd(tier, pool, after));
            await("open again", tier::statistics, () -> state(tier) == SsdStatus.State.OPEN);
            store(pool, 6);
            requireHits(tier, pool, after);
        }
    }

    @Test
    void store_ext4BecomesReadOnlyWhileOpen_memoryAndReadsGoOnAndARestartFindsWhatWasSynced() throws Exception {
        Path image = folder.resolve("image");
        Path mounted = folder.resolve("mounted");
        List<int[]> before;
        try (TestMount mount = TestMount.ofImage(image, 32 << 20, mounted);
                LocalKvPool pool = Pools.pool(IDENTITY, 24);
                SsdTier tier = SsdTier.open(pool, settings(pool, mount.folder()), List.of())) {
            before = store(pool, 3);
            assertThat(tier.flush(Pools.soon())).isTrue();
            mount.fail();
            List<int[]> during = store(pool, 3);
            await("paused is shown", tier::statistics, () -> state(tier) == SsdStatus.State.PAUSED);
            assertThat(tier.statistics().status().reason()).contains("Read-only file system");
            requireHits(tier, pool, during);
            store(pool, 3);
            requireHits(tier, pool, before);
            assertThat(tier.statistics().loaded()).isPositive();
        }
        TestMount.repair(image);
        try (TestMount mount = TestMount.ofImage(image, 0, mounted);
                LocalKvPool pool = Pools.pool(IDENTITY, 24);
                SsdTier tier = SsdTier.open(pool, settings(pool, mount.folder()), List.of())) {
            requireHits(tier, pool, before);
            store(pool, 2);
            assertThat(tier.flush(Pools.soon())).isTrue();
            assertThat(state(tier)).isEqualTo(SsdStatus.State.OPEN);
        }
    }
}
