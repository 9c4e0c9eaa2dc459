// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.mooncake.base.MooncakeException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Writers that end between allocate, write and commit: what they had not committed is never seen, what they had is read, and no place is lost. */
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
final class AbandonedFillTest {
    private static final KvIdentity IDENTITY = Pools.identity(ReuseMode.EXACT);
    private static final long STRIDE = LocalKvPool.blockStrideBytes(IDENTITY);
    private static final Duration TERM = Duration.ofSeconds(10);
    private static final int[] BEFORE = prompt(1);
    private static final int[] TOKENS = prompt(2);

    /** Where a writer is when it ends. */
    enum Failpoint {
        ALLOCATED,
        WRITTEN,
        COMMITTED
    }

    @TempDir
    Path folder;

    private static int[] prompt(long seed) {
        return Pools.tokens(new SplittableRandom(seed), 3 * Pools.BLOCK_TOKENS + 1);
    }

    /** A writer of {@code tokens} that has come to {@code until} with one block. */
    private static BlockWriter fill(LocalKvPool pool, PrefixLease hit, int[] tokens, Failpoint until) {
        BlockWriter writer = pool.extend(Tenant.DEFAULT, hit, tokens);
        assertThat(writer.hasNext()).isTrue();
        var payload = writer.next();
        if (until != Failpoint.ALLOCATED) {
            Pools.fill(
                    payload,
                    pool.layout(),
                    Tenant.DEFAULT.name(),
                    pool.chain(Tenant.DEFAULT, tokens).get(0));
        }
        if (until == Failpoint.COMMITTED) {
            assertThat(writer.publish()).isEqualTo(1);
        }
        // It has asked for the next one, too.
        assertThat(writer.hasNext()).isTrue();
        return writer;
    }

    // ----------------------------------------------------------------------------------------------- in this process

    private static BlockWriter fillAndDie(LocalKvPool pool, Failpoint at) throws InterruptedException {
        AtomicReference<BlockWriter> left = new AtomicReference<>();
        Thread thread = new Thread(() -> {
            try (PrefixLease none = pool.acquire(Tenant.DEFAULT, TOKENS)) {
                left.set(fill(pool, none, TOKENS, at));
            }
        });
        thread.start();
        thread.join(60_000);
        assertThat(left.get()).isNotNull();
        return left.get();
    }

    @ParameterizedTest
    @EnumSource(Failpoint.class)
    void reclaimAbandoned_threadHasEnded_givesItsSpaceBackAfterTheTerm(Failpoint at) throws Exception {
        AtomicLong clock = new AtomicLong(1);
        int committed = at == Failpoint.COMMITTED ? 1 : 0;
        try (LocalKvPool pool = Pools.pool(IDENTITY, 4, "lru", clock::get)) {
            BlockWriter writer = fillAndDie(pool, at);
            assertThat(pool.stats().freeBlocks()).isEqualTo(2);
            assertThat(pool.reclaimAbandoned(TERM)).isZero();
            clock.addAndGet(TERM.toNanos() - 1);
            assertThat(pool.reclaimAbandoned(TERM)).isZero();
            assertThat(pool.stats().freeBlocks()).isEqualTo(2);
            try (PrefixLease hit = pool.acquire(Tenant.DEFAULT, TOKENS)) {
                assertThat(hit.blockCount()).isEqualTo(committed);
            }
            clock.addAndGet(1);
            assertThat(pool.reclaimAbandoned(TERM)).isEqualTo(1);
            assertThat(pool.stats().freeBlocks()).isEqualTo(4 - committed);
            assertThat(pool.use(Tenant.DEFAULT).dramBytes()).isEqualTo(committed * STRIDE);
            try (PrefixLease hit = pool.acquire(Tenant.DEFAULT, TOKENS)) {
                assertThat(hit.blockCount()).isEqualTo(committed);
            }
            // Whoever had it after all is told.
            assertThatThrownBy(writer::publish)
                    .isInstanceOf(MooncakeException.class)
                    .hasMessageContaining("closed");
            writer.close();
            assertThat(pool.stats().freeBlocks()).isEqualTo(4 - committed);
        }
    }

    @Test
    void reclaimAbandoned_threadLivesOrAnotherTookOver_isLeftAlone() throws Exception {
        AtomicLong clock = new AtomicLong(1);
        try (LocalKvPool pool = Pools.pool(IDENTITY, 8, "lru", clock::get);
                PrefixLease none = pool.acquire(Tenant.DEFAULT, BEFORE);
                BlockWriter own = fill(pool, none, BEFORE, Failpoint.WRITTEN);
                BlockWriter left = fillAndDie(pool, Failpoint.WRITTEN)) {
            assertThat(pool.reclaimAbandoned(TERM)).isZero();
            assertThat(left.hasNext()).as("used by this thread from now on").isTrue();
            clock.addAndGet(1_000 * TERM.toNanos());
            assertThat(pool.reclaimAbandoned(TERM)).isZero();
            clock.addAndGet(1_000 * TERM.toNanos());
            assertThat(pool.reclaimAbandoned(TERM)).isZero();
            assertThat(own.publish()).isEqualTo(1);
            assertThat(left.publish()).isEqualTo(1);
        }
    }

