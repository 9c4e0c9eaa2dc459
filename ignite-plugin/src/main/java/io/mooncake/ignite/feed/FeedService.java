// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.feed;

import io.mooncake.base.Deadline;
import io.mooncake.base.MooncakeException;
import io.mooncake.memory.BlockKey;
import io.mooncake.memory.BlockListener;
import io.mooncake.memory.HeldIn;
import io.mooncake.memory.RemovalCause;
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
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
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
    /** The service, and the topic of version 1. */
    private static final String NAME = "mooncake.feed";

    private static final String TOPIC_V2 = "mooncake.feed2";
    /** The newest version of the feed. */
    public static final int MAX_VERSION = FeedFrameV2Descriptor.VERSION;
    /** How long the first event waits for others. */
    private static final Duration FLUSH = Duration.ofMillis(1);

    private static final long SILENT_SECONDS = 8;
    private static final Duration REQUEST_TIMEOUT = Duration.ofSeconds(2);

    private final ControlPlane control;
    private final boolean announces;
    private final FeedChecks checks;
    private final OwnerFeed owner;
    private final LongSupplier nanoClock;
    private final Duration heartbeat;
    private final FeedThread thread;
    private final List<BlockEventListener> listeners = new CopyOnWriteArrayList<>();
    private final Map<UUID, Following> following = new ConcurrentHashMap<>();
    private final AtomicBoolean flushDue = new AtomicBoolean();
    private final AtomicLong silences = new AtomicLong();
    private volatile BooleanSupplier fenced = () -> false;

    /** One owner that is followed. The warning flag is written by the feed's thread alone. */
    private static final class Following {
        private final PeerAddress address;
        private final int version;
        private final OwnerFollower follower;
        private ControlPlane.@Nullable Subscription subscription;
        private boolean warned;

        Following(PeerAddress address, int version, OwnerFollower follower) {
            this.address = address;
            this.version = version;
            this.follower = follower;
        }
    }

    /**
     * @param control the engine's messages
     * @param incarnation the engine's life
     * @param pools this node's pools
     * @param announces whether others may hear of them
     * @param ringBytes off the heap, for the last events
     * @param nanoClock monotonic time
     * @param thread to work on; closed with this service
     */
    public FeedService(
            ControlPlane control,
            UUID incarnation,
            Collection<String> pools,
            boolean announces,
            Duration heartbeat,
            long ringBytes,
            LongSupplier nanoClock,
            FeedThread thread) {
        this(control, incarnation, pools, announces, heartbeat, ringBytes, nanoClock, thread, FeedChecks.ALL);
    }

    /** @param checks those of the followers; a simulation leaves one out */
    FeedService(
            ControlPlane control,
            UUID incarnation,
            Collection<String> pools,
            boolean announces,
            Duration heartbeat,
            long ringBytes,
            LongSupplier nanoClock,
            FeedThread thread,
            FeedChecks checks) {
        this.checks = checks;
        this.control = control;
        this.announces = announces;
        this.nanoClock = nanoClock;
        this.heartbeat = heartbeat;
        this.owner = new OwnerFeed(incarnation, pools, new Own(), ringBytes);
        this.thread = thread;
    }

    /** Begins to answer, to publish and to watch. */
    public void start() {
        if (announces) {
            control.handle(NAME, (from, query) -> {
                if (fenced.getAsBoolean()) {
                    throw new MooncakeException(
                            MooncakeException.Code.STALE, "feed: this node does not know whether it is a member still");
                }
                return owner.answer(query);
            });
        }
        thread.every(heartbeat, this::beat);
    }

    /** While {@code by} says so nothing is announced; followers repair what they missed afterwards. */
    public void fencedBy(BooleanSupplier by) {
        fenced = by;
    }

    /** What the local pool {@code pool} must tell. */
    public BlockListener poolListener(String pool) {
        return listener(event -> append(pool, event));
    }

    /** Where followers that come late find what {@code pool} holds; by default it is counted from the events, some hundred bytes a block. */
    public void held(String pool, HeldBlocks blocks) {
        owner.held(pool, blocks);
    }

    static BlockListener listener(Consumer<BlockEvent> events) {
        return new BlockListener() {
            @Override
            public void onStored(StoredBlock block) {
                onStored(block, HeldIn.DRAM);
            }

            @Override
            public void onStored(StoredBlock block, HeldIn where) {
                events.accept(
                        BlockEvent.stored(block.key(), block.parent(), block.depth(), block.tokens(), place(where)));
            }

            @Override
            public void onTierChanged(BlockKey key, long generation, HeldIn where) {
                events.accept(BlockEvent.placed(key, place(where)));
            }

            @Override
            public void onRemoved(BlockKey key, long generation, RemovalCause cause) {
                events.accept(BlockEvent.removed(key, RemovalCode.of(cause)));
            }
        };
    }

    static BlockPlace place(HeldIn where) {
        return switch (where) {
            case DRAM -> BlockPlace.MEMORY;
            case DRAM_AND_SSD -> BlockPlace.BOTH;
            case SSD -> BlockPlace.SSD;
        };
    }

    /** Hears of this node's own blocks, on the feed's thread. */
    public void addListener(BlockEventListener listener) {
        listeners.add(listener);
    }

    /** Whether nodes are there that follow in version 1 alone: what this node has to say is told in it, too, then. */
    public void publishOld(boolean wanted) {
        owner.publishOld(wanted);
    }

    /**
     * Follows a node until {@link #unfollow}. Returns at once.
     *
     * @param version of the feed that both speak, 1..{@link #MAX_VERSION}
     */
    public void follow(UUID nodeId, PeerAddress address, int version, Map<String, HolderSink> sinks) {
        thread.execute(() -> {
            OwnerFollower follower = new OwnerFollower(
                    address.incarnation(),
                    version,
                    sinks,
                    query -> control.request(address, NAME, query, Deadline.of(REQUEST_TIMEOUT, nanoClock)),
                    nanoClock,
                    3 * heartbeat.toNanos(),
                    checks);
            Following entry = new Following(address, version, follower);
            Following before = following.put(nodeId, entry);
            if (before != null) {
                end(before);
            }
            subscribe(entry);
            follower.start();
        });
    }

    /** What is not subscribed comes by polls; tried again with each beat. */
    private void subscribe(Following entry) {
        try {
            entry.subscription = control.subscribe(entry.address, topic(entry.version), entry.follower::onFrame);
        } catch (RuntimeException e) {
            LOG.debug("The feed of {} is not subscribed yet", entry.address.encode(), e);
        }
    }

    /** Ends following; what the node announced is void. Returns at once. */
    public void unfollow(UUID nodeId) {
        thread.execute(() -> {
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
                follower.badFrames(),
                entry.version));
    }

    /** Whether everything that the followed nodes are known to have said is in the index. */
    public boolean current() {
        return following.values().stream().allMatch(entry -> entry.follower.current());
    }

    /** Followed nodes of which nothing was heard for some seconds. */
    public long silent() {
        return following.values().stream().filter(FeedService::silent).count();
    }

    /** Times that a followed node was found silent, each of which was logged. */
    public long silences() {
        return silences.get();
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
        thread.close();
        following.values().forEach(FeedService::end);
        following.clear();
    }

    private void append(String pool, BlockEvent event) {
        long waiting = owner.append(pool, event);
        if (waiting >= OwnerFeed.BATCH_EVENTS) {
            if (flushDue.compareAndSet(false, true)) {
                thread.execute(this::flush);
            }
        } else if (waiting == 1) {
            thread.after(FLUSH, this::flush);
        }
    }

    private void flush() {
        flushDue.set(false);
        owner.flush();
    }

    private static String topic(int version) {
        return version == FeedFrameDescriptor.VERSION ? NAME : TOPIC_V2;
    }

    /** What the owner's side says. */
    private final class Own implements OwnerFeed.Publisher {
        @Override
        public void publish(int version, byte[] frame) {
            if (announces && !fenced.getAsBoolean()) {
                control.publish(topic(version), frame);
            }
        }

        @Override
        public void onFlushed(String pool, Supplier<List<BlockEvent>> events) {
            if (listeners.isEmpty()) {
                return;
            }
            List<BlockEvent> told = events.get();
            for (BlockEventListener listener : listeners) {
                try {
                    listener.onBlocks(pool, told);
                } catch (RuntimeException e) {
                    LOG.warn("A listener of block events failed", e);
                }
            }
        }
    }

    private void beat() {
        if (announces) {
            owner.heartbeat();
        }
        for (Following entry : following.values()) {
            if (entry.subscription == null) {
                subscribe(entry);
            }
            tick(entry.follower);
            boolean silent = silent(entry);
            if (silent && !entry.warned) {
                silences.incrementAndGet();
                LOG.warn(
                        "Nothing was heard from {} for {} s although it is in the topology: its blocks may be missed",
                        entry.address.encode(),
                        SILENT_SECONDS);
            }
            entry.warned = silent;
        }
    }

    /** One that fails, for example because the index has no room for another holder, is tried again; the others go on. */
    private static void tick(OwnerFollower follower) {
        try {
            follower.tick();
        } catch (RuntimeException e) {
            LOG.warn("The feed of one node was not followed up and will be with the next beat", e);
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
}
