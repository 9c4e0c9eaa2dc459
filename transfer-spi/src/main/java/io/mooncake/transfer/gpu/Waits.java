// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.gpu;

import java.util.concurrent.TimeUnit;

/** Waiting for what other threads give back. */
final class Waits {
    private static final long LEAST_NANOS = 1_000_000;

    private Waits() {}

    /** Waits for a notification of {@code lock}, which the caller holds; false when the time is over or the thread is interrupted. */
    static boolean await(Object lock, long deadlineNanos) {
        long left = deadlineNanos - System.nanoTime();
        if (left <= 0) {
            return false;
        }
        try {
            TimeUnit.NANOSECONDS.timedWait(lock, Math.max(LEAST_NANOS, left));
            return true;
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return false;
        }
    }
}
