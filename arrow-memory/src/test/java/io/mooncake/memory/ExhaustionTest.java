// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.mooncake.base.Deadline;
import io.mooncake.base.MooncakeException;
import io.mooncake.base.MooncakeException.Code;
import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.CyclicBarrier;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * T21: 64 threads want memory that is not there. Each is told within 50 ms, or at its deadline. On a busy machine 50 ms take longer, so the
 * same threads sleep for 50 ms in turns with their calls, and what a call may take is what that sleep takes then and there.
 */
@Timeout(120)
class ExhaustionTest {
    private static final int THREADS = 64;
    private static final int ROUNDS = 5;
    private static final long LIMIT_MILLIS = 50;
    private static final long MIB = 1 << 20;

    /** One call of a thread; throws when the answer is not the one that was expected. */
    private interface Call {
        void run(int thread) throws Exception;
    }

    /** What all calls took, sorted, and all sleeps; nanoseconds. */
    private record Times(long[] calls, long[] sleeps, long cpuNanos) {
        private static long quarter(long[] sorted, int quarters) {
            return sorted[sorted.length * quarters / 4];
        }

        /** Told at once or at the deadline: not later than a sleep of as long ends. What one call takes, others of the machine decide. */
        void assertInTime(String what) {
            long longest = calls[calls.length - 1];
            System.out.printf(
                    "%s: median %.1f, third quarter %.1f, most %.1f ms; sleeps of %d ms: %.1f, %.1f ms; %.1f ms of processor%n",
                    what,
                    quarter(calls, 2) / 1e6,
                    quarter(calls, 3) / 1e6,
                    longest / 1e6,
                    LIMIT_MILLIS,
                    quarter(sleeps, 2) / 1e6,
                    quarter(sleeps, 3) / 1e6,
                    cpuNanos / 1e6);
            assertThat(quarter(calls, 2)).as("median of %s", what).isLessThan(2 * quarter(sleeps, 2) + 100_000_000);
            assertThat(quarter(calls, 3))
                    .as("third quarter of %s", what)
                    .isLessThan(2 * quarter(sleeps, 3) + 200_000_000);
            assertThat(longest).as("nobody hangs: %s", what).isLessThan(20_000_000_000L);
        }
    }

    private static Times measure(Call call) throws Exception {
        List<Long> calls = Collections.synchronizedList(new ArrayList<>());
        List<Long> sleeps = Collections.synchronizedList(new ArrayList<>());
        List<Long> cpu = Collections.synchronizedList(new ArrayList<>());
        List<Throwable> failures = Collections.synchronizedList(new ArrayList<>());
        CyclicBarrier start = new CyclicBarrier(THREADS);
        List<Thread> threads = new ArrayList<>();
        for (int t = 0; t < THREADS; t++) {
            int number = t;
            Thread thread = new Thread(() -> {
                try {
                    for (int round = 0; round < ROUNDS; round++) {
                        start.await();
                        long begin = System.nanoTime();
                        Thread.sleep(LIMIT_MILLIS);
                        sleeps.add(System.nanoTime() - begin);
                        start.await();
                        long before = cpuNanos();
                        begin = System.nanoTime();
                        call.run(number);
                        calls.add(System.nanoTime() - begin);
                        cpu.add(cpuNanos() - before);
                    }
                } catch (Throwable e) {
                    failures.add(e);
                    start.reset();
                }
            });
            thread.start();
            threads.add(thread);
        }
        for (Thread thread : threads) {
            thread.join();
        }
        assertThat(failures).isEmpty();
        assertThat(calls).hasSize(THREADS * ROUNDS);
        return new Times(
                calls.stream().mapToLong(Long::longValue).sorted().toArray(),
                sleeps.stream().mapToLong(Long::longValue).sorted().toArray(),
                cpu.stream().mapToLong(Long::longValue).sum());
    }

    private static long cpuNanos() {
        return ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime();
    }

    private static void assertExhausted(Call call, int thread) {
        assertThatThrownBy(() -> call.run(thread)).isInstanceOfSatisfying(MooncakeException.class, e -> {
            assertThat(e.code()).isEqualTo(Code.EXHAUSTED);
            assertThat(e.retryable()).isTrue();
        });
    }

    @Test
    void allocate_poolExhausted_isTypedWithinFiftyMillisecondsAndAllIsUsableAfterwards() throws Exception {
        int size = 64 << 10;
        try (MemoryPool pool = MemoryPool.create(0, 8 * MIB, null, 0)) {
            List<PoolBuffer> all = Collections.synchronizedList(new ArrayList<>());
            measure(thread -> {
                try {
                    while (true) {
                        all.add(pool.allocate(size, MemoryTier.DRAM));
                    }
                } catch (MooncakeException e) {
                    assertThat(e.code()).isEqualTo(Code.EXHAUSTED);
                }
            });
            assertThat(all).hasSize(128);
            measure(thread -> assertExhausted(any -> pool.allocate(size, MemoryTier.DRAM), thread))
                    .assertInTime("without a deadline");
            // Sealed buffers that nobody holds are moved to make room, but there is none.
            all.forEach(PoolBuffer::seal);
            measure(thread -> assertExhausted(any -> pool.allocate(size, MemoryTier.DRAM), thread))
                    .assertInTime("without a deadline, where buffers can be moved");
            Times waiting = measure(thread -> assertExhausted(
                    any -> pool.allocate(size, MemoryTier.DRAM, Deadline.ofMillis(LIMIT_MILLIS)), thread));
            waiting.assertInTime("with a deadline");
            assertThat(waiting.calls()[0]).as("waits for it").isGreaterThanOrEqualTo(LIMIT_MILLIS * 1_000_000 * 9 / 10);
            assertThat(waiting.cpuNanos())
                    .as("no busy waiting")
                    .isLessThan(THREADS * ROUNDS * LIMIT_MILLIS * 1_000_000 / 4);
            Thread later = new Thread(() -> all.remove(0).close());
            later.start();
            pool.allocate(size, MemoryTier.DRAM, Deadline.ofMillis(10_000)).close();
            later.join();
            all.forEach(PoolBuffer::close);
            pool.allocate(8 * MIB, MemoryTier.DRAM).close();
        }
    }

