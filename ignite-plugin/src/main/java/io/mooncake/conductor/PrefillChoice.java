// SPDX-License-Identifier: Apache-2.0
package io.mooncake.conductor;

import io.mooncake.base.MooncakeException;
import java.util.ArrayList;
import java.util.List;

/**
 * Chooses the node with the least expected time to first token: what is queued there, then fetch or recompute of what another node holds,
 * then computing the rest.
 *
 * <p>Fetching pays above break-even only: when a token's bytes arrive faster than a token is computed. Estimates that are nearly equal
 * rotate: the node chosen longest ago wins, so that equals share the work. A pure function: the same input gives the same choice.
 *
 * <p>Source: Mooncake (FAST '25), Algorithm 1, with fetch-or-recompute decided by measured speeds instead of a fixed ratio.
 */
public final class PrefillChoice {
    private static final double NANOS = 1e9;

    private PrefillChoice() {}

    /**
     * The best of {@code candidates}.
     *
     * @param candidates at least one
     */
    public static TtftEstimate choose(PrefillRequest request, List<Candidate> candidates, ConductorSettings settings) {
        List<TtftEstimate> estimates = estimate(request, candidates, settings);
        long best = Long.MAX_VALUE;
        for (TtftEstimate estimate : estimates) {
            best = Math.min(best, estimate.ttftNanos());
        }
        long limit = best + Math.max(settings.tieNanos(), (long) (best * settings.tieShare()));
        int chosen = -1;
        for (int i = 0; i < estimates.size(); i++) {
            if (estimates.get(i).ttftNanos() <= limit
                    && (chosen < 0 || chosenEarlier(candidates.get(i), candidates.get(chosen)))) {
                chosen = i;
            }
        }
        return estimates.get(chosen);
    }

    private static boolean chosenEarlier(Candidate left, Candidate right) {
        int byTurn = Long.compare(left.load().lastChosen(), right.load().lastChosen());
        return byTurn != 0
                ? byTurn < 0
                : left.load().node().compareTo(right.load().node()) < 0;
    }

    /** One estimate a candidate, in their order. */
    public static List<TtftEstimate> estimate(
            PrefillRequest request, List<Candidate> candidates, ConductorSettings settings) {
        if (candidates.isEmpty()) {
            throw MooncakeException.invalid("candidates", 0, "at least 1");
        }
        int best = 0;
        for (Candidate candidate : candidates) {
            best = Math.max(best, Math.min(candidate.matchedTokens(), request.reusableTokens()));
        }
        double usualSpeed = meanSpeed(candidates, settings);
        List<TtftEstimate> estimates = new ArrayList<>(candidates.size());
        for (Candidate candidate : candidates) {
            estimates.add(estimate(request, candidate, best, usualSpeed, settings));
        }
        return estimates;
    }

    private static TtftEstimate estimate(
            PrefillRequest request, Candidate candidate, int best, double usualSpeed, ConductorSettings settings) {
        NodeLoad load = candidate.load();
        double speed = load.prefillTokensPerSecond() > 0 ? load.prefillTokensPerSecond() : usualSpeed;
        double bandwidth = load.fetchBytesPerSecond() > 0 ? load.fetchBytesPerSecond() : settings.fetchBytesPerSecond();
        int local = Math.min(candidate.matchedTokens(), request.reusableTokens());
        int remote = best - local;
        double fetchNanos = settings.fetchLatencyNanos() + remote * request.bytesPerToken() / bandwidth * NANOS;
        boolean fetch = remote > 0 && fetchNanos < remote / speed * NANOS;
        int compute = request.promptTokens() - (fetch ? best : local);
        long queueNanos = (long) (load.queuedTokens() / speed * NANOS) + load.inFlight() * load.holdNanos();
        return new TtftEstimate(
                load.node(),
                local,
                best,
                fetch ? remote : 0,
                compute,
                load.inFlight(),
                queueNanos,
                fetch ? (long) fetchNanos : 0,
                (long) (compute / speed * NANOS));
    }

    /** A node that was never measured is taken to be like the others, so that it is neither shunned nor swamped. */
    private static double meanSpeed(List<Candidate> candidates, ConductorSettings settings) {
        double sum = 0;
        int measured = 0;
        for (Candidate candidate : candidates) {
            double speed = candidate.load().prefillTokensPerSecond();
            if (speed > 0) {
                sum += speed;
                measured++;
            }
        }
        return measured == 0 ? settings.prefillTokensPerSecond() : sum / measured;
    }
}
