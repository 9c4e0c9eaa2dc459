// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite;

import java.util.Map;
import org.apache.ignite.services.Service;

/**
 * What clients without our classes loaded in a node can ask, by Ignite services: {@code services().serviceProxy("mooncake", ...)}. JDK
 * types only in and out, so that thin clients need this interface alone.
 */
public interface MooncakeService extends Service {
    /** Name it is deployed under. */
    String NAME = "mooncake";

    /** {@link Mooncake#explain} as JDK types: promptTokens, reusableTokens, missReason, and matches as node id to tokens. */
    Map<String, Object> explain(String pool, int[] tokens);

    /** Node id (text) where the conductor would send the prompt. */
    String route(String pool, int[] tokens);

    /** {@link Mooncake#statistics} of the answering node, as name to value. */
    Map<String, Object> statistics();
}
