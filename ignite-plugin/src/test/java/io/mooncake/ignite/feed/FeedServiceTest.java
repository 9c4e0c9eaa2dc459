// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.feed;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import io.mooncake.base.Deadline;
import io.mooncake.base.MooncakeException;
import io.mooncake.ignite.TestGrid;
import io.mooncake.ignite.index.PoolIndex;
import io.mooncake.memory.BlockKey;
import io.mooncake.memory.HeldIn;
import io.mooncake.memory.RemovalCause;
import io.mooncake.memory.StoredBlock;
import io.mooncake.transfer.ControlPlane;
import io.mooncake.transfer.PeerAddress;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;
import org.slf4j.LoggerFactory;

/** Two services on a network of this test, which can be cut. */
class FeedServiceTest {
    private static final PeerAddress OWNER = new PeerAddress(new UUID(1, 1), "127.0.0.1", 1, 2, 3);
    private static final UUID NODE = new UUID(9, 9);

    private final AtomicLong now = new AtomicLong();
    private final Map<String, ControlPlane.RequestHandler> handlers = new ConcurrentHashMap<>();
    private final Map<ControlPlane.EventListener, String> subscribers = new ConcurrentHashMap<>();
    private volatile boolean cut;
    private volatile boolean subscribeFails;
    private volatile boolean publishFails;

    private final ControlPlane network = new ControlPlane() {
        @Override
        public void handle(String service, RequestHandler handler) {
            handlers.put(service, handler);
        }

        @Override
        public CompletionStage<byte[]> request(PeerAddress peer, String service, byte[] payload, Deadline deadline) {
            if (cut) {
                return CompletableFuture.failedFuture(
                        new MooncakeException(MooncakeException.Code.PEER_UNREACHABLE, "cut"));
            }
            try {
                return CompletableFuture.completedFuture(handlers.get(service).handle(new UUID(2, 2), payload));
            } catch (MooncakeException e) {
                return CompletableFuture.failedFuture(
                        new MooncakeException(MooncakeException.Code.PEER_REFUSED, String.valueOf(e.getMessage())));
            }
        }

        @Override
        public CompletionStage<Void> push(PeerAddress peer, String queue, byte[] payload, Deadline deadline) {
            throw new UnsupportedOperationException(queue);
        }

        @Override
        public void pull(String queue, WorkHandler handler) {
            throw new UnsupportedOperationException(queue);
        }

        @Override
        public void publish(String topic, byte[] payload) {
            if (publishFails) {
                throw new MooncakeException(MooncakeException.Code.ILLEGAL_STATE, "no publishing");
            }
            if (!cut) {
                subscribers.forEach((subscriber, wanted) -> {
                    if (wanted.equals(topic)) {
                        subscriber.onEvent(payload);
                    }
                });
            }
        }

        @Override
        public Subscription subscribe(PeerAddress peer, String topic, EventListener listener) {
            if (subscribeFails) {
                throw new MooncakeException(MooncakeException.Code.PEER_UNREACHABLE, "no subscription");
            }
            subscribers.put(listener, topic);
            return () -> subscribers.remove(listener);
        }
    };

    private FeedService service(UUID incarnation, List<String> pools, boolean announces) {
        return new FeedService(
                network,
                incarnation,
                pools,
                announces,
                Duration.ofMillis(50),
                4 << 20,
                now::get,
                FeedThread.start("test-feed"));
    }

    private static StoredBlock block(long i) {
        BlockKey key = new BlockKey(i, i, i, i);
        return new StoredBlock(key, key, 0, new int[] {1, 2}, 1, "default");
    }

    @Test
    void follow_ownerFallsSilent_isCountedAndCatchesUp() {
        PoolIndex index = new PoolIndex(TestGrid.pool("tiny").toDefinition().identity());
        try (FeedService owner = service(OWNER.incarnation(), List.of("tiny"), true);
                FeedService follower = service(new UUID(2, 2), List.of(), false)) {
            owner.start();
            follower.start();
            owner.poolListener("tiny").onStored(block(1));
            follower.follow(NODE, OWNER, 2, Map.of("tiny", index.sink(NODE)));
            TestGrid.await("first block", () -> index.entries() == 1);
            assertThat(follower.silent()).isZero();

            cut = true;
            // In the wait: a poll that was under way when the network was cut is news, too.
            TestGrid.await("silence is noticed", () -> {
                now.addAndGet(9_000_000_000L);
                return follower.silent() == 1;
            });
            owner.poolListener("tiny").onStored(block(2));
            assertThat(index.entries()).isEqualTo(1);

            cut = false;
            TestGrid.await("second block", () -> index.entries() == 2 && follower.silent() == 0);

            follower.unfollow(NODE);
            TestGrid.await("entries are void", () -> index.entries() == 0);
        }
    }

