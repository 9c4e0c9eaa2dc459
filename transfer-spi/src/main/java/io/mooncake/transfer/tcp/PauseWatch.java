// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.tcp;

/**
 * Tells a pause of this process from the silence of its peers: who did not run heard nobody. A thread ticks; a tick that comes late is the
 * end of a pause, whatever that was: a stop, a collection of garbage, a machine that is too busy.
 *
 * <p>One thread ticks or begins at a time; the question is anybody's.
 */
final class PauseWatch {
    /** A tick this long after the one before is late; ticks come four times as often. */
    static final long LATE_NANOS = 200_000_000L;

    private volatile long tickedNanos;
    private volatile long runningSinceNanos;

    PauseWatch(long nowNanos) {
        begin(nowNanos);
    }

    /** Ticks come from now on. */
    void begin(long nowNanos) {
        tickedNanos = nowNanos;
        runningSinceNanos = nowNanos;
    }

    void tick(long nowNanos) {
        if (nowNanos - tickedNanos > LATE_NANOS) {
            runningSinceNanos = nowNanos;
        }
        tickedNanos = nowNanos;
    }

    /** Whether there was no pause since then. */
    boolean ranSince(long fromNanos, long nowNanos) {
        return runningSinceNanos - fromNanos <= 0 && nowNanos - tickedNanos <= LATE_NANOS;
    }
}
