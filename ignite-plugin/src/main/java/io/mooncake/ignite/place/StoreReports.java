// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.place;

import io.mooncake.ignite.Role;
import io.mooncake.ignite.internal.Member;
import io.mooncake.ignite.internal.MemberTopic;
import io.mooncake.ignite.internal.NodeServices;
import io.mooncake.memory.LocalKvPool;
import io.mooncake.memory.PoolStatistics;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Tells the others how much room this node has and whether it is to leave, each {@value #TICK_MILLIS} ms and when that changes; and knows the same of them.
 *
 * <p>Threading: safe for all threads.
 */
final class StoreReports implements AutoCloseable {
    static final String TOPIC = "mooncake.place";
    private static final long TICK_MILLIS = 500;
    private static final Logger LOG = LoggerFactory.getLogger(StoreReports.class);

    private final NodeServices services;
    private final MemberTopic topic;
    private final long startedAt;
    private final Map<UUID, StoreReport> reports = new ConcurrentHashMap<>();
    private volatile boolean draining;
    private @Nullable ScheduledFuture<?> timer;

    StoreReports(NodeServices services) {
        this.services = services;
        this.startedAt = services.nanoClock().getAsLong();
        this.topic = new MemberTopic(
                services, TOPIC, member -> member.role() != Role.OBSERVER, this::receive, reports.keySet()::retainAll);
    }

    void start() {
        topic.start();
        if (services.settings().role() != Role.OBSERVER) {
            timer = services.scheduler()
                    .scheduleWithFixedDelay(this::tick, TICK_MILLIS, TICK_MILLIS, TimeUnit.MILLISECONDS);
        }
    }

    private void receive(UUID from, byte[] bytes) {
        StoreReport report = StoreReportDescriptor.decode(bytes);
        if (report.node().equals(from)) {
            reports.put(from, report);
        }
    }

    /** One at a time: an older report must not overtake a newer one. */
    private synchronized void tick() {
        try {
            topic.publish(StoreReportDescriptor.encode(own()));
        } catch (RuntimeException e) {
            LOG.debug("Store report not published: {}", e.toString());
        }
    }

    private StoreReport own() {
        double free = 1;
        for (LocalKvPool pool : services.localPools().values()) {
            PoolStatistics stats = pool.stats();
            free = Math.min(free, (double) stats.freeBlocks() / stats.capacityBlocks());
        }
        long age = TimeUnit.NANOSECONDS.toMillis(services.nanoClock().getAsLong() - startedAt);
        int replicas = services.settings().replicas();
        return new StoreReport(
                services.localNodeId(),
                draining,
                services.fenced(),
                Math.max(0, free),
                Math.max(0, age),
                replicas > 1 ? replicas : 0);
    }

    /** Whether this node is to leave. */
    boolean draining() {
        return draining;
    }

    /** This node is to leave, or stays after all. The others hear of it at once. */
    void draining(boolean leaves) {
        if (draining != leaves) {
            draining = leaves;
            tick();
        }
    }

    /** Whether {@code node} is to leave, as far as is known. */
    boolean draining(UUID node) {
        if (node.equals(services.localNodeId())) {
            return draining;
        }
        StoreReport report = reports.get(node);
        return report != null && report.draining();
    }

    /** Whether {@code node} takes no copies and wants no requests, as far as is known: it is to leave, or is fenced. */
    boolean refuses(UUID node) {
        if (node.equals(services.localNodeId())) {
            return draining || services.fenced();
        }
        StoreReport report = reports.get(node);
        return report != null && (report.draining() || report.fenced());
    }

    /** What {@code node} said last, or this one says now; empty when nothing was heard yet. */
    Optional<StoreReport> of(UUID node) {
        boolean local = node.equals(services.localNodeId());
        return local ? Optional.of(own()) : Optional.ofNullable(reports.get(node));
    }

    /** Whether {@code member} takes copies for {@code pool}, as far as is known. */
    boolean takes(Member member, String pool) {
        return !member.local()
                && member.role() == Role.STORE
                && services.members().poolNames().has(member, pool)
                && !refuses(member.nodeId());
    }

    @Override
    public void close() {
        if (timer != null) {
            timer.cancel(false);
        }
        topic.close();
    }
}
