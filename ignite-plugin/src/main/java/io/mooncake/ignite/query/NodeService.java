// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.query;

import io.mooncake.base.MooncakeException;
import io.mooncake.client.MooncakeService;
import io.mooncake.ignite.Caller;
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
import org.apache.ignite.resources.ServiceContextResource;
import org.apache.ignite.services.Service;
import org.apache.ignite.services.ServiceCallContext;
import org.apache.ignite.services.ServiceContext;
import org.jspecify.annotations.Nullable;

/**
 * The service on each node that holds a pool. It has no state, so that its serialised form is the same on every node and Ignite takes
 * the configurations of all of them for one.
 */
public final class NodeService implements Service, MooncakeService {
    private static final long serialVersionUID = 1L;

    @IgniteInstanceResource
    private transient @Nullable Ignite ignite;

    @ServiceContextResource
    private transient @Nullable ServiceContext context;

    @Override
    public Map<String, Object> explain(String pool, int[] tokens) {
        Mooncake mooncake = mooncake();
        Explanation explanation = mooncake.explain(pool, mooncake.tenantOf(caller()), tokens);
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
        Mooncake mooncake = mooncake();
        Route route = Route.of(pool, tokens).tenant(mooncake.tenantOf(caller()).name());
        return mooncake.decide(route).nodeId().toString();
    }

    @Override
    public Map<String, Object> statistics() {
        Mooncake mooncake = mooncake();
        mooncake.requireOperator(caller());
        NodeStatistics figures = mooncake.statistics();
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

    private Caller caller() {
        ServiceContext call = context;
        ServiceCallContext attributes = call == null ? null : call.currentCallContext();
        return IgniteAdapter.caller(
                node(), Caller.Kind.THIN, attributes == null ? null : attributes.attribute(MooncakeService.API_KEY));
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
