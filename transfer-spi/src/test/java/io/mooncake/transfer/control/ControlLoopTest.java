// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.control;

import static org.assertj.core.api.Assertions.assertThat;

import java.lang.management.ManagementFactory;
import java.lang.reflect.Field;
import java.nio.ByteBuffer;
import java.nio.channels.Pipe;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

final class ControlLoopTest {
    /** A poster was interrupted by the scheduler between its claim and its byte, and the loop had seen the claim by then. */
    @Test
    void wakeup_byteArrivesAfterItsTaskRan_loopSleepsAgain() throws Exception {
        try (ControlLoop loop = new ControlLoop("test-loop", 16)) {
            AtomicLong thread = new AtomicLong();
            CountDownLatch known = new CountDownLatch(1);
            loop.post(() -> {
                thread.set(Thread.currentThread().getId());
                known.countDown();
            });
            assertThat(known.await(10, TimeUnit.SECONDS)).isTrue();
            Field pipe = ControlLoop.class.getDeclaredField("wakeup");
            pipe.setAccessible(true);
            ((Pipe) pipe.get(loop)).sink().write(ByteBuffer.allocate(1));

            long before = cpuNanos(thread.get());
            Thread.sleep(500);

            assertThat(cpuNanos(thread.get()) - before).isLessThan(TimeUnit.MILLISECONDS.toNanos(15));
        }
    }

    @Test
    void run_turnsThatThrow_areCountedAndOthersGoOn() throws Exception {
        try (ControlLoop loop = new ControlLoop("test-loop", 16)) {
            CountDownLatch done = new CountDownLatch(1);
            ControlLoop.Actor bad = now -> {
                throw new IllegalStateException("a turn that fails");
            };
            AtomicLong turns = new AtomicLong();
            loop.post(() -> {
                loop.add(bad);
                loop.add(now -> {
                    turns.incrementAndGet();
                    return 5;
                });
            });
            loop.post(() -> {
                throw new OutOfMemoryError("of the test");
            });
            long until = System.nanoTime() + TimeUnit.SECONDS.toNanos(60);
            while (turns.get() == 0 || loop.failures() < 2) {
                assertThat(System.nanoTime() - until).isNegative();
                Thread.sleep(5);
            }
            assertThat(loop.post(done::countDown)).isTrue();
            assertThat(done.await(60, TimeUnit.SECONDS)).isTrue();
        }
    }

    private static long cpuNanos(long thread) {
        return ManagementFactory.getThreadMXBean().getThreadCpuTime(thread);
    }
}
