// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.conductor;

import io.mooncake.base.MooncakeException;
import io.mooncake.ignite.Route;
import io.mooncake.ignite.RouteDecision;
import io.mooncake.ignite.RoutedJob;
import io.mooncake.ignite.adapter.PeerDeployable;
import java.util.UUID;
import org.apache.ignite.Ignite;
import org.apache.ignite.lang.IgniteCallable;
import org.apache.ignite.resources.IgniteInstanceResource;
import org.jspecify.annotations.Nullable;

/**
 * The envelope that carries a user's job to the chosen node: the one class of ours that crosses nodes. Under peer class loading it
 * deploys as the user's class.
 */
final class RoutedCall implements IgniteCallable<RoutedOutcome>, PeerDeployable {
    private static final long serialVersionUID = 1L;

    private final UUID router;
    private final Route route;
    private final RouteDecision decision;
    private final int computeTokens;
    private final RoutedJob<?> job;

    @IgniteInstanceResource
    private transient @Nullable Ignite ignite;

    RoutedCall(UUID router, Route route, RouteDecision decision, int computeTokens, RoutedJob<?> job) {
        this.router = router;
        this.route = route;
        this.decision = decision;
        this.computeTokens = computeTokens;
        this.job = job;
    }

    UUID router() {
        return router;
    }

    Route route() {
        return route;
    }

    RouteDecision decision() {
        return decision;
    }

    /** Prompt tokens the router expects it to compute. */
    int computeTokens() {
        return computeTokens;
    }

    RoutedJob<?> job() {
        return job;
    }

    @Override
    public Object payload() {
        return job;
    }

    @Override
    public RoutedOutcome call() {
        Ignite node = ignite;
        if (node != null && node.cluster().nodeLocalMap().get(JobRunner.KEY) instanceof JobRunner runner) {
            return runner.run(this);
        }
        return RoutedOutcome.failed(new MooncakeException(
                MooncakeException.Code.PEER_UNREACHABLE,
                "node " + decision.nodeId() + " runs no jobs: it is stopping"));
    }
}
