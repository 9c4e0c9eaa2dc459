// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.feed;

import io.mooncake.base.Deadline;
import io.mooncake.base.MooncakeException;
import io.mooncake.ignite.index.PoolIndex;
import io.mooncake.memory.BlockKey;
import io.mooncake.memory.KvDataType;
import io.mooncake.memory.KvIdentity;
import io.mooncake.memory.ReuseMode;
import io.mooncake.transfer.ControlPlane;
import io.mooncake.transfer.PeerAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/**
 * Three owners and two followers in one thread, by one clock and one seed: shipped services, followers and indexes on a network that loses, doubles,
 * delays and reorders, is cut now and then, and whose owners crash and come back as another life at the same address.
 */
final class FeedWorld {
    private static final KvIdentity IDENTITY = new KvIdentity(
            "a".repeat(64), "b".repeat(64), "", "test-1", "none", ReuseMode.EXACT, KvDataType.F32, 1, 1, 4, 4, 1, 0);
    private static final String POOL = "p";
    private static final int OWNERS = 3;
    private static final int FOLLOWERS = 2;
    private static final int KEYS = 40;
    private static final long SECOND = 1_000_000_000L;
    private static final int PAGE_BLOCKS = 7;

    private final Random random;
    private final FeedChecks checks;
    private final AtomicLong now = new AtomicLong();
    private final ManualThread loop = new ManualThread(now);
    private final List<Subscriber> subscribers = new ArrayList<>();
    private final Owner[] owners = new Owner[OWNERS];
    private final Follower[] followers = new Follower[FOLLOWERS];
    private final double loss;
    private final double doubled;
    private final int tokens;
    private boolean quiet;
    private long cutUntil;
    private int cutOwner;

    FeedWorld(long seed, FeedChecks checks) {
        random = new Random(seed);
        this.checks = checks;
        loss = random.nextDouble() * 0.3;
        doubled = random.nextDouble() * 0.3;
        // Long ones go through the owners' rings sooner than followers ask for them.
        tokens = random.nextInt(3) == 0 ? 300 : 4;
        for (int i = 0; i < OWNERS; i++) {
            owners[i] = new Owner(i);
        }
        for (int i = 0; i < FOLLOWERS; i++) {
            followers[i] = new Follower();
        }
    }

    void run() {
        for (int i = 0; i < OWNERS; i++) {
            announceMember(owners[i]);
        }
        for (int step = 40 + random.nextInt(120); step > 0; step--) {
            loop.runUntil(now.get() + random.nextInt(200) * SECOND / 1_000);
            Owner owner = owners[random.nextInt(OWNERS)];
            switch (random.nextInt(40)) {
                case 0 -> restart(owner);
                case 1 -> cut(owner);
                default -> owner.change();
            }
            checkTheDead();
        }
        quiet = true;
        cutUntil = 0;
        loop.runUntil(now.get() + 20 * SECOND);
        checkTheDead();
        for (Follower follower : followers) {
            check(follower);
        }
        for (Follower follower : followers) {
            follower.service.close();
        }
    }

    private void cut(Owner owner) {
        cutOwner = owner.place;
        cutUntil = now.get() + random.nextInt(5_000) * SECOND / 1_000;
    }

    private void restart(Owner owner) {
        owner.alive = false;
        Owner next = new Owner(owner.place);
        owners[owner.place] = next;
        // Each follower hears of it in its own time; from then on nothing of the old life may be found.
        for (Follower follower : followers) {
            loop.after(delay(500), () -> {
                follower.service.unfollow(owner.nodeId);
                loop.execute(() -> follower.dead.add(owner.nodeId));
            });
        }
        loop.after(Duration.ofMillis(501), () -> {
            // One that is gone by now was never seen.
            if (next.alive) {
                announceMember(next);
            }
        });
    }

