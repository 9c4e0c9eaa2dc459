// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.tcp;

/**
 * Keeps calls away from a peer that takes everything and says nothing.
 *
 * <p>Closed, all calls pass. Calls in a row that ran into their deadline and heard no byte in the second half of their time open it, if
 * nothing at all has been heard meanwhile. Open, no call passes, and the peer is asked in the background for a new connection. When it
 * gives one, a single call is let through as a trial: the peer is heard and the breaker closes, or it opens again for longer.
 *
 * <p>A peer that is slow but moves bytes never opens it; one that refuses connections answers calls at once and needs none.
 */
final class Breaker {
    /** Silent calls in a row that open it. */
    static final int SILENT_CALLS = 5;

    /** Short deadlines alone open nothing: so long must the peer have been silent while it was asked. */
    static final long LEAST_SILENCE_NANOS = 200_000_000L;

    static final long FIRST_PAUSE_NANOS = 500_000_000L;
    static final long LONGEST_PAUSE_NANOS = 8_000_000_000L;

    /** What a call may do. */
    enum Pass {
        YES,
        TRIAL,
        NO
    }

    private enum State {
        CLOSED,
        OPEN,
        PROBING,
        HALF_OPEN,
        TRIED
    }

    /** Read without the lock by calls: nearly always CLOSED. */
    private volatile State state = State.CLOSED;

    // Guarded by this.
    private int silentCalls;

    /** When the first of them began. */
    private long silentSinceNanos;

    private long pauseNanos = FIRST_PAUSE_NANOS;
    private long probeAtNanos;

    Pass pass() {
        if (state == State.CLOSED) {
            return Pass.YES;
        }
        synchronized (this) {
            if (state == State.HALF_OPEN) {
                state = State.TRIED;
                return Pass.TRIAL;
            }
            return state == State.CLOSED ? Pass.YES : Pass.NO;
        }
    }

    /** A call ended otherwise than by its deadline, or it heard the peer. */
    void heard() {
        if (state == State.CLOSED && silentCalls == 0) {
            return;
        }
        synchronized (this) {
            silentCalls = 0;
            if (state == State.TRIED) {
                state = State.CLOSED;
                pauseNanos = FIRST_PAUSE_NANOS;
            }
        }
    }

    /**
     * A call ran into its deadline.
     *
     * @param startNanos when it began
     * @param heardNanos when the peer was last heard by anybody
     * @return whether it is open now
     */
    synchronized boolean timedOut(long startNanos, long heardNanos, long nowNanos) {
        if (heardNanos - (startNanos + (nowNanos - startNanos) / 2) > 0) {
            heard();
            return false;
        }
        if (silentCalls == 0) {
            silentSinceNanos = startNanos;
        }
        silentCalls++;
        boolean trialFailed = state == State.TRIED;
        boolean enough = silentCalls >= SILENT_CALLS
                && nowNanos - heardNanos >= LEAST_SILENCE_NANOS
                && nowNanos - silentSinceNanos >= LEAST_SILENCE_NANOS;
        if (trialFailed || (state == State.CLOSED && enough)) {
            state = State.OPEN;
            probeAtNanos = nowNanos + pauseNanos;
            pauseNanos = Math.min(2 * pauseNanos, LONGEST_PAUSE_NANOS);
        }
        return state != State.CLOSED;
    }

    /** A call ran into its deadline and says nothing about the peer: if it was a trial, the next one is. */
    void undecided() {
        if (state == State.TRIED) {
            synchronized (this) {
                state = state == State.TRIED ? State.HALF_OPEN : state;
            }
        }
    }

    boolean closed() {
        return state == State.CLOSED;
    }

    /** Whether it is time to ask the peer; then {@link #probed} must follow. */
    synchronized boolean startProbe(long nowNanos) {
        if (state == State.OPEN && probeAtNanos - nowNanos <= 0) {
            state = State.PROBING;
            return true;
        }
        return false;
    }

    synchronized void probed(boolean answered, long nowNanos) {
        if (answered) {
            state = State.HALF_OPEN;
        } else {
            state = State.OPEN;
            probeAtNanos = nowNanos + pauseNanos;
            pauseNanos = Math.min(2 * pauseNanos, LONGEST_PAUSE_NANOS);
        }
    }
}
