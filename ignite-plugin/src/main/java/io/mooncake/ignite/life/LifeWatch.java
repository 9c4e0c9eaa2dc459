// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.life;

import io.mooncake.base.Deadline;
import io.mooncake.base.MooncakeException;
import io.mooncake.ignite.internal.Member;
import io.mooncake.ignite.internal.Members;
import io.mooncake.ignite.internal.NodeComponent;
import io.mooncake.ignite.internal.NodeServices;
import io.mooncake.transfer.ControlPlane;
import io.mooncake.transfer.PeerAddress;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import org.apache.ignite.cluster.ClusterNode;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Runs the {@link LifeGuard} of one node: ticks, questions and answers over the engine, and the end of the node when its life is over. */
public final class LifeWatch implements NodeComponent, Members.Listener {
    private static final Duration ANSWER_TIME = Duration.ofSeconds(2);
    /** Every process stands still for a moment now and then. */
    private static final Duration LEAST_PAUSE = Duration.ofMillis(500);

    private static final Logger LOG = LoggerFactory.getLogger(LifeWatch.class);

    private volatile @Nullable LifeGuard guard;
    /** Lives of servers. What clients see, and that they come and go, says nothing of a server's place. */
    private final Set<UUID> servers = ConcurrentHashMap.newKeySet();

    private volatile @Nullable NodeServices node;
    private @Nullable ScheduledExecutorService timer;

    /** Whether nothing may be granted, offered, announced or written in this node's name at the moment. No lock; a clock is read. */
    public boolean fenced() {
        LifeGuard running = guard;
        return running != null && running.fenced();
    }

    @Override
    public void start(NodeServices services) {
        node = services;
        // Shorter ones end no lease, and drop no node.
        Duration half = least(
                        services.settings().leaseTerm(), services.adapter().failureDetectionTime())
                .dividedBy(2);
        LifeGuard made = new LifeGuard(
                new Node(services),
                services.adapter().stopsWhenCutOff(),
                half.compareTo(LEAST_PAUSE) < 0 ? LEAST_PAUSE : half,
                services.adapter().failureDetectionTime(),
                services.nanoClock());
        guard = made;
        services.engine()
                .control()
                .handle(ControlPlane.LIFE_SERVICE, (from, question) -> LifeFrameDescriptor.encode(made.answer(from)));
        services.members().addListener(this);
        var adapter = services.adapter();
        String registry = "mooncake.life";
        adapter.registerMetric(
                registry,
                "fenced",
                "1 while this node does not know whether it is a member still: it gives and announces nothing.",
                () -> made.fenced() ? 1L : 0L);
        adapter.registerMetric(registry, "fences", "Times that this node was fenced.", made::fences);
    }

    @Override
    public void onIgniteStart(NodeServices services) {
        LifeGuard made = guard;
        if (made != null) {
            // A thread of its own: what holds another up is no pause of the node.
            ScheduledExecutorService ticks = Executors.newSingleThreadScheduledExecutor(task -> {
                Thread thread = new Thread(task, "mooncake-life");
                thread.setDaemon(true);
                return thread;
            });
            ticks.scheduleWithFixedDelay(
                    () -> tick(made), LifeGuard.TICK_MILLIS, LifeGuard.TICK_MILLIS, TimeUnit.MILLISECONDS);
            timer = ticks;
        }
    }

    private static Duration least(Duration one, Duration other) {
        return one.compareTo(other) < 0 ? one : other;
    }

    /** A tick that fails must not be the last one, whatever it failed by. */
    private static void tick(LifeGuard made) {
        try {
            made.tick();
        } catch (RuntimeException | Error e) {
            LOG.warn("Whether this node is a member could not be looked at", e);
        }
    }

    @Override
    public void onJoined(Member member) {
        LifeGuard running = guard;
        NodeServices services = node;
        if (running != null && services != null && !member.local() && server(services, member)) {
            servers.add(member.address().incarnation());
            running.onJoined(member.address());
        }
    }

    @Override
    public void onLeft(Member member) {
        LifeGuard running = guard;
        if (running != null && servers.remove(member.address().incarnation())) {
            running.onLeft(member.address());
        }
    }

    private static boolean server(NodeServices services, Member member) {
        return services.adapter().aliveNodes().stream()
                .anyMatch(alive -> alive.id().equals(member.nodeId()) && !alive.isClient());
    }

    @Override
    public void onIgniteStop() {
        LifeGuard running = guard;
        if (running != null) {
            running.close();
        }
        if (timer != null) {
            timer.shutdownNow();
        }
    }

    /** The node, as the guard sees it. */
    private final class Node implements LifeGuard.Host {
        private final NodeServices services;

        Node(NodeServices services) {
            this.services = services;
        }

        @Override
        public List<PeerAddress> peers() {
            return services.members().all().stream()
                    .map(Member::address)
                    .filter(address -> servers.contains(address.incarnation()))
                    .toList();
        }

        /** A client that looks for its cluster has no say. */
        @Override
        public LifeAnswer answer(UUID asker) {
            int servers = 0;
            long oldest = Long.MAX_VALUE;
            for (ClusterNode node : services.adapter().aliveNodes()) {
                if (!node.isClient()) {
                    servers++;
                    oldest = Math.min(oldest, node.order());
                }
            }
            return new LifeAnswer(
                    services.members().hasEngine(asker), services.adapter().disconnected(), servers, oldest);
        }

        @Override
        public void ask(PeerAddress peer, long round) {
            LifeGuard asking = guard;
            if (asking == null) {
                return;
            }
            services.engine()
                    .control()
                    .request(peer, ControlPlane.LIFE_SERVICE, LifeFrameDescriptor.question(), Deadline.of(ANSWER_TIME))
                    .whenComplete((reply, error) -> answered(asking, peer, round, reply, error));
        }

        private void answered(
                LifeGuard asking, PeerAddress peer, long round, byte @Nullable [] reply, @Nullable Throwable error) {
            if (reply != null) {
                asking.onAnswer(peer, round, LifeFrameDescriptor.decode(reply));
            } else if (error instanceof MooncakeException failure) {
                switch (failure.code()) {
                    // Another life is there now.
                    case STALE -> asking.onEnded(peer);
                    // A version that does not know the question: it would not talk to a life that it does not count.
                    case PEER_REFUSED -> {
                        if (String.valueOf(failure.getMessage()).contains("no service")) {
                            asking.onAnswer(peer, round, new LifeAnswer(true, false, 0, 0));
                        }
                    }
                    default -> LOG.debug("{} does not say who is a member: {}", peer.encode(), failure.getMessage());
                }
            }
        }

        @Override
        public void forget(PeerAddress peer) {
            services.workers().execute(() -> {
                if (!services.members().hasEngine(peer.incarnation())) {
                    services.engine().peerGone(peer.incarnation());
                }
            });
        }

        @Override
        public void gone(String reason) {
            LOG.error("This life of the node is over: {}. It stops, to come back as another", reason);
            services.adapter().leave("Mooncake: " + reason);
        }
    }
}
