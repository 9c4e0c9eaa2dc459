// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.feed;

import io.mooncake.base.MooncakeException;
import io.mooncake.ignite.feed.FeedFrameDescriptor.Frame;
import io.mooncake.ignite.feed.FeedFrameDescriptor.Query;
import java.util.Collection;
import java.util.Map;
import java.util.TreeMap;
import java.util.UUID;
import java.util.function.Consumer;

/**
 * The owner's side of the feed: numbers what happens to the blocks of this node's pools, publishes it in batches, answers repairs and
 * snapshots.
 *
 * <p>Threading: {@link #append} and {@link #answer} from any thread; {@link #flush} and {@link #heartbeat} from one.
 */
public final class OwnerFeed {
    /** Most events of one published frame. */
    public static final int BATCH_EVENTS = 256;

    private static final int RING_EVENTS = 16_384;

    private final UUID incarnation;
    private final Consumer<byte[]> publisher;
    private final BlockEventListener listener;
    private final Map<String, OwnerStream> streams = new TreeMap<>();

    /**
     * @param incarnation this life of the engine
     * @param pools names of this node's pools
     * @param publisher sends a frame to every follower; may lose it
     * @param listener hears of the same events in the same order, on the flushing thread
     */
    public OwnerFeed(
            UUID incarnation, Collection<String> pools, Consumer<byte[]> publisher, BlockEventListener listener) {
        this(incarnation, pools, publisher, listener, RING_EVENTS);
    }

    OwnerFeed(
            UUID incarnation,
            Collection<String> pools,
            Consumer<byte[]> publisher,
            BlockEventListener listener,
            int ringEvents) {
        this.incarnation = incarnation;
        this.publisher = publisher;
        this.listener = listener;
        for (String pool : pools) {
            streams.put(pool, new OwnerStream(incarnation, pool, ringEvents));
        }
    }

    /** Numbers an event of {@code pool}. @return whether a batch is full and a flush is due now */
    public boolean append(String pool, BlockEvent event) {
        return stream(pool).append(event) >= BATCH_EVENTS;
    }

    /** Publishes what waits. */
    public void flush() {
        for (Map.Entry<String, OwnerStream> entry : streams.entrySet()) {
            for (Frame frame : entry.getValue().takeFrames(BATCH_EVENTS)) {
                publisher.accept(FeedFrameDescriptor.encode(frame));
                listener.onBlocks(entry.getKey(), frame.events());
            }
        }
    }

    /** Publishes where each stream stands, so that followers see losses and life. */
    public void heartbeat() {
        for (OwnerStream stream : streams.values()) {
            publisher.accept(FeedFrameDescriptor.encode(stream.heartbeat()));
        }
    }

    /**
     * Answers a follower's query.
     *
     * @throws MooncakeException CORRUPT, STALE when another incarnation is asked, NOT_FOUND for a pool that is not here
     */
    public byte[] answer(byte[] query) {
        Query asked = FeedFrameDescriptor.decodeQuery(query);
        if (!asked.incarnation().equals(incarnation)) {
            throw new MooncakeException(
                    MooncakeException.Code.STALE,
                    "feed incarnation: " + asked.incarnation() + " (expected: " + incarnation + ")");
        }
        OwnerStream stream = stream(asked.pool());
        Frame frame =
                switch (asked.kind()) {
                    case REPAIR -> stream.repair(asked.from(), asked.to());
                    case SNAPSHOT -> stream.snapshot(asked.from());
                };
        return FeedFrameDescriptor.encode(frame);
    }

    /** Blocks held in {@code pool} by the feed's count. */
    public int heldBlocks(String pool) {
        return stream(pool).heldBlocks();
    }

    private OwnerStream stream(String pool) {
        OwnerStream stream = streams.get(pool);
        if (stream == null) {
            throw new MooncakeException(
                    MooncakeException.Code.NOT_FOUND, "pool: " + pool + " (expected: one of " + streams.keySet() + ")");
        }
        return stream;
    }
}
