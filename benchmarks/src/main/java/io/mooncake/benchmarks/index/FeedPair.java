// SPDX-License-Identifier: Apache-2.0
package io.mooncake.benchmarks.index;

import io.mooncake.benchmarks.transfer.ChildProcess;
import io.mooncake.benchmarks.transfer.JavaCommand;
import io.mooncake.examples.cli.Home;
import io.mooncake.ignite.feed.EventCursor;
import io.mooncake.ignite.feed.FeedService;
import io.mooncake.ignite.feed.FeedThread;
import io.mooncake.ignite.feed.HolderSink;
import io.mooncake.ignite.index.PoolIndex;
import io.mooncake.transfer.PeerAddress;
import io.mooncake.transfer.TransferEngine;
import io.mooncake.transfer.TransferEngineConfig;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.locks.LockSupport;

/** A node that follows another one, {@link FeedOwnerMain}, in a process of its own; each has an engine. */
final class FeedPair implements AutoCloseable {
    static final String POOL = "bench";
    private static final String SECRET = "a secret of the feed benchmark";
    private static final UUID NODE = new UUID(3, 4);
    private static final long RING_BYTES = 256L << 20;
    private static final long WAIT_NANOS = 60_000_000_000L;
    private static final long ANSWER_MILLIS = 120_000;

    /** @param announcedPerSecond by the storing thread @param appliedPerSecond until the follower has all */
    record Rate(double announcedPerSecond, double appliedPerSecond) {}

    private final ChildProcess owner;
    private final TransferEngine engine = TransferEngine.start(config());
    private final FeedService follower;
    private final PoolIndex index;
    /** From when a block was stored until it was in the index; by the block's number. */
    private final double[] micros;

    /** @param owner that {@link #startOwner} started; it makes a new feed for this pair */
    FeedPair(ChildProcess owner, int events) {
        this.owner = owner;
        index = new PoolIndex(IndexedChains.IDENTITY, events);
        micros = new double[events];
        PeerAddress address =
                PeerAddress.parse(owner.ask("open", "READY", ANSWER_MILLIS).split(" ", -1)[1]);
        follower = service(engine, List.of(), false, "follower");
        follower.start();
        follower.follow(NODE, address, FeedService.MAX_VERSION, Map.of(POOL, this::stamping));
        await(() -> follower.followed() == 1 && follower.current());
    }

    /** The announcing process; the caller owes a close. */
    static ChildProcess startOwner() {
        return ChildProcess.start(
                "feed-owner",
                JavaCommand.of("feed-owner", "512m", "1g", List.of(), FeedOwnerMain.class, List.of()),
                Map.of(),
                Home.folder("target/bench/logs/feed-owner.err"));
    }

    static TransferEngineConfig config() {
        return TransferEngineConfig.of("127.0.0.1", SECRET);
    }

    static FeedService service(TransferEngine engine, List<String> pools, boolean announces, String name) {
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
        String[] told =
                owner.ask("announce " + events, "announced", ANSWER_MILLIS).split(" ", -1);
        await(() -> index.entries() == events);
        double seconds = (System.nanoTime() - Long.parseLong(told[1])) / 1e9;
        return new Rate(Double.parseDouble(told[2]), events / seconds);
    }

    /** Stores {@code events} blocks at {@code perSecond}. @return microseconds from each store until this node's index has it */
    double[] pace(int events, int perSecond) {
        owner.ask("pace " + events + " " + perSecond, "paced", ANSWER_MILLIS);
        await(() -> index.entries() == events);
        return micros;
    }

    long repairs() {
        return follower.repairs();
    }

    /** The index's own sink, with the time that each event took. */
    private HolderSink.Copy stamping() {
        HolderSink.Copy copy = index.sink(NODE).begin();
        return new HolderSink.Copy() {
            @Override
            public void apply(EventCursor event) {
                copy.apply(event);
                micros[(int) event.key()[3]] = (System.nanoTime() - event.key()[2]) / 1e3;
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
        engine.close();
    }
}
