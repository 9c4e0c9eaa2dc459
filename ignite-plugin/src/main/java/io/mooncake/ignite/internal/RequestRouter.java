// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.internal;

import io.mooncake.ignite.Explanation;
import io.mooncake.ignite.Route;
import io.mooncake.ignite.RouteDecision;
import io.mooncake.ignite.RoutedJob;
import io.mooncake.memory.Tenant;
import java.util.concurrent.CompletionStage;

/** The part of a node that decides where requests go; {@link io.mooncake.ignite.Mooncake} hands its calls to it. */
public interface RequestRouter extends NodeComponent {
    /** See {@link io.mooncake.ignite.Mooncake#decide}. */
    RouteDecision decide(Route route);

    /** See {@link io.mooncake.ignite.Mooncake#submit}. */
    <R> CompletionStage<R> submit(Route route, RoutedJob<R> job);

    /** See {@link io.mooncake.ignite.Mooncake#explain}. */
    Explanation explain(String pool, Tenant tenant, int[] tokens);
}
