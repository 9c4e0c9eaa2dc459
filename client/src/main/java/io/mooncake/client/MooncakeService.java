// SPDX-License-Identifier: Apache-2.0
package io.mooncake.client;

import java.util.Map;

/**
 * What any client of the cluster can ask the service {@value #NAME}: which cached KV blocks there are for a prompt, and where a prompt goes.
 *
 * <pre>{@code
 * // A thin client: ignite-core and this jar are on its class path, nothing else of ours.
 * MooncakeService service = thin.services().serviceProxy(MooncakeService.NAME, MooncakeService.class);
 * // A thick client or a server, with or without the plugin.
 * MooncakeService service = ignite.services().serviceProxy(MooncakeService.NAME, MooncakeService.class, false);
 * // One node rather than any.
 * MooncakeService service = ignite.services(ignite.cluster().forNodeId(id)).serviceProxy(NAME, MooncakeService.class, true);
 * }</pre>
 *
 * <p>Which blocks an answer speaks of depends on the caller: a cluster with tenants knows them by login or by {@link #API_KEY}, and tells nobody of the
 * blocks of others. Who is not known is refused; the message begins with {@code DENIED}.
 *
 * <p>Only JDK types cross the wire, so that neither side needs classes of the other. Threading: safe for all threads. Errors: the proxy
 * throws Ignite's exception, whose message names the value that was wrong and what was expected.
 */
public interface MooncakeService {
    /** Name it is deployed under, on every server node that holds a pool. */
    String NAME = "mooncake";

    /**
     * Attribute of a call's {@code ServiceCallContext} with the caller's API key, where the cluster knows its tenants by keys. It travels as it is: use TLS.
     */
    String API_KEY = "mooncake.apiKey";

    /**
     * What would be reused for a prompt, from where, and why not more. Changes nothing.
     *
     * @param pool name of a pool
     * @param tokens the prompt's token ids, 0 or more each, at least one
     * @return {@code promptTokens}, {@code reusableTokens} (what may come from a cache at most), {@code missReason}, {@code matches} (node
     *     id to tokens that it holds of the prompt's beginning, longest first), {@code pieces} and {@code gaps} (lists of maps);
     *     {@link PromptExplanation#of} makes types of it
     */
    Map<String, Object> explain(String pool, int[] tokens);

    /**
     * Where the cluster would send a prompt now. Changes nothing.
     *
     * @param pool name of a pool
     * @param tokens the prompt's token ids, 0 or more each, at least one
     * @return the node's id as text
     */
    String route(String pool, int[] tokens);

    /** Figures of the node that answers, by name: {@code nodeId}, {@code blocks}, {@code capacityBlocks}, {@code misses}, {@code sql} (its SQL engines, or what to add) and so on. For operators: other logins are refused where the cluster authenticates. */
    Map<String, Object> statistics();
}
