// SPDX-License-Identifier: Apache-2.0
package io.mooncake.conductor;

import io.mooncake.base.MooncakeException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * Decides where requests go and counts them while they run.
 *
 * <p>Threading: safe for all threads. Choice and count are one step under a lock (microseconds for hundreds of nodes), so that requests
 * that arrive together see each other.
 */
public final class Conductor {
    private final ClusterState state;
    private final ConductorSettings settings;

    public Conductor(ClusterState state, ConductorSettings settings) {
        this.state = state;
        this.settings = settings;
    }

    /**
     * Where the request would go now. Counts nothing.
     *
     * @param matchedTokens prefix tokens by node, an entry for every node that may run it
     * @param forced node that must run it, or null
     */
    public synchronized TtftEstimate preview(
            PrefillRequest request, Map<UUID, Integer> matchedTokens, @Nullable UUID forced) {
        List<Candidate> candidates = new ArrayList<>(matchedTokens.size());
        matchedTokens.forEach((node, tokens) -> candidates.add(new Candidate(state.load(node), tokens)));
        if (forced == null) {
            return PrefillChoice.choose(request, candidates, settings);
        }
        return PrefillChoice.estimate(request, candidates, settings).stream()
                .filter(estimate -> estimate.node().equals(forced))
                .findFirst()
                .orElseThrow(() -> MooncakeException.invalid("node", forced, "one of " + matchedTokens.keySet()));
    }

    /** As {@link #preview}, and the request counts from now until its ticket is closed. */
    public synchronized Dispatch dispatch(
            PrefillRequest request, Map<UUID, Integer> matchedTokens, @Nullable UUID forced) {
        TtftEstimate estimate = preview(request, matchedTokens, forced);
        return new Dispatch(estimate, state.dispatch(estimate.node(), estimate.computeTokens()));
    }

    /**
     * A decision and its place in the books.
     *
     * @param estimate where and why
     * @param ticket to be closed when the request ends
     */
    public record Dispatch(TtftEstimate estimate, ClusterState.Ticket ticket) {}
}
