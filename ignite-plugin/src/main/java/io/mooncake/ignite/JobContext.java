// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite;

import io.mooncake.memory.KvPool;
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

    /** The pool of the route. */
    default KvPool pool() {
        return mooncake().pool(route().pool());
    }

    /** The extension called {@code name} on this node, for example a loaded model. */
    default <T extends NodeExtension> T extension(String name, Class<T> type) {
        return mooncake().extension(name, type);
    }
}
