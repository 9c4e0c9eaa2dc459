// SPDX-License-Identifier: Apache-2.0
package io.mooncake.examples.cluster;

import io.mooncake.client.MooncakeService;
import java.util.Map;
import java.util.UUID;
import org.apache.ignite.Ignite;
import org.jspecify.annotations.Nullable;

/**
 * What one node says of itself, asked by Ignite's service grid as any client may.
 *
 * <p>Threading: safe for all threads.
 */
public final class NodeView {
    private static final long TIMEOUT_MILLIS = 30_000;

    private final UUID id;
    private final MooncakeService service;

    NodeView(Ignite client, UUID id) {
        this.id = id;
        this.service = client.services(client.cluster().forNodeId(id))
                .serviceProxy(MooncakeService.NAME, MooncakeService.class, true, TIMEOUT_MILLIS);
    }

    /**
     * A node's counters.
     *
     * @param blocks blocks in its memory
     * @param capacityBlocks blocks that fit there
     * @param ssdBlocks blocks on its SSD
     * @param ssdLoads blocks brought up from there
     * @param bytesFetched bytes it fetched from peers
     * @param bytesServed bytes peers fetched from it
     */
    public record Figures(
            long blocks, long capacityBlocks, long ssdBlocks, long ssdLoads, long bytesFetched, long bytesServed) {}

    /**
     * What a node knows of a prompt.
     *
     * @param localTokens tokens it holds itself, in memory or on its SSD
     * @param othersTokens most tokens that any one other node holds, as far as it knows
     */
    public record Known(int localTokens, int othersTokens) {
        /** Most tokens that any one node holds. */
        public int bestTokens() {
            return Math.max(localTokens, othersTokens);
        }
    }

    /** Its counters now. */
    public Figures figures() {
        Map<String, Object> answer = service.statistics();
        return new Figures(
                number(answer.get("blocks")),
                number(answer.get("capacityBlocks")),
                number(answer.get("ssdBlocks")),
                number(answer.get("ssdLoads")),
                number(answer.get("bytesFetched")),
                number(answer.get("bytesServed")));
    }

    /** What it knows of {@code tokens} now. */
    public Known known(String pool, int[] tokens) {
        int local = 0;
        int others = 0;
        if (service.explain(pool, tokens).get("matches") instanceof Map<?, ?> matches) {
            for (Map.Entry<?, ?> match : matches.entrySet()) {
                int matched = (int) number(match.getValue());
                if (id.toString().equals(match.getKey())) {
                    local = matched;
                } else {
                    others = Math.max(others, matched);
                }
            }
        }
        return new Known(local, others);
    }

    private static long number(@Nullable Object value) {
        return value instanceof Number number ? number.longValue() : 0;
    }
}
