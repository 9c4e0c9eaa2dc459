// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite;

import io.mooncake.memory.KvPool;
import java.time.Duration;
import org.apache.ignite.Ignite;

/** What a {@link RoutedJob} finds on its node. */
public interface JobContext {
    /** The local node. */
    Ignite ignite();

    /** Mooncake on the local node. */
    Mooncake mooncake();

    /** The route that brought the job here. */
    Route route();

    /** Why this node was chosen. */
    RouteDecision decision();

    /**
     * Tells the conductor how long this job's prefill took, so that it learns the node's speed; calling it is optional and free.
     *
     * @param computedTokens prompt tokens that were computed, those taken from the cache not counted
     * @param elapsed time from having the cached prefix to having the first token
     */
    void prefilled(int computedTokens, Duration elapsed);

    /** The pool of the route, as the route's tenant sees it. */
    default KvPool pool() {
        KvPool pool = mooncake().pool(route().pool());
        String tenant = route().tenant();
        return tenant == null ? pool : pool.forTenant(mooncake().tenant(tenant));
    }

    /** The extension called {@code name} on this node, for example a loaded model. */
    default <T extends NodeExtension> T extension(String name, Class<T> type) {
        return mooncake().extension(name, type);
    }
}
