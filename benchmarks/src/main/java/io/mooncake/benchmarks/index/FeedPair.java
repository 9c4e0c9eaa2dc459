// SPDX-License-Identifier: Apache-2.0
package io.mooncake.benchmarks.index;

import io.mooncake.ignite.feed.BlockEvent;
import io.mooncake.ignite.feed.EventCursor;
import io.mooncake.ignite.feed.FeedService;
import io.mooncake.ignite.feed.FeedThread;
import io.mooncake.ignite.feed.HeldBlocks;
import io.mooncake.ignite.feed.HolderSink;
import io.mooncake.ignite.index.PoolIndex;
import io.mooncake.memory.BlockKey;
import io.mooncake.memory.BlockListener;
import io.mooncake.memory.HeldIn;
import io.mooncake.memory.StoredBlock;
import io.mooncake.transfer.TransferEngine;
import io.mooncake.transfer.TransferEngineConfig;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.UUID;
import java.util.concurrent.locks.LockSupport;

/**
 * A node that announces and one that follows it, each with an engine of its own, in this process. Blocks have 16 tokens and lie in chains of 64.
 */
final class FeedPair implements AutoCloseable {
    private static final String POOL = "bench";
    private static final String SECRET = "a secret of the feed benchmark";
    private static final UUID NODE = new UUID(3, 4);
    private static final int CHAIN = 64;
    private static final long RING_BYTES = 256L << 20;
    private static final long WAIT_NANOS = 60_000_000_000L;
    private static final int TOKEN_SETS = 256;

    /** @param announcedPerSecond by the storing thread @param appliedPerSecond until the follower has all */
    record Rate(double announcedPerSecond, double appliedPerSecond) {}

    private final TransferEngine ownerEngine = TransferEngine.start(TransferEngineConfig.of("127.0.0.1", SECRET));
    private final TransferEngine followerEngine = TransferEngine.start(TransferEngineConfig.of("127.0.0.1", SECRET));
    private final FeedService owner;
    private final FeedService follower;
    private final PoolIndex index;
    private final BlockListener announcer;
    private final int[][] tokens = new int[TOKEN_SETS][];
    /** When each event was in the index; by the event's number. */
    private final long[] appliedAt;

    FeedPair(int events) {
        index = new PoolIndex(IndexedChains.IDENTITY, events);
        appliedAt = new long[events];
        SplittableRandom random = new SplittableRandom(1);
        Arrays.setAll(
                tokens, i -> random.ints(IndexedChains.BLOCK_TOKENS, 0, 50_000).toArray());
        owner = service(ownerEngine, List.of(POOL), true, "owner");
        follower = service(followerEngine, List.of(), false, "follower");
        owner.held(POOL, new NothingHeld());
        announcer = owner.poolListener(POOL);
        owner.start();
        follower.start();
        follower.follow(NODE, ownerEngine.address(), FeedService.MAX_VERSION, Map.of(POOL, this::stamping));
        await(() -> follower.followed() == 1 && follower.current());
    }

    private static FeedService service(TransferEngine engine, List<String> pools, boolean announces, String name) {
        return new FeedService(
                engine.control(),
                engine.incarnation(),
                pools,
                announces,
                Duration.ofMillis(200),
                RING_BYTES,
                System::nanoTime,
                FeedThread.start("bench-feed-" + name));
    }

    /** Stores {@code events} blocks as fast as one thread can. */
    Rate announce(int events) {
        StoredBlock[] blocks = new StoredBlock[events];
        Arrays.setAll(blocks, this::block);
        long start = System.nanoTime();
        for (StoredBlock block : blocks) {
            announcer.onStored(block, HeldIn.DRAM);
        }
        double announced = events / ((System.nanoTime() - start) / 1e9);
        await(() -> index.entries() == events);
        return new Rate(announced, events / ((System.nanoTime() - start) / 1e9));
    }

    /** Stores {@code events} blocks at {@code perSecond}. @return microseconds from each store until the other node's index has it */
    double[] pace(int events, int perSecond) {
        StoredBlock[] blocks = new StoredBlock[events];
        Arrays.setAll(blocks, this::block);
        long[] storedAt = new long[events];
        long start = System.nanoTime();
        for (int i = 0; i < events; ) {
            long due = Math.min(events, (System.nanoTime() - start) * perSecond / 1_000_000_000L + 1);
            for (; i < due; i++) {
                storedAt[i] = System.nanoTime();
                announcer.onStored(blocks[i], HeldIn.DRAM);
            }
            LockSupport.parkNanos(200_000);
        }
        await(() -> index.entries() == events);
        double[] micros = new double[events];
        Arrays.setAll(micros, i -> (appliedAt[i] - storedAt[i]) / 1e3);
        return micros;
    }

    long repairs() {
        return follower.repairs();
    }

    private StoredBlock block(int number) {
        int depth = number % CHAIN;
        return new StoredBlock(
                key(number), depth == 0 ? key(-1) : key(number - 1), depth, tokens[number % TOKEN_SETS], 1, "default");
    }

    private static BlockKey key(long number) {
        return new BlockKey(number * 0x9E37_79B9_7F4A_7C15L, ~number * 0xD6E8_FEB8_6659_FD93L, 7, number);
    }

    /** The index's own sink, with the time at which each event was in it. */
    private HolderSink.Copy stamping() {
        HolderSink.Copy copy = index.sink(NODE).begin();
        return new HolderSink.Copy() {
            @Override
            public void apply(EventCursor event) {
                copy.apply(event);
                appliedAt[(int) event.key()[3]] = System.nanoTime();
            }

            @Override
            public void show() {
                copy.show();
            }

            @Override
            public void drop() {
                copy.drop();
            }

            @Override
            public void lose() {
                copy.lose();
            }
        };
    }

    private static void await(java.util.function.BooleanSupplier condition) {
        long until = System.nanoTime() + WAIT_NANOS;
        while (!condition.getAsBoolean()) {
            if (System.nanoTime() > until) {
                throw new IllegalStateException("the follower does not have everything after a minute");
            }
            LockSupport.parkNanos(100_000);
        }
    }

    @Override
    public void close() {
        follower.close();
        owner.close();
        followerEngine.close();
        ownerEngine.close();
    }

    /** The blocks of this benchmark are in no memory: who misses more than the ring has fails it. */
    private static final class NothingHeld implements HeldBlocks {
        @Override
        public void onEvent(BlockEvent event) {}

        @Override
        public long read(long cursor, Page page) {
            return -1;
        }
    }
}
