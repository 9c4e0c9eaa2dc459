// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory;

import static io.mooncake.memory.Pools.BLOCK_TOKENS;
import static org.assertj.core.api.Assertions.assertThat;

import io.mooncake.base.Deadline;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Writers that wait for room instead of dropping what they have. */
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
final class BackPressureTest {
    /** Exact: else a prompt might lease a part of the very block that has to go for it. */
    private static final KvIdentity IDENTITY = Pools.identity(ReuseMode.EXACT);

    private static final long STRIDE = LocalKvPool.blockStrideBytes(IDENTITY);
    private static final Tenant A = new Tenant("a", new byte[] {1});

    private final SplittableRandom random = new SplittableRandom(9);
    private final AtomicLong clock = new AtomicLong(1);
    private final ExecutorService threads = Executors.newCachedThreadPool();

    @AfterEach
    void stop() throws InterruptedException {
        threads.shutdownNow();
        assertThat(threads.awaitTermination(60, TimeUnit.SECONDS)).isTrue();
    }

    private LocalKvPool pool(int blocks) {
        return Pools.pool(IDENTITY, blocks, "lru", clock::incrementAndGet);
    }

    private int[] prompt() {
        return Pools.tokens(random, BLOCK_TOKENS + 1);
    }

    private static BlockKey key(LocalKvPool pool, int[] tokens) {
        return pool.chain(Tenant.DEFAULT, tokens).get(0);
    }

    /** Stores one block, waiting for room. */
    private static int put(LocalKvPool pool, Tenant tenant, int[] tokens, Deadline deadline) {
        try (PrefixLease hit = pool.acquire(tenant, tokens);
                BlockWriter writer = pool.extend(tenant, hit, tokens, deadline)) {
            if (!writer.hasNext()) {
                return 0;
            }
            Pools.fill(
                    writer.next(),
                    pool.layout(),
                    tenant.name(),
                    pool.chain(tenant, tokens).get(0));
            return writer.publish();
        }
    }

    private Future<Integer> putLater(LocalKvPool pool, Tenant tenant, int[] tokens) {
        return threads.submit(() -> put(pool, tenant, tokens, Pools.soon()));
    }

    private static void awaitWaiting(LocalKvPool pool, int count) throws InterruptedException {
        await(() -> pool.store().room.waiting() == count);
    }

    private static void await(BooleanSupplier condition) throws InterruptedException {
        long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(60);
        while (!condition.getAsBoolean() && System.nanoTime() - end < 0) {
            Thread.sleep(1);
        }
        assertThat(condition.getAsBoolean()).isTrue();
    }

    private enum Wake {
        LEASE,
        HARD_PIN,
        SOFT_PIN_BY_TIME,
        REMOVAL,
        ABANDONED_FILL
    }

    @ParameterizedTest
    @EnumSource(Wake.class)
    void extend_fullPool_goesOnWhenThereIsRoom(Wake wake) throws Exception {
        try (LocalKvPool pool = pool(1)) {
            int[] tokens = prompt();
            PrefixLease lease = null;
            BlockWriter filling = null;
            if (wake == Wake.ABANDONED_FILL) {
                lease = pool.acquire(Tenant.DEFAULT, tokens);
                filling = pool.extend(Tenant.DEFAULT, lease, tokens);
                filling.next();
            } else {
                Pools.store(pool, Tenant.DEFAULT, tokens);
            }
            switch (wake) {
                case LEASE -> lease = pool.acquire(Tenant.DEFAULT, tokens);
                case HARD_PIN -> pool.pinHard(key(pool, tokens));
                case SOFT_PIN_BY_TIME, REMOVAL -> pool.pinSoft(key(pool, tokens), Duration.ofHours(1));
                case ABANDONED_FILL -> {}
            }
            Future<Integer> put = putLater(pool, Tenant.DEFAULT, prompt());
            awaitWaiting(pool, 1);
            assertThat(put.isDone()).isFalse();
            switch (wake) {
                case LEASE -> lease.close();
                case HARD_PIN -> pool.unpin(key(pool, tokens));
                case SOFT_PIN_BY_TIME -> clock.addAndGet(Duration.ofHours(2).toNanos());
                case REMOVAL -> pool.remove(key(pool, tokens), RemovalCause.REMOVED);
                case ABANDONED_FILL -> {
                    filling.close();
                    lease.close();
                }
            }
            assertThat(put.get(60, TimeUnit.SECONDS)).isEqualTo(1);
            assertThat(pool.store().room.waiting()).isZero();
        }
    }