    @Test
    void follow_subscriptionFails_isServedByPollsAndSubscribedLater() {
        PoolIndex index = new PoolIndex(TestGrid.pool("tiny").toDefinition().identity());
        subscribeFails = true;
        try (FeedService owner = service(OWNER.incarnation(), List.of("tiny"), true);
                FeedService follower = service(new UUID(2, 2), List.of(), false)) {
            owner.start();
            follower.start();
            follower.follow(NODE, OWNER, 2, Map.of("tiny", index.sink(NODE)));
            TestGrid.await("first copy", follower::current);
            owner.poolListener("tiny").onStored(block(1));
            TestGrid.await("a poll brings it", () -> {
                now.addAndGet(200_000_000L);
                return index.entries() == 1;
            });

            subscribeFails = false;
            TestGrid.await("it is subscribed after all", () -> subscribers.size() == 1);
            // Time stands still, so that nothing is polled.
            owner.poolListener("tiny").onStored(block(2));
            TestGrid.await("an event is heard", () -> index.entries() == 2);
        }
    }

    @Test
    void follow_indexHasNoRoomAtFirst_isTriedAgainAndKeepsNobodyElseWaiting() {
        PoolIndex index = new PoolIndex(TestGrid.pool("tiny").toDefinition().identity());
        AtomicLong failures = new AtomicLong(3);
        UUID other = new UUID(8, 8);
        HolderSink full = () -> {
            if (failures.getAndDecrement() > 0) {
                throw new IllegalStateException("no room");
            }
            return index.sink(NODE).begin();
        };
        try (FeedService owner = service(OWNER.incarnation(), List.of("tiny"), true);
                FeedService follower = service(new UUID(2, 2), List.of(), false)) {
            owner.start();
            follower.start();
            owner.poolListener("tiny").onStored(block(1));
            follower.follow(NODE, OWNER, 2, Map.of("tiny", full));
            follower.follow(other, OWNER, 2, Map.of("tiny", index.sink(other)));
            TestGrid.await("both hear of it", () -> index.entries() == 2 && follower.current());
        }
    }

    @Test
    void publish_fails_listenersHearAllAndOthersAreFollowed() {
        List<String> heard = new CopyOnWriteArrayList<>();
        PoolIndex index = new PoolIndex(TestGrid.pool("tiny").toDefinition().identity());
        publishFails = true;
        try (FeedService owner = service(OWNER.incarnation(), List.of("tiny", "large"), true);
                FeedService both = service(new UUID(2, 2), List.of("tiny", "large"), true)) {
            owner.start();
            Map<String, ControlPlane.RequestHandler> owners = Map.copyOf(handlers);
            both.addListener((pool, events) -> events.forEach(event -> heard.add(pool)));
            both.start();
            handlers.putAll(owners);
            both.follow(NODE, OWNER, 2, Map.of("tiny", index.sink(NODE)));
            for (int i = 0; i < 3_000; i++) {
                both.poolListener("large").onStored(block(i));
                both.poolListener("tiny").onStored(block(i));
            }
            TestGrid.await("its listeners hear all", () -> heard.size() == 6_000);
            owner.poolListener("tiny").onStored(block(1));
            TestGrid.await("whom it follows is polled", () -> {
                now.addAndGet(200_000_000L);
                return index.entries() == 1;
            });
        }
    }

    /** Time stands still but for the test's steps: the warning comes with the first beat after eight seconds, and beats come every two at most. */
    @Test
    void beat_ownerSaysNothing_warnsOnceWithinTenSeconds() {
        ListAppender<ILoggingEvent> log = new ListAppender<>();
        Logger logger = (Logger) LoggerFactory.getLogger(FeedService.class);
        log.start();
        logger.addAppender(log);
        ManualThread thread = new ManualThread(now);
        PoolIndex index = new PoolIndex(TestGrid.pool("tiny").toDefinition().identity());
        cut = true;
        try (FeedService follower = new FeedService(
                network, new UUID(2, 2), List.of(), false, Duration.ofSeconds(2), 4 << 20, now::get, thread)) {
            follower.start();
            follower.follow(NODE, OWNER, 2, Map.of("tiny", index.sink(NODE)));
            thread.runUntil(8_000_000_000L);
            assertThat(follower.silences()).isZero();
            thread.runUntil(10_000_000_000L);
            assertThat(follower.silences()).isEqualTo(1);
            assertThat(follower.silent()).isEqualTo(1);
            assertThat(follower.followed(NODE).orElseThrow().silent()).isTrue();
            thread.runUntil(60_000_000_000L);
            assertThat(follower.silences()).isEqualTo(1);
            assertThat(log.list).singleElement().satisfies(event -> assertThat(event.getFormattedMessage())
                    .contains("Nothing was heard from", OWNER.encode(), "for 8 s"));
        } finally {
            logger.detachAppender(log);
        }
    }

