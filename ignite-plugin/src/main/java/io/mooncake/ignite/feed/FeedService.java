// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.feed;

import io.mooncake.base.Deadline;
import io.mooncake.memory.BlockKey;
import io.mooncake.memory.BlockListener;
import io.mooncake.memory.StoredBlock;
import io.mooncake.transfer.ControlPlane;
import io.mooncake.transfer.PeerAddress;
import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.Executors;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Runs the feed of one node: its own stream out, the streams of others in.
 *
 * <p>One thread does everything that is timed or ordered: flushes, heartbeats, ticks, following and unfollowing. Events are appended by the
 * threads that store and evict; followers are written by the engine's control threads.
 */
public final class FeedService implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(FeedService.class);
    private static final String NAME = "mooncake.feed";
    private static final long FLUSH_MILLIS = 5;
    private static final long SILENT_SECONDS = 8;
    private static final Duration REQUEST_TIMEOUT = Duration.ofSeconds(2);

    private final ControlPlane control;
    private final boolean announces;
    private final OwnerFeed owner;
    private final LongSupplier nanoClock;
    private final long heartbeatMillis;
    private final ScheduledExecutorService thread;
    private final List<BlockEventListener> listeners = new CopyOnWriteArrayList<>();
    private final Map<UUID, Following> following = new ConcurrentHashMap<>();
    private final AtomicBoolean flushDue = new AtomicBoolean();

    /** One owner that is followed. The warning flag is written by the feed's thread alone. */
    private static final class Following {
        private final PeerAddress address;
        private final OwnerFollower follower;
        private ControlPlane.@Nullable Subscription subscription;
        private boolean warned;

        Following(PeerAddress address, OwnerFollower follower) {
            this.address = address;
            this.follower = follower;
        }
    }

    /**
     * @param control the engine's messages
     * @param incarnation the engine's life
     * @param node name for threads and messages
     * @param pools this node's pools
     * @param announces whether others may hear of them
     */
    public FeedService(
            ControlPlane control,
            UUID incarnation,
            String node,
            Collection<String> pools,
            boolean announces,
            Duration heartbeat,
            LongSupplier nanoClock) {
        this.control = control;
        this.announces = announces;
        this.nanoClock = nanoClock;
        this.heartbeatMillis = heartbeat.toMillis();
        this.owner = new OwnerFeed(incarnation, pools, this::publish, this::tell);
        this.thread = Executors.newSingleThreadScheduledExecutor(work -> {
            Thread made = new Thread(work, "mooncake-feed-" + node);
            made.setDaemon(true);
            return made;
        });
    }

    /** Begins to answer, to publish and to watch. */
    public void start() {
        if (announces) {
            control.handle(NAME, (from, query) -> owner.answer(query));
        }
        thread.scheduleWithFixedDelay(guarded(this::flush), FLUSH_MILLIS, FLUSH_MILLIS, TimeUnit.MILLISECONDS);
        thread.scheduleWithFixedDelay(guarded(this::beat), heartbeatMillis, heartbeatMillis, TimeUnit.MILLISECONDS);
    }

    /** What the local pool {@code pool} must tell. */
    public BlockListener poolListener(String pool) {
        return new BlockListener() {
            @Override
            public void onStored(StoredBlock block) {
                append(pool, BlockEvent.stored(block.key(), block.parent(), block.depth(), block.tokens()));
            }

            @Override
            public void onRemoved(BlockKey key, long generation) {
                append(pool, BlockEvent.removed(key, RemovalCause.UNKNOWN));
            }
        };
    }

    /** Hears of this node's own blocks, on the feed's thread. */
    public void addListener(BlockEventListener listener) {
        listeners.add(listener);
    }

    /** Follows a node until {@link #unfollow}. Returns at once. */
    public void follow(UUID nodeId, PeerAddress address, Map<String, HolderSink> sinks) {
        execute(() -> {
            OwnerFollower follower = new OwnerFollower(
                    address.incarnation(),
                    sinks,
                    query -> control.request(address, NAME, query, Deadline.of(REQUEST_TIMEOUT)),
                    nanoClock,
                    TimeUnit.MILLISECONDS.toNanos(3 * heartbeatMillis));
            Following entry = new Following(address, follower);
            Following before = following.put(nodeId, entry);
            if (before != null) {
                end(before);
            }
            entry.subscription = control.subscribe(address, NAME, follower::onFrame);
            follower.start();
        });
    }

    /** Ends following; what the node announced is void. Returns at once. */
    public void unfollow(UUID nodeId) {
        execute(() -> {
            Following entry = following.remove(nodeId);
            if (entry != null) {
                end(entry);
            }
        });
    }

    /** Nodes that are followed. */
    public int followed() {
        return following.size();
    }

    /** How well {@code nodeId} is heard; empty for a node that is not followed. */
    public Optional<FollowedOwner> followed(UUID nodeId) {
        Following entry = following.get(nodeId);
        if (entry == null) {
            return Optional.empty();
        }
        OwnerFollower follower = entry.follower;
        return Optional.of(new FollowedOwner(
                follower.current(),
                follower.silentNanos(),
                silent(entry),
                follower.repairs(),
                follower.snapshots(),
                follower.badFrames()));
    }

    /** Whether everything that the followed nodes are known to have said is in the index. */
    public boolean current() {
        return following.values().stream().allMatch(entry -> entry.follower.current());
    }

    /** Followed nodes of which nothing was heard for some seconds. */
    public long silent() {
        return following.values().stream().filter(FeedService::silent).count();
    }

    /** Gaps that were repaired by request. */
    public long repairs() {
        return following.values().stream()
                .mapToLong(entry -> entry.follower.repairs())
                .sum();
    }

    /** Snapshots taken. */
    public long snapshots() {
        return following.values().stream()
                .mapToLong(entry -> entry.follower.snapshots())
                .sum();
    }

    /** Frames dropped as malformed. */
    public long badFrames() {
        return following.values().stream()
                .mapToLong(entry -> entry.follower.badFrames())
                .sum();
    }

    @Override
    public void close() {
        thread.shutdownNow();
        try {
            if (!thread.awaitTermination(5, TimeUnit.SECONDS)) {
                LOG.warn("The feed's thread did not end within 5 s");
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        following.values().forEach(FeedService::end);
        following.clear();
    }

    private void append(String pool, BlockEvent event) {
        if (owner.append(pool, event) && flushDue.compareAndSet(false, true)) {
            execute(this::flush);
        }
    }

    private void flush() {
        flushDue.set(false);
        owner.flush();
    }

    private void publish(byte[] frame) {
        if (announces) {
            control.publish(NAME, frame);
        }
    }

    private void tell(String pool, List<BlockEvent> events) {
        for (BlockEventListener listener : listeners) {
            try {
                listener.onBlocks(pool, events);
            } catch (RuntimeException e) {
                LOG.warn("A listener of block events failed", e);
            }
        }
    }

    private void beat() {
        if (announces) {
            owner.heartbeat();
        }
        for (Following entry : following.values()) {
            entry.follower.tick();
            boolean silent = silent(entry);
            if (silent && !entry.warned) {
                LOG.warn(
                        "Nothing was heard from {} for {} s although it is in the topology: its blocks may be missed",
                        entry.address.encode(),
                        SILENT_SECONDS);
            }
            entry.warned = silent;
        }
    }

    private static boolean silent(Following entry) {
        return entry.follower.silentNanos() > TimeUnit.SECONDS.toNanos(SILENT_SECONDS);
    }

    private static void end(Following entry) {
        entry.follower.close();
        if (entry.subscription != null) {
            entry.subscription.close();
        }
    }

    private void execute(Runnable work) {
        try {
            thread.execute(guarded(work));
        } catch (RejectedExecutionException e) {
            LOG.debug("The feed is closed", e);
        }
    }

    /** One failure must not end a repeated task. */
    private Runnable guarded(Runnable work) {
        return () -> {
            try {
                work.run();
            } catch (RuntimeException e) {
                if (!thread.isShutdown()) {
                    LOG.warn("The feed goes on after a failure", e);
                }
            }
        };
    }
}
