// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.feed;

import static org.assertj.core.api.Assertions.assertThat;

import io.mooncake.ignite.TestBlocks;
import io.mooncake.ignite.TestGrid;
import io.mooncake.ignite.index.PoolIndex;
import io.mooncake.memory.BlockKey;
import io.mooncake.memory.HeldIn;
import io.mooncake.memory.KvIdentity;
import io.mooncake.memory.LocalKvPool;
import io.mooncake.memory.MemoryRegion;
import io.mooncake.memory.SsdTier;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Followers of a real pool that come while it changes: snapshots are read out of the pool itself, page by page, and agree with its events. */
class PoolFeedTest {
    private static final KvIdentity IDENTITY =
            TestGrid.pool("tiny").toDefinition().identity();
    private static final UUID INCARNATION = new UUID(1, 2);
    private static final int BLOCKS = 60;

    @TempDir
    Path folder;

    /** Those in even places follow in version 2, the others in version 1. */
    private final List<OwnerFollower> followers = new CopyOnWriteArrayList<>();

    @Test
    void snapshot_poolChangesMeanwhile_indexesEqualThePool() throws Exception {
        long bytes = BLOCKS * LocalKvPool.blockStrideBytes(IDENTITY) + 4096;
        try (MemoryRegion region = MemoryRegion.allocate(bytes);
                LocalKvPool pool = LocalKvPool.create("tiny", IDENTITY, 30_000, region, 0, bytes, "lru")) {
            OwnerFeed owner = owner();
            pool.addListener(listener(owner));
            owner.held("tiny", new PoolBlocks(pool, null));
            check(pool, null, owner);
        }
    }

    @Test
    void snapshot_poolWithSsdChangesMeanwhile_indexesEqualThePool() throws Exception {
        long bytes = BLOCKS * LocalKvPool.blockStrideBytes(IDENTITY) + 4096;
        OwnerFeed owner = owner();
        try (MemoryRegion region = MemoryRegion.allocate(bytes);
                LocalKvPool pool = LocalKvPool.create("tiny", IDENTITY, 30_000, region, 0, bytes, "lru");
                SsdTier tier = SsdTier.open(
                        pool,
                        SsdTier.settings(pool, folder, "node", 200 * LocalKvPool.blockStrideBytes(IDENTITY))
                                .commitMillis(5)
                                .build(),
                        List.of(listener(owner)))) {
            owner.held("tiny", new PoolBlocks(pool, tier));
            check(pool, tier, owner);
        }
    }

    private OwnerFeed owner() {
        OwnerFeed owner = new OwnerFeed(
                INCARNATION,
                List.of("tiny"),
                new OwnerFeed.Publisher() {
                    @Override
                    public void publish(int version, byte[] frame) {
                        for (int i = version % 2; i < followers.size(); i += 2) {
                            followers.get(i).onFrame(frame);
                        }
                    }

                    @Override
                    public void onFlushed(String pool, Supplier<List<BlockEvent>> events) {}
                },
                4 << 20);
        owner.publishOld(true);
        return owner;
    }

    private static io.mooncake.memory.BlockListener listener(OwnerFeed owner) {
        return FeedService.listener(event -> owner.append("tiny", event));
    }

    private void check(LocalKvPool pool, @Nullable SsdTier tier, OwnerFeed owner) throws Exception {
        long seed = Long.getLong("mooncake.seed", System.nanoTime());
        System.out.println("pool feed mooncake.seed=" + seed);
        int rounds = Boolean.getBoolean("mooncake.long") ? 300 : 15;
        AtomicBoolean over = new AtomicBoolean();
        AtomicInteger stores = new AtomicInteger();
        AtomicReference<Throwable> failure = new AtomicReference<>();
        PoolIndex index = new PoolIndex(IDENTITY);
        Thread changer = new Thread(() -> {
            Random random = new Random(seed);
            try {
                while (!over.get()) {
                    TestBlocks.store(pool, TestBlocks.prompt(random.nextInt(40), 16 * (1 + random.nextInt(12)) + 1));
                    owner.flush();
                    stores.incrementAndGet();
                }
            } catch (RuntimeException | Error e) {
                failure.set(e);
            }
        });
        changer.start();
        try {
            for (int i = 0; i < rounds; i++) {
                int least = 5 * i + 5;
                TestGrid.await("the pool changes", () -> stores.get() >= least || failure.get() != null);
                OwnerFollower follower = new OwnerFollower(
                        INCARNATION,
                        2 - i % 2,
                        Map.of("tiny", index.sink(new UUID(5, i))),
                        query -> answer(owner, query),
                        System::nanoTime,
                        1_000_000_000L);
                followers.add(follower);
                follower.start();
            }
        } finally {
            over.set(true);
            changer.join(60_000);
        }
        assertThat(failure.get()).isNull();
        assertThat(changer.isAlive()).isFalse();
        TestGrid.await("indexes equal the pool", () -> {
            owner.flush();
            owner.heartbeat();
            followers.forEach(OwnerFollower::tick);
            Map<BlockKey, HeldIn> held = new HashMap<>();
            for (int at = 0; at != LocalKvPool.WALK_END; ) {
                at = SsdTier.forEachHeld(pool, tier, at, 100, block -> held.put(block.key(), block.where()));
            }
            assertThat(followers).allMatch(OwnerFollower::current);
            assertThat(index.entries()).isEqualTo((long) rounds * held.size());
            held.forEach((key, where) -> {
                List<PoolIndex.Run> runs = index.runs(List.of(key), 0);
                assertThat(runs).hasSize(rounds);
                for (PoolIndex.Run run : runs) {
                    boolean old = run.nodeId().getLeastSignificantBits() % 2 == 1;
                    assertThat(run.ssdBlocks()).isEqualTo(where == HeldIn.SSD && !old ? 1 : 0);
                }
            });
            return !held.isEmpty();
        });
    }

    private static CompletionStage<byte[]> answer(OwnerFeed owner, byte[] query) {
        try {
            return CompletableFuture.completedFuture(owner.answer(query));
        } catch (RuntimeException e) {
            return CompletableFuture.failedFuture(e);
        }
    }
}
