// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.conductor;

import io.mooncake.conductor.ClusterState;
import io.mooncake.conductor.LoadReport;
import io.mooncake.conductor.LoadReportDescriptor;
import io.mooncake.conductor.NodeMeter;
import io.mooncake.ignite.Role;
import io.mooncake.ignite.internal.MemberTopic;
import io.mooncake.ignite.internal.NodeServices;
import java.util.UUID;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Tells other routers of this node's load, and this router of other nodes' load. A node publishes its whole report when something
 * changed, at most every {@value #TICK_MILLIS} ms, and at least every {@value #IDLE_MILLIS} ms, so that a lost report heals itself.
 *
 * <p>Threading: reports come on the engine's threads; the timer only publishes.
 */
final class LoadExchange {
    static final String TOPIC = "mooncake.load";
    private static final long TICK_MILLIS = 100;
    private static final long IDLE_MILLIS = 1_000;
    private static final Logger LOG = LoggerFactory.getLogger(LoadExchange.class);

    private final NodeServices services;
    private final ClusterState state;
    private final NodeMeter meter;
    private final MemberTopic topic;
    private @Nullable ScheduledFuture<?> timer;
    // Written by the timer only.
    private long publishedChanges = -1;
    private long publishedTicks;

    LoadExchange(NodeServices services, ClusterState state, NodeMeter meter) {
        this.services = services;
        this.state = state;
        this.meter = meter;
        this.topic = new MemberTopic(
                services, TOPIC, member -> member.role() != Role.OBSERVER, this::receive, state::retain);
    }

    synchronized void start() {
        topic.start();
        if (services.settings().role() != Role.OBSERVER) {
            timer = services.scheduler()
                    .scheduleWithFixedDelay(this::tick, TICK_MILLIS, TICK_MILLIS, TimeUnit.MILLISECONDS);
        }
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
            if (!services.fenced()) {
                topic.publish(LoadReportDescriptor.encode(report));
            }
        } catch (RuntimeException e) {
            LOG.debug("Load report not published: {}", e.toString());
        }
    }

    synchronized void close() {
        if (timer != null) {
            timer.cancel(false);
        }
        topic.close();
    }
}
