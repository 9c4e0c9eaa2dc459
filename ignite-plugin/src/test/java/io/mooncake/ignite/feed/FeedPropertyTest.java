// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.feed;

import static org.assertj.core.api.Assertions.assertThat;

import io.mooncake.ignite.index.PoolIndex;
import io.mooncake.memory.BlockKey;
import io.mooncake.memory.KvDataType;
import io.mooncake.memory.KvIdentity;
import io.mooncake.memory.ReuseMode;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.Supplier;
import org.junit.jupiter.api.Test;

/** The index equals the owner's truth whatever happens on the way. */
class FeedPropertyTest {
    private static final KvIdentity IDENTITY = new KvIdentity(
            "a".repeat(64), "b".repeat(64), "", "test-1", "none", ReuseMode.EXACT, KvDataType.F32, 1, 1, 4, 4, 1, 0);
    private static final int RUNS = Boolean.getBoolean("mooncake.long") ? 5_000 : 300;

    @Test
    void follow_lossDuplicationReordering_indexEqualsTruth() {
        long first = Long.getLong("mooncake.seed", System.nanoTime());
        int runs = System.getProperty("mooncake.seed") == null ? RUNS : 1;
        for (int run = 0; run < runs; run++) {
            long seed = first + run;
            try {
                new World(seed).run();
            } catch (AssertionError | RuntimeException e) {
                throw new AssertionError("replay with -Dmooncake.seed=" + seed, e);
            }
        }
        System.out.println("feed: " + runs + " runs from seed " + first);
    }

    /** A frame is lost, and more come behind it than a follower lets wait, before the first answer to a repair does. */
    @Test
    void follow_moreWaitsThanThereIsRoomFor_catchesUp() {
        int events = 100_000;
        PoolIndex index = new PoolIndex(IDENTITY, events);
        List<byte[]> wire = new ArrayList<>();
        ArrayDeque<Runnable> replies = new ArrayDeque<>();
        UUID incarnation = new UUID(1, 2);
        OwnerFeed owner = new OwnerFeed(
                incarnation,
                List.of("p"),
                new OwnerFeed.Publisher() {
                    @Override
                    public void publish(int version, byte[] frame) {
                        wire.add(frame);
                    }

                    @Override
                    public void onFlushed(String pool, Supplier<List<BlockEvent>> flushed) {}
                },
                64L << 20);
        OwnerFollower follower = new OwnerFollower(
                incarnation,
                2,
                Map.of("p", index.sink(new UUID(3, 4))),
                query -> {
                    CompletableFuture<byte[]> reply = new CompletableFuture<>();
                    replies.add(() -> reply.complete(owner.answer(query)));
                    return reply;
                },
                () -> 0,
                1);
        follower.start();
        replies.remove().run();
        for (int i = 0; i < events; i++) {
            BlockKey key = new BlockKey(i * 0x9E3779B97F4A7C15L, i, i, i);
            owner.append("p", BlockEvent.stored(key, key, 0, new int[] {1, 2, 3, 4}));
        }
        owner.flush();
        wire.subList(1, wire.size()).forEach(follower::onFrame);
        for (int answers = 0; answers < 1_000 && !follower.current(); answers++) {
            follower.tick();
            replies.remove().run();
        }
        assertThat(follower.current()).isTrue();
        assertThat(index.entries()).isEqualTo(events);
    }

    /** One owner, one follower and a network between them that does what the seed says. */
    private static final class World {
        private final Random random;
        private final UUID incarnation = new UUID(1, 2);
        private final PoolIndex index = new PoolIndex(IDENTITY);
        private final List<byte[]> wire = new ArrayList<>();
        private final ArrayDeque<Runnable> replies = new ArrayDeque<>();
        /** Where the owner has what it has. */
        private final Map<BlockKey, BlockPlace> truth = new HashMap<>();
        /** Events that the owner's own listener has not heard yet. */
        private final ArrayDeque<BlockEvent> said = new ArrayDeque<>();

        private final OwnerFeed owner;
        private final OwnerFollower follower;
        private final int version;
        private final double loss;
        private final double doubled;
        private final double swapped;
        private final double damaged;
        private final int keys;
        private long now;