    private void announceMember(Owner owner) {
        for (Follower follower : followers) {
            int version = 1 + random.nextInt(2);
            follower.service.follow(
                    owner.nodeId, owner.address, version, Map.of(POOL, follower.index.sink(owner.nodeId)));
        }
    }

    private Duration delay(int mostMillis) {
        return Duration.ofNanos(random.nextInt(mostMillis) * SECOND / 1_000);
    }

    private void checkTheDead() {
        for (Follower follower : followers) {
            for (int i = 0; i < KEYS && !follower.dead.isEmpty(); i++) {
                for (PoolIndex.Run run : follower.index.runs(List.of(key(i)), 0)) {
                    require(!follower.dead.contains(run.nodeId()), "key " + i + " is found with a dead owner");
                }
            }
        }
    }

    private void check(Follower follower) {
        require(follower.service.current(), "a follower is behind on a quiet network");
        for (int i = 0; i < KEYS; i++) {
            BlockKey key = key(i);
            Map<UUID, Integer> expected = new HashMap<>();
            for (Owner owner : owners) {
                BlockEvent held = owner.truth.get(i);
                if (held != null && held.place() != BlockPlace.FILLING) {
                    boolean cold = held.place() == BlockPlace.SSD
                            && follower.service
                                            .followed(owner.nodeId)
                                            .orElseThrow()
                                            .version()
                                    == 2;
                    expected.put(owner.nodeId, cold ? 1 : 0);
                }
            }
            Map<UUID, Integer> found = new HashMap<>();
            follower.index.runs(List.of(key), 0).forEach(run -> found.put(run.nodeId(), run.ssdBlocks()));
            require(found.equals(expected), "holders of key " + i + ": " + found + " (expected: " + expected + ")");
        }
    }

    private static void require(boolean holds, String otherwise) {
        if (!holds) {
            throw new AssertionError(otherwise);
        }
    }

    private static BlockKey key(int i) {
        return new BlockKey(i * 0x9E37_79B9_7F4A_7C15L, i, i, i);
    }

    /** One life of an owner. What it holds is the truth, and read for snapshots, as a pool is. */
    private final class Owner implements HeldBlocks {
        private final int place;
        private final UUID nodeId = new UUID(random.nextLong(), random.nextLong());
        private final PeerAddress address;
        private final TreeMap<Integer, BlockEvent> truth = new TreeMap<>();
        private final OwnerFeed feed;
        private boolean alive = true;

        Owner(int place) {
            this.place = place;
            UUID incarnation = new UUID(random.nextLong(), random.nextLong());
            address = new PeerAddress(incarnation, "127.0.0.1", 1 + place, 10 + place, 20 + place);
            feed = new OwnerFeed(
                    incarnation,
                    List.of(POOL),
                    new OwnerFeed.Publisher() {
                        @Override
                        public void publish(int version, byte[] frame) {
                            send(Owner.this.place, version, frame);
                        }

                        @Override
                        public void onFlushed(String pool, java.util.function.Supplier<List<BlockEvent>> events) {}
                    },
                    pool -> this,
                    pools -> new RecordRing(4 << 10, 2));
            feed.publishOld(true);
            beat();
        }

        private void beat() {
            if (alive) {
                feed.flush();
                feed.heartbeat();
                loop.after(Duration.ofMillis(500), this::beat);
            }
        }

        void change() {
            // Half of the time a chain in its order, which is told in short.
            boolean chain = random.nextBoolean();
            int first = random.nextInt(KEYS);
            for (int i = random.nextInt(8); i >= 0; i--) {
                int number = chain ? (first - i + KEYS) % KEYS : random.nextInt(KEYS);
                BlockPlace where = BlockPlace.of(random.nextInt(4));
                BlockEvent event;
                if (truth.containsKey(number) && random.nextBoolean()) {
                    truth.remove(number);
                    event = BlockEvent.removed(key(number), RemovalCode.EVICTED);
                } else if (random.nextInt(4) == 0) {
                    event = BlockEvent.placed(key(number), where);
                    truth.put(number, BlockEvent.stored(key(number), key(number - 1), number, new int[tokens], where));
                } else {
                    event = BlockEvent.stored(key(number), key(number - 1), number, new int[tokens], where);
                    truth.put(number, event);
                }
                feed.append(POOL, event);
            }
            if (random.nextBoolean()) {
                feed.flush();
            }
        }

