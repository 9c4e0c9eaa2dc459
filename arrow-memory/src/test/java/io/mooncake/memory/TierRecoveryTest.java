// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory;

import static org.assertj.core.api.Assertions.assertThat;

import io.mooncake.base.Deadline;
import io.mooncake.memory.ssd.SsdAccess;
import io.mooncake.memory.ssd.SsdSettings;
import java.nio.file.Path;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What a tier makes known of an earlier life whose headers its device does not give. */
final class TierRecoveryTest {
    private static final KvIdentity IDENTITY = Pools.identity(ReuseMode.EXACT);
    private static final int STRIDE = (int) LocalKvPool.blockStrideBytes(IDENTITY);
    private static final int BLOCKS = 40;

    private final SsdAccess device = new SsdAccess();

    @TempDir
    Path folder;

    private SsdTier open(LocalKvPool pool) {
        // A thread that a busy machine keeps from running is no stalled device.
        return open(pool, 60_000);
    }

    private SsdTier open(LocalKvPool pool, long stallMillis) {
        SsdSettings settings = SsdTier.settings(pool, folder, "node-1", (long) BLOCKS * STRIDE)
                .segmentBytes(16L * STRIDE)
                .commitMillis(5)
                .scrubBytesPerSecond(0)
                .maxErrors(1_000)
                .stallMillis(stallMillis)
                .build();
        return SsdTier.over(pool, device.open(settings), block -> true, 64, List.of());
    }

    private static int[] prompt(long seed, int blocks) {
        return Pools.tokens(new SplittableRandom(seed), blocks * Pools.BLOCK_TOKENS + 1);
    }

    private void earlierLife(int blocks) {
        try (LocalKvPool pool = Pools.pool(IDENTITY, BLOCKS);
                SsdTier tier = open(pool)) {
            Pools.store(pool, Tenant.DEFAULT, prompt(1, blocks));
            assertThat(tier.flush(Pools.soon())).isTrue();
            assertThat(tier.statistics().blocks()).isEqualTo(blocks);
        }
    }

    @Test
    void open_someReadsFailOnce_announcesEverything() {
        earlierLife(30);
        device.failReads(20);
        try (LocalKvPool pool = Pools.pool(IDENTITY, BLOCKS);
                SsdTier tier = open(pool)) {
            assertThat(tier.awaitRecovery(Pools.soon())).isTrue();
            assertThat(tier.statistics().recovered()).isEqualTo(30);
            assertThat(tier.statistics().blocks()).isEqualTo(30);
            assertThat(tier.statistics().store().readErrors()).isEqualTo(20);
            assertThat(pool.chain(Tenant.DEFAULT, prompt(1, 30))).allMatch(tier::contains);
        }
    }

    /** What is on the SSD and not in the catalogue could not leave it for what is stored later. */
    @Test
    void open_readsFailAgainAndAgain_removesWhatNobodyWouldKnow() {
        earlierLife(34);
        device.failReads();
        try (LocalKvPool pool = Pools.pool(IDENTITY, BLOCKS);
                SsdTier tier = open(pool)) {
            assertThat(tier.awaitRecovery(Pools.soon())).isTrue();
            assertThat(tier.statistics().recovered()).isZero();
            assertThat(tier.statistics().store().records()).isZero();
            device.mend();
            int[] tokens = prompt(2, 34);
            Pools.store(pool, Tenant.DEFAULT, tokens);
            assertThat(tier.flush(Pools.soon())).isTrue();
            assertThat(pool.chain(Tenant.DEFAULT, tokens)).allMatch(tier::contains);
            assertThat(tier.statistics().writeFailures()).isZero();
        }
    }

    @Test
    void remove_beforeItsTurn_takesItAndWhatIsFoundBehindIt() {
        earlierLife(3);
        device.hold();
        List<BlockKey> chain;
        try (LocalKvPool pool = Pools.pool(IDENTITY, BLOCKS);
                SsdTier tier = open(pool)) {
            chain = pool.chain(Tenant.DEFAULT, prompt(1, 3));
            device.awaitHeld();
            assertThat(tier.remove(chain.get(1), RemovalCause.REMOVED)).isEqualTo(BlockOutcome.DONE);
            device.letGo();
            assertThat(tier.awaitRecovery(Pools.soon())).isTrue();
            assertThat(tier.contains(chain.get(0))).isTrue();
            assertThat(chain.subList(1, 3)).noneMatch(tier::contains);
            assertThat(tier.statistics().blocks()).isEqualTo(1);
            assertThat(tier.flush(Pools.soon())).isTrue();
        } finally {
            device.letGo();
        }
        try (LocalKvPool pool = Pools.pool(IDENTITY, BLOCKS);
                SsdTier tier = open(pool)) {
            assertThat(tier.awaitRecovery(Pools.soon())).isTrue();
            assertThat(chain.subList(1, 3)).noneMatch(tier::contains);
        }
    }

    @Test
    void open_someRecordsCantBeRead_knowsAllThatIsLeft() {
        earlierLife(30);
        // The first pass fails for all, of the second and the third pass the first ten fail.
        device.failReads(30 + 10 + 10);
        try (LocalKvPool pool = Pools.pool(IDENTITY, BLOCKS);
                SsdTier tier = open(pool)) {
            assertThat(tier.awaitRecovery(Pools.soon())).isTrue();
            int left = tier.statistics().blocks();
            assertThat(left).isPositive().isEqualTo(tier.statistics().store().records());
            assertThat(tier.statistics().recovered()).isEqualTo(left);
        }
    }

    @Test
    void close_headersUnderWayInAStalledDevice_endsAndGivesTheMemoryBackLater() {
        earlierLife(30);
        LocalKvPool pool = Pools.pool(IDENTITY, BLOCKS);
        device.hold();
        try {
            SsdTier tier = open(pool, 500);
            device.awaitHeld();
            long start = System.nanoTime();
            tier.close(Deadline.ofMillis(1));
            assertThat(tier.statistics().recovering()).isTrue();
            assertThat(System.nanoTime() - start).isLessThan(TimeUnit.SECONDS.toNanos(20));
            device.letGo();
            assertThat(tier.awaitRecovery(Pools.soon())).isTrue();
            assertThat(tier.statistics().recovered()).isLessThan(30);
        } finally {
            device.letGo();
            pool.close();
        }
    }
}