        World(long seed) {
            random = new Random(seed);
            loss = random.nextDouble() * 0.6;
            doubled = random.nextDouble() * 0.4;
            swapped = random.nextDouble() * 0.5;
            damaged = random.nextDouble() * 0.1;
            keys = 1 + random.nextInt(200);
            version = 1 + random.nextInt(2);
            int chunkBytes = 200 + random.nextInt(random.nextBoolean() ? 1_000 : 20_000);
            int chunks = 1 + random.nextInt(4);
            owner = new OwnerFeed(
                    incarnation,
                    List.of("p"),
                    new OwnerFeed.Publisher() {
                        @Override
                        public void publish(int published, byte[] frame) {
                            if (published == version) {
                                wire.add(frame);
                            }
                        }

                        @Override
                        public void onFlushed(String pool, Supplier<List<BlockEvent>> events) {
                            for (BlockEvent event : events.get()) {
                                assertThat(event).isEqualTo(said.remove());
                            }
                        }
                    },
                    pool -> new HeldMap(),
                    pools -> new RecordRing(chunkBytes, chunks));
            owner.publishOld(version == 1);
            follower = new OwnerFollower(
                    incarnation, version, Map.of("p", index.sink(new UUID(3, 4))), this::request, () -> now, 3_000);
        }

        void run() {
            for (int i = random.nextInt(100); i > 0; i--) {
                change();
            }
            follower.start();
            for (int step = random.nextInt(400); step > 0; step--) {
                switch (random.nextInt(8)) {
                    case 0, 1, 2 -> change();
                    case 3 -> owner.flush();
                    case 4 -> owner.heartbeat();
                    case 5 -> deliver(loss);
                    case 6 -> reply();
                    default -> {
                        now += random.nextInt(2_000);
                        follower.tick();
                    }
                }
            }
            settle();
            for (int i = 0; i < keys; i++) {
                BlockKey key = key(i);
                BlockPlace place = truth.getOrDefault(key, BlockPlace.FILLING);
                assertThat(index.holderCount(key))
                        .as("holders of key " + i)
                        .isEqualTo(place == BlockPlace.FILLING ? 0 : 1);
                if (place != BlockPlace.FILLING && version == 2) {
                    assertThat(index.runs(List.of(key), 0).get(0).ssdBlocks())
                            .as("places of key " + i)
                            .isEqualTo(place == BlockPlace.SSD ? 1 : 0);
                }
            }
            if (version == 2) {
                assertThat(index.entries()).isEqualTo(truth.size());
            }
            follower.close();
            assertThat(index.entries()).isZero();
        }

        /** From here on the network delivers; within a few heartbeats all must be well. */
        private void settle() {
            for (int round = 0; round < 60; round++) {
                owner.flush();
                owner.heartbeat();
                deliver(0);
                while (!replies.isEmpty()) {
                    reply();
                }
                now += 1_000;
                follower.tick();
            }
            assertThat(follower.current()).as("follower is current").isTrue();
        }

        private void change() {
            int i = random.nextInt(keys);
            BlockKey key = key(i);
            BlockPlace place = BlockPlace.of(random.nextInt(4));
            BlockEvent event;
            if (truth.containsKey(key) && random.nextBoolean()) {
                truth.remove(key);
                event = BlockEvent.removed(key, RemovalCode.EVICTED);
            } else if (truth.put(key, place) != null && random.nextBoolean()) {
                event = BlockEvent.placed(key, place);
            } else {
                event = BlockEvent.stored(key, key(i - 1), i, new int[] {1, i, -2, 1 << i % 31}, place);
            }
            said.add(event);
            owner.append("p", event);
        }

        private static BlockKey key(int i) {
            return new BlockKey(i * 0x9E3779B97F4A7C15L, i, i, i);
        }

        private void deliver(double lost) {
            while (!wire.isEmpty()) {
                int at = random.nextDouble() < swapped ? random.nextInt(wire.size()) : 0;
                byte[] frame = random.nextDouble() < doubled ? wire.get(at) : wire.remove(at);
                if (random.nextDouble() < lost) {
                    continue;
                }
                if (lost > 0 && random.nextDouble() < damaged) {
                    frame = java.util.Arrays.copyOf(frame, random.nextInt(frame.length));
                }
                follower.onFrame(frame);
                if (lost > 0 && random.nextInt(4) == 0) {
                    return;
                }
            }
        }

        private void reply() {
            if (!replies.isEmpty()) {
                replies.poll().run();
            }
        }

        private CompletionStage<byte[]> request(byte[] query) {
            CompletableFuture<byte[]> future = new CompletableFuture<>();
            boolean lost = random.nextDouble() < loss / 2;
            replies.add(() -> {
                if (lost) {
                    future.completeExceptionally(new IllegalStateException("lost"));
                } else {
                    future.complete(owner.answer(query));
                }
            });
            return future;
        }
    }
}
