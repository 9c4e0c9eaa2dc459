// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.internal;

import io.mooncake.transfer.ControlPlane;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Iterator;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.RejectedExecutionException;
import java.util.function.BiConsumer;
import java.util.function.Consumer;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A topic that members publish, followed wherever they are: subscriptions are brought in step with the membership after each change of it.
 *
 * <p>Threading: safe for all threads. {@code receiver} is called on the engine's threads, in order for each node; {@code alive} on workers.
 */
public final class MemberTopic implements Members.Listener, AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(MemberTopic.class);

    private final NodeServices services;
    private final String topic;
    private final Predicate<Member> publishes;
    private final BiConsumer<UUID, byte[]> receiver;
    private final Consumer<Set<UUID>> alive;
    // Guarded by this.
    private final Map<UUID, ControlPlane.Subscription> subscriptions = new HashMap<>();
    /** Members that were told to have joined since their subscription was made, if it was. */
    private final Set<UUID> joined = ConcurrentHashMap.newKeySet();

    private boolean closed;

    /**
     * @param publishes which of the other members do
     * @param receiver gets the node's id and what it published
     * @param alive hears who is there, after each change
     */
    public MemberTopic(
            NodeServices services,
            String topic,
            Predicate<Member> publishes,
            BiConsumer<UUID, byte[]> receiver,
            Consumer<Set<UUID>> alive) {
        this.services = services;
        this.topic = topic;
        this.publishes = publishes;
        this.receiver = receiver;
        this.alive = alive;
    }

    /** Begins to follow. */
    public void start() {
        services.members().addListener(this);
        syncLater();
    }

    /** Publishes to whoever follows this node. */
    public void publish(byte[] payload) {
        services.engine().control().publish(topic, payload);
    }

    @Override
    public void onJoined(Member member) {
        joined.add(member.nodeId());
        syncLater();
    }

    @Override
    public void onLeft(Member member) {
        syncLater();
    }

    private void syncLater() {
        try {
            services.workers().execute(this::sync);
        } catch (RejectedExecutionException e) {
            LOG.debug("{}: the node stops", topic);
        }
    }

    private synchronized void sync() {
        if (closed) {
            return;
        }
        Set<UUID> there = new HashSet<>();
        for (Member member : services.members().all()) {
            there.add(member.nodeId());
            if (joined.remove(member.nodeId())) {
                // One that was made when the member was known, but not told yet: to the engine its life may still have
                // been over.
                drop(subscriptions.remove(member.nodeId()));
            }
            if (!member.local() && publishes.test(member)) {
                subscriptions.computeIfAbsent(member.nodeId(), node -> services.engine()
                        .control()
                        .subscribe(member.address(), topic, bytes -> receiver.accept(node, bytes)));
            }
        }
        Iterator<Map.Entry<UUID, ControlPlane.Subscription>> held =
                subscriptions.entrySet().iterator();
        while (held.hasNext()) {
            Map.Entry<UUID, ControlPlane.Subscription> entry = held.next();
            if (!there.contains(entry.getKey())) {
                drop(entry.getValue());
                held.remove();
            }
        }
        alive.accept(there);
    }

    private static void drop(ControlPlane.@Nullable Subscription subscription) {
        if (subscription != null) {
            subscription.close();
        }
    }

    /** Ends following. Idempotent. */
    @Override
    public synchronized void close() {
        closed = true;
        subscriptions.values().forEach(ControlPlane.Subscription::close);
        subscriptions.clear();
    }
}