    @Test
    void reclaimAbandoned_somebodyWaitsForRoom_getsIt() throws Exception {
        AtomicLong clock = new AtomicLong(1);
        try (LocalKvPool pool = Pools.pool(IDENTITY, 2, "lru", clock::get)) {
            fillAndDie(pool, Failpoint.ALLOCATED);
            assertThat(pool.reclaimAbandoned(Duration.ZERO)).isEqualTo(1);
            assertThat(Pools.store(pool, Tenant.DEFAULT, prompt(3))).isEqualTo(2);
        }
    }

    // ------------------------------------------------------------------------------------------- processes that are
    // killed

    private static SsdTier open(LocalKvPool pool, Path folder) {
        return SsdTier.open(
                pool,
                SsdTier.settings(pool, folder, "node-1", 16 * STRIDE)
                        .segmentBytes(16L * STRIDE)
                        .commitMillis(5)
                        .scrubBytesPerSecond(0)
                        .build(),
                List.of());
    }

    @ParameterizedTest
    @EnumSource(Failpoint.class)
    void kill9_writerAtAFailpoint_leavesWhatWasCommittedAndNothingElse(Failpoint at) throws Exception {
        Process child = new ProcessBuilder(
                        ProcessHandle.current().info().command().orElseThrow(),
                        "--add-opens=java.base/java.nio=ALL-UNNAMED",
                        "-XX:TieredStopAtLevel=1",
                        "-Xmx128m",
                        "-cp",
                        System.getProperty("surefire.test.class.path", System.getProperty("java.class.path")),
                        Child.class.getName(),
                        folder.toString(),
                        at.name())
                .redirectError(ProcessBuilder.Redirect.DISCARD)
                .start();
        try {
            assertThat(child.inputReader().lines().filter("here"::equals).findFirst())
                    .isPresent();
        } finally {
            child.destroyForcibly();
            assertThat(child.waitFor(60, TimeUnit.SECONDS)).isTrue();
        }
        int committed = at == Failpoint.COMMITTED ? 1 : 0;
        try (LocalKvPool pool = Pools.pool(IDENTITY, 8);
                SsdTier tier = open(pool, folder)) {
            assertThat(tier.awaitRecovery(Pools.soon())).isTrue();
            assertThat(tier.statistics().blocks()).isEqualTo(3 + committed);
            assertThat(tier.statistics().store().records()).isEqualTo(3 + committed);
            requireHit(pool, tier, BEFORE, 3);
            requireHit(pool, tier, TOKENS, committed);
            // All other places are free.
            int[] rest = Pools.tokens(new SplittableRandom(4), 4 * Pools.BLOCK_TOKENS + 1);
            assertThat(Pools.store(pool, Tenant.DEFAULT, rest)).isEqualTo(4);
            assertThat(tier.flush(Pools.soon())).isTrue();
            assertThat(tier.statistics().evicted()).isZero();
            requireHit(pool, tier, rest, 4);
        }
    }

    private static void requireHit(LocalKvPool pool, SsdTier tier, int[] tokens, int blocks) {
        List<BlockKey> chain = pool.chain(Tenant.DEFAULT, tokens);
        try (PrefixLease hit = tier.pool().acquire(tokens, Pools.soon())) {
            assertThat(hit.blockCount()).isEqualTo(blocks);
            for (int i = 0; i < blocks; i++) {
                assertThat(Pools.isFilled(hit.block(i), pool.layout(), Tenant.DEFAULT.name(), chain.get(i)))
                        .isTrue();
            }
        }
    }

    /** Commits one prompt, comes to a failpoint with another one, says so and stays there until it is killed. */
    static final class Child {
        private Child() {}

        public static void main(String[] arguments) throws Exception {
            Failpoint at = Failpoint.valueOf(arguments[1]);
            LocalKvPool pool = Pools.pool(IDENTITY, 8);
            SsdTier tier = open(pool, Path.of(arguments[0]));
            Pools.store(pool, Tenant.DEFAULT, BEFORE);
            BlockWriter writer = fill(pool, pool.acquire(Tenant.DEFAULT, TOKENS), TOKENS, at);
            if (tier.flush(Pools.soon())) {
                System.out.println("here");
            }
            Thread.sleep(60_000);
            writer.close();
        }
    }
}
