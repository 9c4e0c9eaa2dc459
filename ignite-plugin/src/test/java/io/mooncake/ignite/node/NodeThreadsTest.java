// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.node;

import static org.assertj.core.api.Assertions.assertThat;

import io.mooncake.ignite.TestGrid;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

class NodeThreadsTest {
    @Test
    void close_workIsQueued_isDoneBecauseSomebodyMayWaitForIt() {
        NodeThreads threads = new NodeThreads("test");
        AtomicInteger done = new AtomicInteger();
        for (int i = 0; i < 100; i++) {
            threads.workers().execute(() -> {
                try {
                    Thread.sleep(5);
                } catch (InterruptedException e) {
                    Thread.currentThread().interrupt();
                }
                done.incrementAndGet();
            });
        }

        threads.close();

        TestGrid.await("all of it is done", () -> done.get() == 100);
    }

    /** What waits behind work that never ends, too. */
    @Test
    void close_workIsQueuedBehindStuckWork_isDone() throws InterruptedException {
        NodeThreads threads = new NodeThreads("test");
        CountDownLatch running = new CountDownLatch(8);
        for (int i = 0; i < 8; i++) {
            threads.workers().execute(() -> stick(running));
        }
        assertThat(running.await(60, TimeUnit.SECONDS)).isTrue();
        CountDownLatch done = new CountDownLatch(1);
        threads.workers().execute(() -> {
            throw new IllegalStateException("on purpose");
        });
        threads.workers().execute(done::countDown);

        threads.close();

        assertThat(done.await(60, TimeUnit.SECONDS)).isTrue();
    }

    private static void stick(CountDownLatch running) {
        running.countDown();
        try {
            Thread.sleep(300_000);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    @Test
    void close_workIsStuck_isInterruptedInTime() throws InterruptedException {
        NodeThreads threads = new NodeThreads("test");
        CountDownLatch interrupted = new CountDownLatch(1);
        CountDownLatch running = new CountDownLatch(1);
        threads.workers().execute(() -> {
            running.countDown();
            try {
                Thread.sleep(300_000);
            } catch (InterruptedException e) {
                interrupted.countDown();
            }
        });
        assertThat(running.await(60, TimeUnit.SECONDS)).isTrue();

        long before = System.nanoTime();
        threads.close();

        assertThat(interrupted.await(60, TimeUnit.SECONDS)).isTrue();
        assertThat(System.nanoTime() - before).isLessThan(TimeUnit.SECONDS.toNanos(60));
    }
}
