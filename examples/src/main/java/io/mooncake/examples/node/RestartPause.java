// SPDX-License-Identifier: Apache-2.0
package io.mooncake.examples.node;

import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;

/** How long a node that stopped by itself rests before it starts again: a second at first, twice as long each time up to a minute, a second again after ten minutes of life. */
final class RestartPause {
    private static final long FIRST_MILLIS = 1_000;
    private static final long LAST_MILLIS = 60_000;
    private static final long LIVED_NANOS = TimeUnit.MINUTES.toNanos(10);

    private final LongSupplier nanoClock;
    private long next = FIRST_MILLIS;
    private long startedNanos;
    private boolean lives;

    RestartPause(LongSupplier nanoClock) {
        this.nanoClock = nanoClock;
    }

    /** The node has started. */
    void started() {
        startedNanos = nanoClock.getAsLong();
        lives = true;
    }

    /** It has stopped, or did not start: how long to wait now. */
    long nextMillis() {
        if (lives && nanoClock.getAsLong() - startedNanos >= LIVED_NANOS) {
            next = FIRST_MILLIS;
        }
        lives = false;
        long now = next;
        next = Math.min(LAST_MILLIS, 2 * next);
        return now;
    }
}
