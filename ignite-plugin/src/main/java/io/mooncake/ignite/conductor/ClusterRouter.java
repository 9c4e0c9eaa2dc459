// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.conductor;

import io.mooncake.base.MooncakeException;
import io.mooncake.conductor.ClusterState;
import io.mooncake.conductor.Conductor;
import io.mooncake.conductor.ConductorSettings;
import io.mooncake.conductor.NodeMeter;
import io.mooncake.conductor.PrefillRequest;
import io.mooncake.conductor.TtftEstimate;
import io.mooncake.ignite.Explanation;
import io.mooncake.ignite.Role;
import io.mooncake.ignite.Route;
import io.mooncake.ignite.RouteDecision;
import io.mooncake.ignite.RoutedJob;
import io.mooncake.ignite.internal.NodeServices;
import io.mooncake.ignite.internal.PoolNames;
import io.mooncake.ignite.internal.RequestRouter;
import io.mooncake.memory.Tenant;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.apache.ignite.Ignite;
import org.apache.ignite.IgniteCheckedException;
import org.apache.ignite.lang.IgniteFuture;
import org.jspecify.annotations.Nullable;

/**
 * The conductor of one node: asks index and local pools what each node holds, lets {@link Conductor} choose, and runs the job there
 * through Ignite Compute. Every node routes; there is no master.
 *
 * <p>A request runs once. When its node dies it fails as PEER_UNREACHABLE, which is retryable, and is not sent again by itself, because
 * only the caller knows whether its job may run twice.
 *
 * <p>Threading: safe for all threads; nothing here waits. Results complete on the node's worker threads.
 */
public final class ClusterRouter implements RequestRouter {
    private @Nullable Parts parts;

    /** What exists from start on. {@code router} names this router in loads: the node's first id, kept when a client reconnects. */
    private record Parts(
            NodeServices services,
            UUID router,
            Conductor conductor,
            Matches matches,
            Explainer explainer,
            JobRunner runner,
            LoadExchange exchange) {
        private PoolNames names() {
            return services.members().poolNames();
        }

        /** With the name that this node gives the pool. */
        Route called(Route route) {
            return route.pool(names().called(route.pool()));
        }

        /** With the name that the nodes give it which have it. */
        Route plain(Route route) {
            return route.pool(names().plain(route.pool()));
        }

        Tenant tenant(Route route) {
            return services.tenants().named(route.tenant());
        }
    }

    @Override
    public void start(NodeServices services) {
        UUID router = services.adapter().localNodeId();
        ClusterState state = new ClusterState(router);
        NodeMeter meter = new NodeMeter(router, ConductorSettings.DEFAULT, services.nanoClock());
        LoadExchange exchange = new LoadExchange(services, state, meter);
        Matches matches = new Matches(services);
        parts = new Parts(
                services,
                router,
                new Conductor(state, ConductorSettings.DEFAULT),
                matches,
                new Explainer(services, matches),
                new JobRunner(services, meter),
                exchange);
        services.addFetchListener((holder, bytes, nanos) -> meter.fetched(bytes, nanos));
        exchange.start();
    }

    @Override
    public void onIgniteStart(NodeServices services) {
        Parts started = parts();
        if (services.settings().role() != Role.OBSERVER) {
            services.ignite().cluster().nodeLocalMap().put(JobRunner.KEY, started.runner);
        }
    }

    @Override
    public void onIgniteStop() {
        Parts started = parts;
        if (started != null) {
            started.runner.stop();
            started.exchange.close();
        }
    }

    @Override
    public RouteDecision decide(Route asked) {
        Parts on = parts();
        Route route = on.called(asked);
        Map<UUID, Integer> matches = on.matches.byNode(route.pool(), on.tenant(route), route.tokens());
        requireCandidate(route, matches);
        TtftEstimate estimate =
                on.conductor.preview(on.matches.request(route.pool(), route.tokens().length), matches, route.node());
        return decision(route, estimate);
    }

