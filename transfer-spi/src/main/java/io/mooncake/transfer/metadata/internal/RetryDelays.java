// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.metadata.internal;

import java.time.Duration;
import java.util.random.RandomGenerator;

/**
 * Pauses between attempts: doubled after each failure up to a bound, and of each a random half, so that nodes which lost a service together do not
 * return to it together. Not safe for several threads.
 */
public final class RetryDelays {
    private final long firstNanos;
    private final long longestNanos;
    private final RandomGenerator random;
    private int failures;

    public RetryDelays(Duration first, Duration longest, RandomGenerator random) {
        this.firstNanos = first.toNanos();
        this.longestNanos = longest.toNanos();
        this.random = random;
    }

    /** The pause after one more failure: between a half and the whole of the doubled delay. */
    public long nextNanos() {
        long whole = Math.min(longestNanos, firstNanos << Math.min(failures, 20));
        failures++;
        return whole / 2 + random.nextLong(whole / 2 + 1);
    }

    /** Failures in a row. */
    public int failures() {
        return failures;
    }

    /** An attempt succeeded. */
    public void succeeded() {
        failures = 0;
    }
}
