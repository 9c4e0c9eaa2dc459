// SPDX-License-Identifier: Apache-2.0
package io.mooncake.conductor;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.function.LongSupplier;

/**
 * Counts what runs on one node and learns how fast the node is from the requests it completed.
 *
 * <p>Prefill speed comes from jobs that say how long their prefill took; of the others, those that computed at least {@link
 * #MIN_SAMPLE_TOKENS} tokens give a lower bound. What a request costs besides prefill is divided by the requests that ran at the same
 * time, because they shared the node. Failed requests teach nothing.
 *
 * <p>Threading: safe for all threads.
 */
public final class NodeMeter {
    /** Fewer computed tokens than these say nothing about the speed of prefill. */
    public static final int MIN_SAMPLE_TOKENS = 64;

    private final UUID node;
    private final LongSupplier nanoClock;
    // Below: guarded by this.
    private final Map<UUID, Tally> tallies = new HashMap<>();
    private final RunningAverage prefill;
    private final RunningAverage fetch;
    private final RunningAverage hold;
    private int running;
    private long changes;
    private long reports;

    /** @param nanoClock monotonic nanoseconds */
    public NodeMeter(UUID node, ConductorSettings settings, LongSupplier nanoClock) {
        this.node = node;
        this.nanoClock = nanoClock;
        this.prefill = new RunningAverage(settings.smoothing());
        this.fetch = new RunningAverage(settings.smoothing());
        this.hold = new RunningAverage(settings.smoothing());
    }

    /**
     * A request begins.
     *
     * @param router who sent it
     * @param computeTokens prompt tokens it is expected to compute
     * @return to be closed when it ends, however it ends
     */
    public synchronized Run started(UUID router, int computeTokens) {
        Tally tally = tallies.computeIfAbsent(router, id -> new Tally());
        tally.inFlight++;
        tally.queuedTokens += computeTokens;
        running++;
        changes++;
        return new Run(router, tally, computeTokens, nanoClock.getAsLong());
    }

    /** {@code bytes} arrived from peers in {@code nanos}. */
    public synchronized void fetched(long bytes, long nanos) {
        if (bytes > 0 && nanos > 0) {
            fetch.add(bytes * 1e9 / nanos);
            changes++;
        }
    }

    /** Rises with everything that a report would show. */
    public synchronized long changes() {
        return changes;
    }

    /** Requests running. */
    public synchronized int running() {
        return running;
    }

    /** Measured prefill speed, or 0. */
    public synchronized double prefillTokensPerSecond() {
        return prefill.value();
    }

    /** The next report. */
    public synchronized LoadReport report() {
        List<LoadReport.Share> shares = new ArrayList<>(tallies.size());
        tallies.forEach(
                (router, tally) -> shares.add(new LoadReport.Share(router, tally.inFlight, tally.queuedTokens)));
        return new LoadReport(node, ++reports, prefill.value(), fetch.value(), (long) hold.value(), shares);
    }

    /** What one router has running here; guarded by the meter. */
    private static final class Tally {
        private int inFlight;
        private long queuedTokens;
    }

    /** One request while it runs. */
    public final class Run implements AutoCloseable {
        private final UUID router;
        private final Tally tally;
        private final int computeTokens;
        private final long startedNanos;
        // Below: guarded by the meter.
        private long queued;
        private long prefillNanos;
        private boolean completed;
        private boolean closed;

        private Run(UUID router, Tally tally, int computeTokens, long startedNanos) {
            this.router = router;
            this.tally = tally;
            this.computeTokens = computeTokens;
            this.startedNanos = startedNanos;
            this.queued = computeTokens;
        }

        /** The request's prefill is done: {@code tokens} were computed in {@code nanos}. What it had queued no longer waits. */
        public void prefilled(int tokens, long nanos) {
            synchronized (NodeMeter.this) {
                if (closed || nanos <= 0) {
                    return;
                }
                if (tokens >= MIN_SAMPLE_TOKENS) {
                    prefill.add(tokens * 1e9 / nanos);
                }
                prefillNanos += nanos;
                tally.queuedTokens -= queued;
                queued = 0;
                changes++;
            }
        }

        /** The request succeeded, so that its times count. To be followed by close. */
        public void completed() {
            synchronized (NodeMeter.this) {
                completed = true;
            }
        }

        /** The request ended. Idempotent. */
        @Override
        public void close() {
            synchronized (NodeMeter.this) {
                if (closed) {
                    return;
                }
                closed = true;
                if (completed) {
                    learn(nanoClock.getAsLong() - startedNanos);
                }
                running--;
                tally.queuedTokens -= queued;
                if (--tally.inFlight == 0) {
                    tallies.remove(router, tally);
                }
                changes++;
            }
        }

        private void learn(long elapsedNanos) {
            if (elapsedNanos <= 0) {
                return;
            }
            if (prefillNanos > 0) {
                hold.add((double) Math.max(0, elapsedNanos - prefillNanos) / running);
            } else if (computeTokens >= MIN_SAMPLE_TOKENS) {
                prefill.add(computeTokens * 1e9 / elapsedNanos);
            } else {
                hold.add((double) elapsedNanos / running);
            }
        }
    }
}