    @Test
    void follow_bothVersions_hearTheSame() {
        PoolIndex index = new PoolIndex(TestGrid.pool("tiny").toDefinition().identity());
        UUID seenByOld = new UUID(1, 1);
        UUID seenByNew = new UUID(2, 2);
        try (FeedService owner = service(OWNER.incarnation(), List.of("tiny"), true);
                FeedService old = service(new UUID(3, 3), List.of(), false);
                FeedService current = service(new UUID(4, 4), List.of(), false)) {
            owner.start();
            owner.publishOld(true);
            owner.poolListener("tiny").onStored(block(1), HeldIn.DRAM);
            old.follow(seenByOld, OWNER, 1, Map.of("tiny", index.sink(seenByOld)));
            current.follow(seenByNew, OWNER, 2, Map.of("tiny", index.sink(seenByNew)));
            old.start();
            current.start();
            TestGrid.await("both have a snapshot", () -> index.holderCount(block(1).key()) == 2);
            owner.poolListener("tiny").onStored(block(2), HeldIn.DRAM_AND_SSD);
            owner.poolListener("tiny").onTierChanged(block(1).key(), 1, HeldIn.SSD);
            TestGrid.await("both have the event", () -> index.holderCount(block(2).key()) == 2);
            TestGrid.await("the new one knows the place", () -> index.runs(List.of(block(1).key()), 0)
                    .equals(List.of(new PoolIndex.Run(seenByOld, 1, 0), new PoolIndex.Run(seenByNew, 1, 1))));
            owner.poolListener("tiny").onRemoved(block(1).key(), 1, RemovalCause.EVICTED);
            TestGrid.await("both removed it", () -> index.holderCount(block(1).key()) == 0);
            assertThat(old.badFrames() + current.badFrames()).isZero();
        }
    }

    @Test
    void announce_fenced_nothingIsHeardUntilItIsNoMore() {
        PoolIndex index = new PoolIndex(TestGrid.pool("tiny").toDefinition().identity());
        AtomicBoolean fenced = new AtomicBoolean();
        AtomicLong published = new AtomicLong();
        subscribers.put(frame -> published.incrementAndGet(), "mooncake.feed2");
        List<BlockKey> own = new CopyOnWriteArrayList<>();
        try (FeedService owner = service(OWNER.incarnation(), List.of("tiny"), true);
                FeedService follower = service(new UUID(2, 2), List.of(), false)) {
            owner.fencedBy(fenced::get);
            owner.addListener((pool, events) -> events.forEach(event -> own.add(event.key())));
            owner.start();
            follower.follow(NODE, OWNER, 2, Map.of("tiny", index.sink(NODE)));
            follower.start();
            owner.poolListener("tiny").onStored(block(1));
            TestGrid.await("heard", () -> index.holderCount(block(1).key()) == 1);

            fenced.set(true);
            // What was on its way has been told when the next event has reached the owner's own listener.
            owner.poolListener("tiny").onStored(block(2));
            TestGrid.await("it hears itself", () -> own.contains(block(2).key()));
            long before = published.get();
            for (int i = 3; i < 100; i++) {
                owner.poolListener("tiny").onStored(block(i));
            }
            TestGrid.await(
                    "it hears all of itself", () -> own.contains(block(99).key()));
            assertThat(published.get()).isEqualTo(before);
            assertThatThrownBy(() -> handlers.get("mooncake.feed").handle(new UUID(2, 2), new byte[0]))
                    .hasMessageContaining("does not know whether it is a member");
            assertThat(index.holderCount(block(99).key())).isZero();

            fenced.set(false);
            TestGrid.await(
                    "all of it is repaired",
                    () -> index.holderCount(block(99).key()) == 1 && index.holderCount(block(3).key()) == 1);
        }
    }

    @Test
    void append_manyEvents_reachListenersInOrderAndOnce() {
        List<BlockKey> heard = new CopyOnWriteArrayList<>();
        try (FeedService owner = service(OWNER.incarnation(), List.of("tiny"), false)) {
            owner.addListener((pool, events) -> events.forEach(event -> heard.add(event.key())));
            owner.start();
            for (int i = 0; i < 2_000; i++) {
                owner.poolListener("tiny").onStored(block(i));
            }
            TestGrid.await("all heard", () -> heard.size() == 2_000);
            for (int i = 0; i < 2_000; i++) {
                assertThat(heard.get(i)).isEqualTo(block(i).key());
            }
        }
    }
}
