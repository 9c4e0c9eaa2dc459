// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.conductor;

import io.mooncake.ignite.Route;
import io.mooncake.ignite.RouteDecision;
import io.mooncake.ignite.RoutedJob;
import java.io.Serializable;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * A job on its way to a node.
 *
 * @param router node that sent it
 * @param route what the caller asked for
 * @param decision why it goes there
 * @param computeTokens prompt tokens it is expected to compute
 * @param job the user's
 */
record RoutedRequest(UUID router, Route route, RouteDecision decision, int computeTokens, RoutedJob<?> job)
        implements Serializable {
    /**
     * What came of it, on its way back. A job's own exception travels as a value, so that it reaches the caller with its type and is
     * never taken for a failure of Ignite.
     *
     * @param value the result; null is a result too
     * @param failure the job's exception, or null when it returned
     */
    record Outcome(@Nullable Object value, @Nullable Throwable failure) implements Serializable {}
}
