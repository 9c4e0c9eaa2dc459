// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.mooncake.base.Deadline;
import io.mooncake.memory.block.BlockSlab;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.IntSupplier;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Whose attempts are made by whom, and when. */
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
final class RoomQueueTest {
    private static final int SLOT = 7;

    private final RoomQueue queue = new RoomQueue();
    private final TenantAccount a = new TenantAccount("a");
    private final TenantAccount b = new TenantAccount("b");
    private final ExecutorService threads = Executors.newCachedThreadPool();

    @AfterEach
    void stop() throws InterruptedException {
        queue.close();
        threads.shutdownNow();
        assertThat(threads.awaitTermination(60, TimeUnit.SECONDS)).isTrue();
    }

    private Future<Integer> wait(TenantAccount account, int before, IntSupplier attempt, Runnable afterPass)
            throws InterruptedException {
        int count = queue.waiting() + 1;
        Future<Integer> waiter = threads.submit(() -> queue.await(account, before, attempt, afterPass, Pools.soon()));
        while (queue.waiting() < count) {
            Thread.sleep(1);
        }
        return waiter;
    }

    @Test
    void wake_ofAnotherTenant_makesNoAttemptForAQuota() throws Exception {
        AtomicInteger quota = new AtomicInteger();
        AtomicInteger memory = new AtomicInteger();
        AtomicInteger room = new AtomicInteger();
        long start = System.nanoTime();
        Future<Integer> first = wait(
                a,
                BlockStore.OVER_QUOTA,
                () -> {
                    quota.incrementAndGet();
                    return room.get() > 0 ? SLOT : BlockStore.OVER_QUOTA;
                },
                () -> {});
        Future<Integer> second =
                wait(b, BlockSlab.NONE, () -> memory.incrementAndGet() < 100 ? BlockSlab.NONE : SLOT, () -> {});
        while (!second.isDone()) {
            queue.wake(b);
            Thread.sleep(1);
        }
        // Its own first one, and one in each fifth of a second.
        long looks = (System.nanoTime() - start) / 200_000_000L;
        assertThat((long) quota.get()).isBetween(1L, 1 + looks);
        assertThat(queue.isWaitedFor(a)).isTrue();
        assertThat(queue.isWaitedFor(b)).isFalse();
        room.set(1);
        queue.wake(a);
        assertThat(first.get(60, TimeUnit.SECONDS)).isEqualTo(SLOT);
        assertThat(queue.isWaitedFor(a)).isFalse();
    }

    @Test
    void wake_whileTheFirstTellsListeners_servesTheNext() throws Exception {
        CountDownLatch told = new CountDownLatch(1);
        CountDownLatch telling = new CountDownLatch(1);
        AtomicInteger room = new AtomicInteger();
        IntSupplier attempt = () -> room.get() > 0 && room.getAndDecrement() > 0 ? SLOT : BlockSlab.NONE;
        Future<Integer> first = wait(a, BlockSlab.NONE, attempt, () -> {
            telling.countDown();
            await(told);
        });
        telling.await();
        Future<Integer> second = wait(b, BlockSlab.NONE, attempt, () -> {});
        // One for each: the first has his turn, though he is not there.
        room.set(2);
        queue.wake(null);
        assertThat(second.get(60, TimeUnit.SECONDS)).isEqualTo(SLOT);
        assertThat(first.isDone()).isFalse();
        told.countDown();
        assertThat(first.get(60, TimeUnit.SECONDS)).isEqualTo(SLOT);
    }

    private static void await(CountDownLatch latch) {
        try {
            assertThat(latch.await(60, TimeUnit.SECONDS)).isTrue();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    @Test
    void await_attemptThrows_endsThatWaitAlone() throws Exception {
        AtomicInteger room = new AtomicInteger();
        AtomicInteger broken = new AtomicInteger();
        Future<Integer> first = wait(a, BlockSlab.NONE, () -> room.get() > 0 ? SLOT : BlockSlab.NONE, () -> {});
        Future<Integer> second = wait(
                b,
                BlockSlab.NONE,
                () -> {
                    if (broken.get() > 0) {
                        throw new IllegalStateException("defect");
                    }
                    return BlockSlab.NONE;
                },
                () -> {});
        broken.set(1);
        queue.wake(null);
        assertThatThrownBy(() -> second.get(60, TimeUnit.SECONDS)).hasRootCauseMessage("defect");
        assertThat(first.isDone()).isFalse();
        room.set(1);
        queue.wake(null);
        assertThat(first.get(60, TimeUnit.SECONDS)).isEqualTo(SLOT);
        assertThat(queue.waiting()).isZero();
    }

    @Test
    void await_noTimeLeft_isTriedOnce() throws Exception {
        Deadline past = Deadline.ofMillis(1);
        while (!past.expired()) {
            Thread.sleep(1);
        }
        assertThat(queue.await(a, BlockSlab.NONE, () -> SLOT, () -> {}, past)).isEqualTo(SLOT);
    }
}
