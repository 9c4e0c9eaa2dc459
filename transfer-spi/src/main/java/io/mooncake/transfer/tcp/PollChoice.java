// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.tcp;

/**
 * Whether to ask for bytes for a moment before sleeping, learned from how long waits have lasted.
 *
 * <p>Both ways are tried: a period begins with a few waits of the way that is not in use, and at its end the way with the shorter waits
 * is taken. Some waits in a row that asking did not shorten end it at once, and the next trial comes later each time.
 *
 * <p>Threading: of one thread.
 */
final class PollChoice {
    /** Longest time of asking. */
    static final long POLL_NANOS = 50_000;

    /** Longer waits are no part of the means, for nobody had anything to send; but asking did not shorten them. */
    static final long IDLE_NANOS = 1_000_000;

    /** Waits of a period. */
    static final int PERIOD = 1024;

    static final int LONGEST_PERIOD = 1 << 16;
    /** The first period is short: nothing is known yet. */
    static final int FIRST_PERIOD = 64;

    /** Waits, at the beginning of a period, in which the other way is tried. */
    static final int TRIAL = 16;

    /** So many waits in a row that asking did not shorten are enough. */
    static final int MISSES = 4;

    /** The other way must be better by this factor. */
    private static final double MARGIN = 0.9;

    private boolean asking = true;
    private int period = FIRST_PERIOD;
    private int waits;
    private long trialNanos;
    private long usualNanos;
    private int misses;

    /** Whether the next wait begins with asking. */
    boolean ask() {
        return asking != waits < TRIAL;
    }

    /** How long the wait that {@link #ask} was asked about has lasted. */
    void waited(long nanos) {
        misses = !ask() ? misses : nanos > POLL_NANOS ? misses + 1 : 0;
        if (nanos < IDLE_NANOS) {
            if (waits < TRIAL) {
                trialNanos += nanos;
            } else {
                usualNanos += nanos;
            }
            waits++;
        } else if (misses < MISSES) {
            return;
        }
        if (misses == MISSES) {
            asking = false;
            begin(TRIAL, Math.min(LONGEST_PERIOD, period * 4));
        } else if (waits == period) {
            double usual = (double) usualNanos / (period - TRIAL);
            boolean change = (double) trialNanos / TRIAL < MARGIN * usual;
            asking = change != asking;
            begin(0, asking ? PERIOD : period);
        }
    }

    /** @param done waits of the trial that need no more be made */
    private void begin(int done, int length) {
        waits = done;
        trialNanos = done * IDLE_NANOS;
        usualNanos = 0;
        misses = 0;
        period = Math.max(PERIOD, length);
    }
}