    @Override
    public <R> CompletionStage<R> submit(Route asked, RoutedJob<R> job) {
        CompletableFuture<R> result = new CompletableFuture<>();
        try {
            Parts on = parts();
            Route route = on.called(asked);
            Map<UUID, Integer> matches = on.matches.byNode(route.pool(), on.tenant(route), route.tokens());
            requireCandidate(route, matches);
            PrefillRequest request = on.matches.request(route.pool(), route.tokens().length);
            send(on, route, job, on.conductor.dispatch(request, matches, route.node()), result);
        } catch (RuntimeException e) {
            result.completeExceptionally(e);
        }
        return result;
    }

    private static <R> void send(
            Parts on, Route route, RoutedJob<R> job, Conductor.Dispatch dispatch, CompletableFuture<R> result) {
        TtftEstimate estimate = dispatch.estimate();
        UUID node = estimate.node();
        Ignite ignite = on.services.ignite();
        result.whenComplete((value, failure) -> dispatch.ticket().close());
        try {
            byte[] request = on.services
                    .adapter()
                    .marshal(new RoutedRequest(
                            on.router, on.plain(route), decision(route, estimate), estimate.computeTokens(), job));
            IgniteFuture<byte[]> sent = ignite.compute(ignite.cluster().forNodeId(node))
                    .withNoFailover()
                    .withTimeout(Math.max(1, route.timeout().toMillis()))
                    .callAsync(new RoutedCall(node, request, job));
            sent.listenAsync(done -> complete(done, on, node, route, job, result), on.services.workers());
            result.whenComplete((value, failure) -> {
                if (result.isCancelled()) {
                    sent.cancel();
                }
            });
        } catch (IgniteCheckedException e) {
            result.completeExceptionally(new MooncakeException(
                    MooncakeException.Code.INVALID_ARGUMENT,
                    "job: " + job.getClass().getName() + " (expected: serialisable with all it holds)",
                    e));
        } catch (RuntimeException e) {
            result.completeExceptionally(CallFailures.of(e, ignite, node, route));
        }
    }

    @SuppressWarnings("unchecked") // the job returned an R
    private static <R> void complete(
            IgniteFuture<byte[]> done,
            Parts on,
            UUID node,
            Route route,
            RoutedJob<R> job,
            CompletableFuture<R> result) {
        RoutedRequest.Outcome outcome;
        try {
            ClassLoader loader = job.getClass().getClassLoader();
            outcome = on.services
                    .adapter()
                    .unmarshal(
                            done.get(),
                            loader == null ? ClusterRouter.class.getClassLoader() : loader,
                            on.services.settings().jobClasses());
        } catch (IgniteCheckedException | RuntimeException e) {
            result.completeExceptionally(
                    on.runner.stopping()
                            ? CallFailures.stopping(e)
                            : CallFailures.of(e, on.services.ignite(), node, route));
            return;
        }
        if (outcome.failure() != null) {
            result.completeExceptionally(outcome.failure());
        } else {
            result.complete((R) outcome.value());
        }
    }

    @Override
    public Explanation explain(String pool, Tenant tenant, int[] tokens) {
        Parts on = parts();
        return on.explainer.explain(on.names().called(pool), tenant, tokens);
    }

    private static void requireCandidate(Route route, Map<UUID, Integer> matches) {
        UUID forced = route.node();
        if (forced != null && !matches.containsKey(forced)) {
            throw new MooncakeException(
                    MooncakeException.Code.NOT_FOUND,
                    "node: " + forced + " (expected: a node with pool " + route.pool() + ", one of " + matches.keySet()
                            + ")");
        }
    }

    private static RouteDecision decision(Route route, TtftEstimate estimate) {
        return new RouteDecision(
                estimate.node(),
                estimate.localTokens(),
                estimate.bestTokens(),
                route.tokens().length,
                estimate.inFlight(),
                route.node() != null);
    }

    private Parts parts() {
        Parts started = parts;
        if (started == null) {
            throw new MooncakeException(MooncakeException.Code.ILLEGAL_STATE, "the node has not started");
        }
        return started;
    }
}