    @Test
    void extend_noRoomByTheDeadline_saysWhatWasMissing() {
        try (LocalKvPool pool = pool(2)) {
            int[] tokens = prompt();
            Pools.store(pool, A, tokens);
            try (PrefixLease held = pool.acquire(A, tokens)) {
                pool.limit(A, new TenantQuota(STRIDE, STRIDE));
                assertStop(pool, A, Deadline.ofMillis(30), WriterStop.QUOTA);
                int[] other = prompt();
                Pools.store(pool, Tenant.DEFAULT, other);
                try (PrefixLease more = pool.acquire(Tenant.DEFAULT, other)) {
                    assertStop(pool, Tenant.DEFAULT, Deadline.ofMillis(30), WriterStop.NO_MEMORY);
                    assertThat(more.blockCount() + held.blockCount()).isEqualTo(2);
                }
            }
            try (PrefixLease none = pool.acquire(Tenant.DEFAULT, tokens);
                    BlockWriter writer = pool.extend(Tenant.DEFAULT, none, tokens, Pools.soon())) {
                assertThat(writer.stop()).isEqualTo(WriterStop.NONE);
                writer.next();
                assertThat(writer.hasNext()).isFalse();
                assertThat(writer.stop()).isEqualTo(WriterStop.COMPLETE);
            }
        }
    }

    private void assertStop(LocalKvPool pool, Tenant tenant, Deadline deadline, WriterStop stop) {
        int[] tokens = prompt();
        try (PrefixLease hit = pool.acquire(tenant, tokens);
                BlockWriter waits = pool.extend(tenant, hit, tokens, deadline);
                BlockWriter doesNot = pool.extend(tenant, hit, tokens)) {
            assertThat(doesNot.hasNext()).isFalse();
            assertThat(doesNot.stop()).isEqualTo(stop);
            assertThat(waits.hasNext()).isFalse();
            assertThat(deadline.expired()).as("waited").isTrue();
            assertThat(waits.stop()).isEqualTo(stop);
        }
    }

    @Test
    void extend_severalWait_getRoomInTheOrderInWhichTheyCame() throws Exception {
        try (LocalKvPool pool = pool(4)) {
            List<PrefixLease> leases = new ArrayList<>();
            for (int i = 0; i < 4; i++) {
                int[] tokens = prompt();
                Pools.store(pool, Tenant.DEFAULT, tokens);
                leases.add(pool.acquire(Tenant.DEFAULT, tokens));
            }
            List<Integer> order = Collections.synchronizedList(new ArrayList<>());
            CountDownLatch over = new CountDownLatch(1);
            List<Future<?>> waiters = new ArrayList<>();
            for (int i = 0; i < 4; i++) {
                int number = i;
                int[] tokens = prompt();
                waiters.add(threads.submit(() -> {
                    try (PrefixLease hit = pool.acquire(Tenant.DEFAULT, tokens);
                            BlockWriter writer = pool.extend(Tenant.DEFAULT, hit, tokens, Pools.soon())) {
                        assertThat(writer.hasNext()).isTrue();
                        order.add(number);
                        over.await();
                        return null;
                    }
                }));
                awaitWaiting(pool, i + 1);
            }
            for (int i = 0; i < 4; i++) {
                leases.get(i).close();
                awaitWaiting(pool, 3 - i);
                int served = i + 1;
                await(() -> order.size() == served);
            }
            over.countDown();
            for (Future<?> waiter : waiters) {
                waiter.get(60, TimeUnit.SECONDS);
            }
            assertThat(order).containsExactly(0, 1, 2, 3);
        }
    }

    @Test
    void extend_firstWaitsForItsOwnQuota_doesNotKeepTheNextFromRoom() throws Exception {
        try (LocalKvPool pool = pool(2)) {
            int[] own = prompt();
            int[] other = prompt();
            Pools.store(pool, A, own);
            Pools.store(pool, Tenant.DEFAULT, other);
            pool.limit(A, new TenantQuota(STRIDE, STRIDE));
            PrefixLease ownLease = pool.acquire(A, own);
            PrefixLease otherLease = pool.acquire(Tenant.DEFAULT, other);
            Future<Integer> first = putLater(pool, A, prompt());
            awaitWaiting(pool, 1);
            Future<Integer> second = putLater(pool, Tenant.DEFAULT, prompt());
            awaitWaiting(pool, 2);
            otherLease.close();
            assertThat(second.get(60, TimeUnit.SECONDS)).isEqualTo(1);
            assertThat(first.isDone()).isFalse();
            ownLease.close();
            assertThat(first.get(60, TimeUnit.SECONDS)).isEqualTo(1);
        }
    }

