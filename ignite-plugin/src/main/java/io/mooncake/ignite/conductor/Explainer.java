// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.conductor;

import io.mooncake.base.Deadline;
import io.mooncake.base.MooncakeException;
import io.mooncake.ignite.Explanation;
import io.mooncake.ignite.Explanation.Gap;
import io.mooncake.ignite.Explanation.Match;
import io.mooncake.ignite.Explanation.Piece;
import io.mooncake.ignite.internal.Member;
import io.mooncake.ignite.internal.NodeServices;
import io.mooncake.memory.MissReason;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.UUID;

/** Says what this node would reuse for a prompt, from where, and why not more. Changes nothing; leases nothing. */
final class Explainer {
    /** A peer that was never used is asked for its way, once. */
    private static final long WAY_MILLIS = 200;

    private final NodeServices services;
    private final Matches matches;

    Explainer(NodeServices services, Matches matches) {
        this.services = services;
        this.matches = matches;
    }

    /** @throws MooncakeException NOT_FOUND when no node has the pool, INVALID_ARGUMENT for a negative token or no token */
    Explanation explain(String pool, int[] tokens) {
        Map<UUID, Integer> byNode = matches.byNode(pool, tokens);
        int reusable = Math.max(0, matches.request(pool, tokens.length).reusableTokens());
        List<Match> found = found(byNode);
        List<Piece> pieces = pieces(found, matches.memoryTokens(pool, tokens), reusable);
        int covered = pieces.isEmpty() ? 0 : pieces.get(pieces.size() - 1).toToken();
        List<Gap> gaps = covered >= reusable ? List.of() : List.of(new Gap(covered, reusable, MissReason.NOT_CACHED));
        return new Explanation(
                tokens.length,
                reusable,
                found,
                pieces,
                gaps,
                gaps.isEmpty() ? MissReason.NONE : gaps.get(0).reason());
    }

    private List<Match> found(Map<UUID, Integer> byNode) {
        UUID local = services.adapter().localNodeId();
        List<Match> found = new ArrayList<>();
        byNode.forEach((node, matched) -> {
            if (matched > 0) {
                found.add(new Match(node, matched, node.equals(local)));
            }
        });
        found.sort(Comparator.comparingInt(Match::tokens)
                .reversed()
                .thenComparing(match -> !match.local())
                .thenComparing(Match::nodeId));
        return found;
    }

    /** As an acquire takes them: this node's memory, then its SSD, then the node that has most. */
    private List<Piece> pieces(List<Match> found, int memoryTokens, int reusable) {
        List<Piece> pieces = new ArrayList<>();
        int at = 0;
        for (Match match : found) {
            if (match.local()) {
                at = add(pieces, at, Math.min(memoryTokens, reusable), match.nodeId(), "DRAM", "LOCAL");
                at = add(pieces, at, Math.min(match.tokens(), reusable), match.nodeId(), "SSD", "LOCAL");
            }
        }
        if (!found.isEmpty() && Math.min(found.get(0).tokens(), reusable) > at) {
            Match longest = found.get(0);
            add(pieces, at, Math.min(longest.tokens(), reusable), longest.nodeId(), "ANY", way(longest.nodeId()));
        }
        return pieces;
    }

    private static int add(List<Piece> pieces, int from, int to, UUID node, String tier, String way) {
        if (to > from) {
            pieces.add(new Piece(from, to, node, tier, way));
        }
        return Math.max(from, to);
    }

    private String way(UUID node) {
        try {
            return services.members()
                    .find(node)
                    .map(Member::address)
                    .map(address -> services.engine()
                            .path(address, Deadline.ofMillis(WAY_MILLIS))
                            .reads()
                            .name())
                    .orElse("UNKNOWN");
        } catch (MooncakeException e) {
            return "UNKNOWN";
        }
    }
}
