// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;

/** What the allocation tests count: all that threads of their own engines make, nothing that those of tests before do. */
final class GarbageTest {
    private volatile Object kept;

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
                    pause(garbage);
                },
                3,
                1);

        own.join();
        assertThat(least).isNotNegative();
    }

    private Thread allocating(AtomicBoolean over) {
        Thread thread = new Thread(
                () -> {
                    while (!over.get()) {
                        kept = new byte[1000];
                        Thread.onSpinWait();
                    }
                },
                "mooncake-transfer");
        thread.start();
        return thread;
    }

    private static void pause(Garbage garbage) {
        garbage.statuses[0] = TransferStatus.COMPLETED;
        try {
            Thread.sleep(5);
        } catch (InterruptedException interrupted) {
            throw new AssertionError(interrupted);
        }
    }
}