    @Test
    void extend_noTimeLeftWhileAnotherWaits_getsFreeMemory() throws Exception {
        try (LocalKvPool pool = pool(4)) {
            int[] own = prompt();
            Pools.store(pool, A, own);
            pool.limit(A, new TenantQuota(STRIDE, STRIDE));
            try (PrefixLease ownLease = pool.acquire(A, own)) {
                Future<Integer> waits = putLater(pool, A, prompt());
                awaitWaiting(pool, 1);
                Deadline past = Deadline.ofMillis(1);
                await(past::expired);
                assertThat(put(pool, Tenant.DEFAULT, prompt(), past)).isEqualTo(1);
                Thread.currentThread().interrupt();
                assertThat(put(pool, Tenant.DEFAULT, prompt(), Pools.soon())).isEqualTo(1);
                assertThat(Thread.interrupted()).isTrue();
                assertThat(waits.isDone()).isFalse();
                ownLease.close();
                assertThat(waits.get(60, TimeUnit.SECONDS)).isEqualTo(1);
            }
        }
    }

    @Test
    void close_somebodyWaits_endsTheWait() throws Exception {
        LocalKvPool pool = pool(1);
        int[] tokens = prompt();
        Pools.store(pool, Tenant.DEFAULT, tokens);
        pool.pinHard(key(pool, tokens));
        int[] own = Pools.tokens(random, BLOCK_TOKENS);
        Future<IncomingBlock> waits = threads.submit(() ->
                pool.beginIncoming(key(pool, own), pool.root(Tenant.DEFAULT), 0, own, Tenant.DEFAULT, Pools.soon()));
        awaitWaiting(pool, 1);
        pool.close();
        assertThat(waits.get(20, TimeUnit.SECONDS)).isNull();
    }

    @Test
    void beginIncoming_fullPool_waitsToo() throws Exception {
        try (LocalKvPool pool = pool(1)) {
            int[] tokens = prompt();
            Pools.store(pool, Tenant.DEFAULT, tokens);
            PrefixLease lease = pool.acquire(Tenant.DEFAULT, tokens);
            int[] own = Pools.tokens(random, BLOCK_TOKENS);
            BlockKey root = pool.root(Tenant.DEFAULT);
            assertThat(pool.beginIncoming(key(pool, own), root, 0, own, Tenant.DEFAULT, Deadline.ofMillis(10)))
                    .isNull();
            Future<Boolean> arrived = threads.submit(() -> {
                try (IncomingBlock in =
                        pool.beginIncoming(key(pool, own), root, 0, own, Tenant.DEFAULT, Pools.soon())) {
                    return in != null;
                }
            });
            awaitWaiting(pool, 1);
            lease.close();
            assertThat(arrived.get(60, TimeUnit.SECONDS)).isTrue();
        }
    }

    @Test
    void extend_moreWritersThanBlocks_dropNothing() throws Exception {
        SplittableRandom seeds = Seeds.random("back-pressure");
        int puts = Seeds.count(200, 5_000);
        try (LocalKvPool pool = pool(2)) {
            pool.limit(A, new TenantQuota(STRIDE, STRIDE));
            ConcurrentLinkedQueue<String> failures = new ConcurrentLinkedQueue<>();
            List<Future<?>> all = new ArrayList<>();
            for (int i = 0; i < 6; i++) {
                SplittableRandom mine = seeds.split();
                Tenant tenant = i % 3 == 0 ? A : Tenant.DEFAULT;
                all.add(threads.submit(() -> {
                    for (int put = 0; put < puts && failures.isEmpty(); put++) {
                        int[] tokens = Pools.tokens(mine, BLOCK_TOKENS + 1);
                        if (put(pool, tenant, tokens, Pools.soon()) != 1) {
                            failures.add("dropped put " + put + " of " + tenant + ": " + pool.uses() + pool.stats());
                        }
                    }
                }));
            }
            for (Future<?> one : all) {
                one.get(100, TimeUnit.SECONDS);
            }
            assertThat(failures).isEmpty();
            assertThat(pool.stats().stored()).isEqualTo(6L * puts);
            assertThat(pool.stats().openLeases()).isZero();
        }
    }
}
