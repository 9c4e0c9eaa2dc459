// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.conductor;

import io.mooncake.conductor.ClusterState;
import io.mooncake.conductor.LoadReport;
import io.mooncake.conductor.LoadReportDescriptor;
import io.mooncake.conductor.NodeMeter;
import io.mooncake.ignite.Role;
import io.mooncake.ignite.internal.Member;
import io.mooncake.ignite.internal.Members;
import io.mooncake.ignite.internal.NodeServices;
import io.mooncake.transfer.ControlPlane;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Iterator;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Tells other routers of this node's load, and this router of other nodes' load. A node publishes its whole report when something
 * changed, at most every {@value #TICK_MILLIS} ms, and at least every {@value #IDLE_MILLIS} ms, so that a lost report heals itself.
 *
 * <p>Threading: {@link #sync} reconciles subscriptions with the membership under this object's lock, on worker threads; the timer only
 * publishes.
 */
final class LoadExchange implements Members.Listener {
    static final String TOPIC = "mooncake.load";
    private static final long TICK_MILLIS = 100;
    private static final long IDLE_MILLIS = 1_000;
    private static final Logger LOG = LoggerFactory.getLogger(LoadExchange.class);

    private final NodeServices services;
    private final ClusterState state;
    private final NodeMeter meter;
    // Guarded by this.
    private final Map<UUID, ControlPlane.Subscription> subscriptions = new HashMap<>();
    private @Nullable ScheduledFuture<?> timer;
    private boolean closed;
    // Written by the timer only.
    private long publishedChanges = -1;
    private long publishedTicks;

    LoadExchange(NodeServices services, ClusterState state, NodeMeter meter) {
        this.services = services;
        this.state = state;
        this.meter = meter;
    }

    synchronized void start() {
        services.members().addListener(this);
        if (services.settings().role() != Role.OBSERVER) {
            timer = services.scheduler()
                    .scheduleWithFixedDelay(this::tick, TICK_MILLIS, TICK_MILLIS, TimeUnit.MILLISECONDS);
        }
    }

    @Override
    public void onJoined(Member member) {
        syncLater();
    }

    @Override
    public void onLeft(Member member) {
        syncLater();
    }

    void syncLater() {
        try {
            services.workers().execute(this::sync);
        } catch (RejectedExecutionException e) {
            LOG.debug("Load reports: the node stops");
        }
    }

    private synchronized void sync() {
        if (closed) {
            return;
        }
        Set<UUID> alive = new HashSet<>();
        for (Member member : services.members().all()) {
            alive.add(member.nodeId());
            if (!member.local() && member.role() != Role.OBSERVER && !subscriptions.containsKey(member.nodeId())) {
                subscriptions.put(
                        member.nodeId(),
                        services.engine()
                                .control()
                                .subscribe(member.address(), TOPIC, bytes -> receive(member.nodeId(), bytes)));
            }
        }
        Iterator<Map.Entry<UUID, ControlPlane.Subscription>> held =
                subscriptions.entrySet().iterator();
        while (held.hasNext()) {
            Map.Entry<UUID, ControlPlane.Subscription> entry = held.next();
            if (!alive.contains(entry.getKey())) {
                entry.getValue().close();
                held.remove();
            }
        }
        state.retain(alive);
    }

    private void receive(UUID from, byte[] bytes) {
        LoadReport report = LoadReportDescriptor.decode(bytes);
        if (report.node().equals(from)) {
            state.report(report);
        }
    }

    private void tick() {
        try {
            long changes = meter.changes();
            if (changes == publishedChanges && ++publishedTicks * TICK_MILLIS < IDLE_MILLIS) {
                return;
            }
            publishedChanges = changes;
            publishedTicks = 0;
            // A client that reconnected has another id than at its start.
            LoadReport report = meter.report().from(services.adapter().localNodeId());
            state.report(report);
            services.engine().control().publish(TOPIC, LoadReportDescriptor.encode(report));
        } catch (RuntimeException e) {
            LOG.debug("Load report not published: {}", e.toString());
        }
    }

    synchronized void close() {
        closed = true;
        if (timer != null) {
            timer.cancel(false);
        }
        subscriptions.values().forEach(ControlPlane.Subscription::close);
        subscriptions.clear();
    }
}
