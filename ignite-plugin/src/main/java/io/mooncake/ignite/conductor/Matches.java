// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.conductor;

import io.mooncake.base.MooncakeException;
import io.mooncake.conductor.PrefillRequest;
import io.mooncake.ignite.Role;
import io.mooncake.ignite.config.IdentityText;
import io.mooncake.ignite.index.Holding;
import io.mooncake.ignite.internal.Member;
import io.mooncake.ignite.internal.NodeServices;
import io.mooncake.ignite.state.StateRow;
import io.mooncake.memory.BlockLayout;
import io.mooncake.memory.KvIdentity;
import io.mooncake.memory.LocalKvPool;
import io.mooncake.memory.LocalMatch;
import io.mooncake.memory.ReuseMode;
import io.mooncake.memory.SsdTier;
import io.mooncake.memory.Tenant;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;

/** What each node that may run a request holds of its prompt, from the index and this node's own pools. Never touches a cache of Ignite. */
final class Matches {
    private final NodeServices services;

    Matches(NodeServices services) {
        this.services = services;
    }

    /**
     * Matched tokens by node, an entry for every living node that has the pool.
     *
     * @throws MooncakeException NOT_FOUND when no node has it, INVALID_ARGUMENT for a token outside of the pool's vocabulary
     */
    Map<UUID, Integer> byNode(String pool, Tenant tenant, int[] tokens) {
        requireTokens(tokens, vocabulary(pool));
        List<Member> candidates = services.members().all().stream()
                .filter(member -> member.role() != Role.OBSERVER
                        && (tenant.equals(Tenant.DEFAULT) || member.readsTenants())
                        && services.members().poolNames().has(member, pool))
                .toList();
        // Who is to leave answers only where nobody stays. Asked once: it may change meanwhile.
        List<Member> staying =
                candidates.stream().filter(member -> !leaves(member)).toList();
        Map<UUID, Integer> matches = new HashMap<>();
        for (Member member : staying.isEmpty() ? candidates : staying) {
            matches.put(member.nodeId(), member.local() ? localTokens(pool, tenant, tokens) : 0);
        }
        if (matches.isEmpty()) {
            throw noSuchPool(pool);
        }
        for (Holding holding : services.index().holders(pool, tenant, tokens)) {
            matches.computeIfPresent(holding.nodeId(), (node, known) -> Math.max(known, holding.tokens()));
        }
        return matches;
    }

    private boolean leaves(Member member) {
        return services.placement().draining(member.nodeId());
    }

    /** What the conductor needs to know of a prompt of {@code promptTokens}. */
    PrefillRequest request(String pool, int promptTokens) {
        KvIdentity identity = services.identityOf(pool).orElseThrow(() -> noSuchPool(pool));
        int blockTokens = identity.blockTokens();
        int reusable =
                identity.mode() == ReuseMode.EXACT ? (promptTokens - 1) / blockTokens * blockTokens : promptTokens - 1;
        long bytesPerToken = Math.max(1, BlockLayout.of(identity).payloadBytes() / blockTokens);
        return new PrefillRequest(promptTokens, reusable, bytesPerToken);
    }

    /** Tokens of the prompt's beginning that lie in this node's memory. */
    int memoryTokens(String pool, Tenant tenant, int[] tokens) {
        LocalKvPool local = services.localPools().get(pool);
        if (local == null) {
            return 0;
        }
        try (LocalMatch match = local.probe(tenant, tokens)) {
            return match.matchedTokens();
        }
    }

    private int localTokens(String pool, Tenant tenant, int[] tokens) {
        LocalKvPool local = services.localPools().get(pool);
        if (local == null) {
            return 0;
        }
        try (LocalMatch match = local.probe(tenant, tokens)) {
            SsdTier tier = services.tiers().get(pool);
            return tier == null || match.complete()
                    ? match.matchedTokens()
                    : Math.max(
                            match.matchedTokens(),
                            tier.heldBlocks(match, match.chain())
                                    * local.identity().blockTokens());
        }
    }

    private MooncakeException noSuchPool(String pool) {
        return new MooncakeException(
                MooncakeException.Code.NOT_FOUND,
                "pool: " + pool + " (expected: a pool of a living node, one of "
                        + services.members().poolNames().all() + ")");
    }

    /** Token ids of {@code pool} are below it: by this node's own pool, else by what the cluster remembers; without either there is no limit. */
    private int vocabulary(String pool) {
        LocalKvPool local = services.localPools().get(pool);
        if (local != null) {
            return local.vocabulary();
        }
        return services.identityOf(pool)
                .flatMap(identity -> services.state()
                        .pools()
                        .find(StateRow.KnownPool.key(
                                services.members().poolNames().plain(pool), IdentityText.encode(identity))))
                .map(known -> known.row().vocabulary())
                .orElse(Integer.MAX_VALUE);
    }

    private static void requireTokens(int[] tokens, int vocabulary) {
        for (int i = 0; i < tokens.length; i++) {
            if (tokens[i] < 0 || tokens[i] >= vocabulary) {
                String expected = vocabulary == Integer.MAX_VALUE ? "0 or more" : "0.." + (vocabulary - 1);
                throw MooncakeException.invalid("tokens[" + i + "]", tokens[i], expected);
            }
        }
        if (tokens.length == 0) {
            throw MooncakeException.invalid("tokens", "none", "at least one");
        }
    }
}
