// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.query;

import io.mooncake.base.MooncakeException;
import io.mooncake.client.MooncakeService;
import io.mooncake.ignite.Explanation;
import io.mooncake.ignite.Mooncake;
import io.mooncake.ignite.NodeStatistics;
import io.mooncake.ignite.Route;
import io.mooncake.ignite.adapter.IgniteAdapter;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;
import org.apache.ignite.Ignite;
import org.apache.ignite.resources.IgniteInstanceResource;
import org.apache.ignite.services.Service;
import org.jspecify.annotations.Nullable;

/**
 * The service on each node that holds a pool. It has no state, so that its serialised form is the same on every node and Ignite takes
 * the configurations of all of them for one.
 */
public final class NodeService implements Service, MooncakeService {
    private static final long serialVersionUID = 1L;

    @IgniteInstanceResource
    private transient @Nullable Ignite ignite;

    @Override
    public Map<String, Object> explain(String pool, int[] tokens) {
        Explanation explanation = mooncake().explain(pool, tokens);
        Map<String, Integer> matches = new LinkedHashMap<>();
        explanation.matches().forEach(match -> matches.put(match.nodeId().toString(), match.tokens()));
        Map<String, Object> answer = new LinkedHashMap<>();
        answer.put("promptTokens", explanation.promptTokens());
        answer.put("reusableTokens", explanation.reusableTokens());
        answer.put("missReason", explanation.missReason().name());
        answer.put("matches", matches);
        answer.put(
                "pieces",
                explanation.pieces().stream().map(NodeService::piece).collect(Collectors.toCollection(ArrayList::new)));
        answer.put(
                "gaps",
                explanation.gaps().stream().map(NodeService::gap).collect(Collectors.toCollection(ArrayList::new)));
        return answer;
    }

    private static Map<String, Object> piece(Explanation.Piece piece) {
        Map<String, Object> answer = new LinkedHashMap<>();
        answer.put("fromToken", piece.fromToken());
        answer.put("toToken", piece.toToken());
        answer.put("nodeId", piece.nodeId().toString());
        answer.put("tier", piece.tier());
        answer.put("way", piece.way());
        return answer;
    }

    private static Map<String, Object> gap(Explanation.Gap gap) {
        Map<String, Object> answer = new LinkedHashMap<>();
        answer.put("fromToken", gap.fromToken());
        answer.put("toToken", gap.toToken());
        answer.put("reason", gap.reason().name());
        return answer;
    }

    @Override
    public String route(String pool, int[] tokens) {
        return mooncake().decide(Route.of(pool, tokens)).nodeId().toString();
    }

    @Override
    public Map<String, Object> statistics() {
        NodeStatistics figures = mooncake().statistics();
        Map<String, Object> answer = new LinkedHashMap<>();
        answer.put("nodeId", figures.nodeId().toString());
        answer.put("blocks", figures.blocks());
        answer.put("capacityBlocks", figures.capacityBlocks());
        answer.put("localHitTokens", figures.localHitTokens());
        answer.put("remoteHitTokens", figures.remoteHitTokens());
        answer.put("missedTokens", figures.missedTokens());
        answer.put("misses", new TreeMap<>(figures.misses()));
        answer.put("bytesFetched", figures.bytesFetched());
        answer.put("bytesServed", figures.bytesServed());
        answer.put("evictions", figures.evictions());
        answer.put("ssdBlocks", figures.ssdBlocks());
        answer.put("ssdLoads", figures.ssdLoads());
        answer.put("indexEntries", figures.indexEntries());
        answer.put("sql", IgniteAdapter.sqlEngines(node()));
        return answer;
    }

    private Mooncake mooncake() {
        return Mooncake.of(node());
    }

    private Ignite node() {
        Ignite node = ignite;
        if (node == null) {
            throw new MooncakeException(MooncakeException.Code.ILLEGAL_STATE, "the service is not deployed");
        }
        return node;
    }
}