        @Override
        public void onEvent(BlockEvent event) {}

        @Override
        public long read(long cursor, Page page) {
            int told = 0;
            for (Map.Entry<Integer, BlockEvent> entry :
                    truth.tailMap((int) cursor).entrySet()) {
                if (told++ == PAGE_BLOCKS || !page.add(entry.getValue())) {
                    return entry.getKey();
                }
            }
            return -1;
        }
    }

    private final class Follower {
        private final PoolIndex index = new PoolIndex(IDENTITY, 1_024);
        private final java.util.Set<UUID> dead = new java.util.HashSet<>();
        private final FeedService service = new FeedService(
                new Network(), new UUID(7, 7), List.of(), false, Duration.ofMillis(500), 0, now::get, loop, checks);

        Follower() {
            service.start();
        }
    }

    private record Subscriber(int owner, String topic, ControlPlane.EventListener listener) {}

    private boolean arrives(int owner) {
        return quiet || random.nextDouble() >= loss && !(owner == cutOwner && now.get() < cutUntil);
    }

    /** A frame on its way: to whoever listens at the owner's address when it arrives, whichever life they mean. */
    private void send(int owner, int version, byte[] frame) {
        String topic = version == 1 ? "mooncake.feed" : "mooncake.feed2";
        for (Subscriber subscriber : List.copyOf(subscribers)) {
            if (subscriber.owner() == owner && subscriber.topic().equals(topic)) {
                for (int copies = random.nextDouble() < doubled ? 2 : 1; copies > 0 && arrives(owner); copies--) {
                    loop.after(delay(quiet ? 5 : 700), () -> subscribers.stream()
                            .filter(same ->
                                    same.owner() == owner && same.topic().equals(topic))
                            .toList()
                            .forEach(same -> same.listener().onEvent(frame)));
                }
            }
        }
    }

    /** What a follower has of the network. */
    private final class Network implements ControlPlane {
        @Override
        public void handle(String service, RequestHandler handler) {
            throw new UnsupportedOperationException(service);
        }

        @Override
        public CompletionStage<byte[]> request(PeerAddress peer, String service, byte[] payload, Deadline deadline) {
            CompletableFuture<byte[]> reply = new CompletableFuture<>();
            int place = peer.controlPort() - owners[0].address.controlPort();
            boolean goes = arrives(place);
            boolean comesBack = arrives(place);
            loop.after(delay(quiet ? 5 : 300), () -> {
                byte[] answer = goes && comesBack ? answer(owners[place], payload) : null;
                Duration way = answer == null ? Duration.ofSeconds(2) : delay(quiet ? 5 : 300);
                loop.after(way, () -> finish(reply, answer));
            });
            return reply;
        }

        private byte @Nullable [] answer(Owner owner, byte[] payload) {
            try {
                return owner.feed.answer(payload);
            } catch (MooncakeException e) {
                return null;
            }
        }

        private void finish(CompletableFuture<byte[]> reply, byte @Nullable [] answer) {
            if (answer == null) {
                reply.completeExceptionally(
                        new MooncakeException(MooncakeException.Code.DEADLINE_EXCEEDED, "no answer"));
            } else {
                reply.complete(answer);
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
        public void publish(String topic, byte[] payload) {}

        @Override
        public Subscription subscribe(PeerAddress peer, String topic, EventListener listener) {
            Subscriber subscriber =
                    new Subscriber(peer.controlPort() - owners[0].address.controlPort(), topic, listener);
            subscribers.add(subscriber);
            return () -> subscribers.remove(subscriber);
        }
    }
}