    @Test
    void allocate_anotherThreadTakesLongToMakeRoom_isTypedWithinFiftyMilliseconds() throws Exception {
        try (MemoryPool pool = MemoryPool.create(0, MIB, null, 0);
                PoolBuffer first = pool.allocate(MIB / 2, MemoryTier.DRAM);
                PoolBuffer second = pool.allocate(MIB / 2, MemoryTier.DRAM)) {
            CountDownLatch held = new CountDownLatch(1);
            CountDownLatch done = new CountDownLatch(1);
            Thread other = new Thread(() -> {
                pool.evacuation.lock.lock();
                try {
                    held.countDown();
                    done.await();
                } catch (InterruptedException e) {
                    Thread.currentThread().interrupt();
                } finally {
                    pool.evacuation.lock.unlock();
                }
            });
            other.start();
            held.await();
            try {
                measure(thread -> assertExhausted(any -> pool.allocate(4096, MemoryTier.DRAM), thread))
                        .assertInTime("while another makes room");
            } finally {
                done.countDown();
                other.join();
            }
            assertThat(first.size() + second.size()).isEqualTo(MIB);
        }
    }

    @Test
    void extendAndBeginIncoming_allLeavesLeased_areToldAtOnceAndAllIsUsableAfterwards() throws Exception {
        SplittableRandom random = Seeds.random("all leaves leased");
        int blocks = 64;
        try (LocalKvPool pool = Pools.pool(Pools.identity(ReuseMode.EXACT), blocks)) {
            List<int[]> prompts = new ArrayList<>();
            List<PrefixLease> leases = new ArrayList<>();
            for (int i = 0; i < blocks / 4; i++) {
                int[] prompt = Pools.tokens(random, 4 * Pools.BLOCK_TOKENS + 1);
                prompts.add(prompt);
                assertThat(Pools.store(pool, Tenant.DEFAULT, prompt)).isEqualTo(4);
                leases.add(pool.acquire(prompt, Pools.soon()));
            }
            List<int[]> wanted = new ArrayList<>();
            for (int i = 0; i < THREADS; i++) {
                wanted.add(Pools.tokens(random, 2 * Pools.BLOCK_TOKENS + 1));
            }
            long failuresBefore = pool.stats().allocationFailures();
            measure(thread -> refusedEverywhere(pool, wanted.get(thread))).assertInTime("pool of leased blocks");
            assertThat(pool.stats().allocationFailures() - failuresBefore).isEqualTo(2L * THREADS * ROUNDS);
            // Who holds something goes on to be served meanwhile.
            for (int[] prompt : prompts) {
                try (PrefixLease hit = pool.acquire(prompt, Pools.soon())) {
                    assertThat(hit.blockCount()).isEqualTo(4);
                }
            }
            leases.forEach(PrefixLease::close);
            CountDownLatch stored = new CountDownLatch(THREADS);
            List<Thread> threads = new ArrayList<>();
            for (int[] prompt : wanted.subList(0, blocks / 4)) {
                Thread thread = new Thread(() -> {
                    if (Pools.store(pool, Tenant.DEFAULT, prompt) == 2) {
                        stored.countDown();
                    }
                });
                thread.start();
                threads.add(thread);
            }
            for (Thread thread : threads) {
                thread.join();
            }
            assertThat(THREADS - stored.getCount()).isEqualTo(blocks / 4);
            assertThat(pool.stats().openLeases()).isZero();
        }
    }

    private static void refusedEverywhere(LocalKvPool pool, int[] prompt) {
        try (PrefixLease miss = pool.acquire(prompt, Deadline.ofMillis(LIMIT_MILLIS));
                BlockWriter writer = pool.extend(miss, prompt)) {
            assertThat(miss.missReason()).isEqualTo(MissReason.NOT_CACHED);
            assertThat(writer.hasNext()).isFalse();
            assertThat(writer.publish()).isZero();
        }
        BlockKey key = pool.chain(Tenant.DEFAULT, prompt).get(0);
        int[] tokens = Arrays.copyOf(prompt, Pools.BLOCK_TOKENS);
        assertThat(pool.beginIncoming(key, pool.root(Tenant.DEFAULT), 0, tokens, Tenant.DEFAULT))
                .isNull();
    }
}
