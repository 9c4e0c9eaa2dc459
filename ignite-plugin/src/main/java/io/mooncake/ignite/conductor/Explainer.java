// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.conductor;

import io.mooncake.base.Deadline;
import io.mooncake.base.MooncakeException;
import io.mooncake.ignite.Explanation;
import io.mooncake.ignite.Explanation.Gap;
import io.mooncake.ignite.Explanation.Match;
import io.mooncake.ignite.Explanation.Piece;
import io.mooncake.ignite.index.Holding;
import io.mooncake.ignite.index.OwnGraves;
import io.mooncake.ignite.internal.Member;
import io.mooncake.ignite.internal.NodeServices;
import io.mooncake.memory.BlockKey;
import io.mooncake.memory.KvIdentity;
import io.mooncake.memory.MissReason;
import io.mooncake.memory.Tenant;
import io.mooncake.memory.block.ChainKeys;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;

/** Says what this node would reuse for a prompt, from where, and why not more. Changes nothing; leases nothing. */
final class Explainer {
    /** A peer that was never used is asked for its way, once. */
    private static final long WAY_MILLIS = 200;

    private final NodeServices services;
    private final Matches matches;
    private final Map<String, OwnGraves> own = new HashMap<>();

    /** Remembers from now on why blocks of this node's pools go. */
    Explainer(NodeServices services, Matches matches) {
        this.services = services;
        this.matches = matches;
        services.localPools().forEach((name, pool) -> {
            OwnGraves graves = new OwnGraves();
            pool.addListener(graves);
            own.put(name, graves);
        });
    }

    /**
     * What {@code tenant} would reuse. Keys are made with its salt, so nothing of another tenant's can be in the answer, not even why a block went.
     *
     * @throws MooncakeException NOT_FOUND when no node has the pool, INVALID_ARGUMENT for a negative token or no token
     */
    Explanation explain(String pool, Tenant tenant, int[] tokens) {
        Map<UUID, Integer> byNode = matches.byNode(pool, tenant, tokens);
        int reusable = Math.max(0, matches.request(pool, tokens.length).reusableTokens());
        List<Match> found = found(byNode);
        List<Piece> pieces = pieces(pool, tenant, tokens, found, reusable);
        int covered = pieces.isEmpty() ? 0 : pieces.get(pieces.size() - 1).toToken();
        List<Gap> gaps = gaps(pool, tenant, tokens, covered, reusable);
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
    private List<Piece> pieces(String pool, Tenant tenant, int[] tokens, List<Match> found, int reusable) {
        List<Piece> pieces = new ArrayList<>();
        int memoryTokens = matches.memoryTokens(pool, tenant, tokens);
        int at = 0;
        for (Match match : found) {
            if (match.local()) {
                at = add(pieces, at, Math.min(memoryTokens, reusable), match.nodeId(), "DRAM", "LOCAL");
                at = add(pieces, at, Math.min(match.tokens(), reusable), match.nodeId(), "SSD", "LOCAL");
            }
        }
        if (!found.isEmpty() && Math.min(found.get(0).tokens(), reusable) > at) {
            Match longest = found.get(0);
            UUID node = longest.nodeId();
            add(pieces, at, Math.min(longest.tokens(), reusable), node, tier(pool, tenant, tokens, node), way(node));
        }
        return pieces;
    }

    /** Where another node has what it holds of the prompt. */
    private String tier(String pool, Tenant tenant, int[] tokens, UUID node) {
        for (Holding holding : services.index().holders(pool, tenant, tokens)) {
            if (holding.nodeId().equals(node)) {
                return holding.ssdTokens() == 0 ? "DRAM" : holding.ssdTokens() == holding.tokens() ? "SSD" : "MIXED";
            }
        }
        return "UNKNOWN";
    }

    /** What is missing from token {@code from} on, whole blocks of one reason together. */
    private List<Gap> gaps(String pool, Tenant tenant, int[] tokens, int from, int reusable) {
        if (from >= reusable) {
            return List.of();
        }
        KvIdentity identity = services.identityOf(pool).orElseThrow();
        int blockTokens = identity.blockTokens();
        int blocks = reusable / blockTokens;
        BlockKey[] keys =
                new ChainKeys().chain(ChainKeys.root(identity, tenant.salt()), tokens, 0, blockTokens, blocks);
        List<Gap> gaps = new ArrayList<>();
        int start = from;
        MissReason reason = MissReason.NOT_CACHED;
        for (int block = from / blockTokens; block < blocks; block++) {
            MissReason why = whyMissing(pool, keys[block]);
            int at = Math.max(from, block * blockTokens);
            if (why != reason && at > start) {
                gaps.add(new Gap(start, at, reason));
                start = at;
            }
            reason = why;
        }
        gaps.add(new Gap(start, reusable, reason));
        return gaps;
    }

    private MissReason whyMissing(String pool, BlockKey key) {
        OwnGraves graves = own.get(pool);
        return services.index()
                .whyGone(pool, key)
                .or(() -> graves == null ? Optional.empty() : graves.whyGone(key))
                .orElse(MissReason.NOT_CACHED);
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
