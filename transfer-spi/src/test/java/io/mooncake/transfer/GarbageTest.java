// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

/** What the allocation tests count: all that threads of their own engines make, nothing that those of tests before do. */
final class GarbageTest {
    private static final long PATIENCE_NANOS = 20_000_000_000L;

    private volatile Object kept;
    /** Objects that the allocating thread has made. */
    private final AtomicLong made = new AtomicLong();

    @Test
    void least_ofAThreadFromBefore_isZero() throws Exception {
        AtomicBoolean over = new AtomicBoolean();
        Thread before = allocating(over);
        Garbage garbage = new Garbage();

        long least = garbage.least(deadline -> pause(garbage), 3, 2);

        over.set(true);
        before.join();
        assertThat(least).isZero();
    }

    @Test
    void least_ofAnOwnThread_isWhatItMade() throws Exception {
        AtomicBoolean over = new AtomicBoolean();
        Garbage garbage = new Garbage();
        Thread own = allocating(over);

        long least = garbage.least(deadline -> pause(garbage), 3, 2);

        over.set(true);
        own.join();
        assertThat(least).isPositive();
    }

    @Test
    void least_aThreadEndsMeanwhile_isNotNegative() throws Exception {
        AtomicBoolean over = new AtomicBoolean();
        Garbage garbage = new Garbage();
        Thread own = allocating(over);
        pause(garbage);

        long least = garbage.least(
                deadline -> {
                    over.set(true);
                    end(own);
                },
                3,
                1);

        assertThat(least).isNotNegative();
    }

    private Thread allocating(AtomicBoolean over) {
        Thread thread = new Thread(
                () -> {
                    while (!over.get()) {
                        kept = new byte[1000];
                        made.incrementAndGet();
                        Thread.onSpinWait();
                    }
                },
                "mooncake-transfer");
        thread.start();
        return thread;
    }

    /** Until the allocating thread has made another object: a busy machine may not let it run for long. Makes nothing itself. */
    private void pause(Garbage garbage) {
        garbage.statuses[0] = TransferStatus.COMPLETED;
        long before = made.get();
        long end = System.nanoTime() + PATIENCE_NANOS;
        try {
            while (made.get() == before) {
                if (System.nanoTime() - end > 0) {
                    throw new AssertionError("the allocating thread does not run");
                }
                Thread.sleep(1);
            }
        } catch (InterruptedException interrupted) {
            throw new AssertionError(interrupted);
        }
    }

    private static void end(Thread thread) {
        try {
            thread.join(20_000);
        } catch (InterruptedException interrupted) {
            throw new AssertionError(interrupted);
        }
        assertThat(thread.isAlive()).isFalse();
    }
}
