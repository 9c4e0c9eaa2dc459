// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.feed;

import io.mooncake.base.MooncakeException;
import io.mooncake.ignite.feed.FeedFrameDescriptor.Query;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.UUID;
import java.util.function.Function;
import java.util.function.IntFunction;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The owner's side of the feed: numbers what happens to the blocks of this node's pools, publishes it in batches, answers repairs and
 * snapshots. It speaks both versions: what is published in which is said by {@link #publishOld}, and a query is answered in its own.
 *
 * <p>Threading: {@link #append} and {@link #answer} from any thread; {@link #flush} and {@link #heartbeat} from one.
 */
public final class OwnerFeed {
    /** So many events that wait are worth a frame at once. */
    public static final int BATCH_EVENTS = RecordRing.PIECE_EVENTS;

    private static final Logger LOG = LoggerFactory.getLogger(OwnerFeed.class);
    private static final int CHUNK_BYTES = 1 << 20;

    private final UUID incarnation;
    private final Publisher publisher;
    private final Map<String, OwnerStream> streams = new TreeMap<>();
    private volatile boolean publishesOld;

    /** Where frames go. */
    public interface Publisher {
        /** Sends {@code frame} to every follower of {@code version}; may lose it. */
        void publish(int version, byte[] frame);

        /** Tells the owner itself the same events in the same order, on the flushing thread. */
        void onFlushed(String pool, Supplier<List<BlockEvent>> events);
    }

    /**
     * @param incarnation this life of the engine
     * @param pools names of this node's pools
     * @param ringBytes off the heap for the last events, shared evenly by the pools; at least two MiB each are taken
     */
    public OwnerFeed(UUID incarnation, Collection<String> pools, Publisher publisher, long ringBytes) {
        this(
                incarnation,
                pools,
                publisher,
                pool -> new HeldMap(),
                count -> new RecordRing(CHUNK_BYTES, (int) Math.max(2, ringBytes / CHUNK_BYTES / Math.max(1, count))));
    }

    /** @param rings by the number of pools */
    OwnerFeed(
            UUID incarnation,
            Collection<String> pools,
            Publisher publisher,
            Function<String, HeldBlocks> held,
            IntFunction<RecordRing> rings) {
        this.incarnation = incarnation;
        this.publisher = publisher;
        for (String pool : pools) {
            streams.put(pool, new OwnerStream(incarnation, pool, held.apply(pool), rings.apply(pools.size())));
        }
    }

    /** Where snapshots of {@code pool} come from from now on; by default it is counted from the events. */
    public void held(String pool, HeldBlocks blocks) {
        stream(pool).held(blocks);
    }

    /** Whether followers of version 1 are there, who would hear nothing else. */
    public void publishOld(boolean wanted) {
        publishesOld = wanted;
    }

    /** Numbers an event of {@code pool}. @return events of the pool that now wait for a flush */
    public long append(String pool, BlockEvent event) {
        return stream(pool).append(event);
    }

    /** Publishes what waits. */
    public void flush() {
        for (Map.Entry<String, OwnerStream> entry : streams.entrySet()) {
            for (FeedFrame frame : entry.getValue().takeFrames()) {
                publish(frame);
                publisher.onFlushed(entry.getKey(), frame::events);
            }
        }
    }

    /** Others repair a frame that does not get out; who listens here, and the frames after it, must not suffer from it. */
    private void publish(FeedFrame frame) {
        try {
            publisher.publish(FeedFrameV2Descriptor.VERSION, frame.encode(FeedFrameV2Descriptor.VERSION));
            if (publishesOld) {
                publisher.publish(FeedFrameDescriptor.VERSION, frame.encode(FeedFrameDescriptor.VERSION));
            }
        } catch (RuntimeException e) {
            LOG.debug("A frame of the feed was not published", e);
        }
    }

    /** Publishes where each stream stands, so that followers see losses and life. */
    public void heartbeat() {
        for (OwnerStream stream : streams.values()) {
            publish(stream.heartbeat());
        }
    }

    /**
     * Answers a follower's query, in its version.
     *
     * @throws MooncakeException CORRUPT, STALE when another incarnation is asked, NOT_FOUND for a pool that is not here
     */
    public byte[] answer(byte[] query) {
        boolean old = query.length <= 3 || query[3] != FeedFrameV2Descriptor.MAGIC_DIGIT;
        Query asked = old ? FeedFrameDescriptor.decodeQuery(query) : FeedFrameV2Descriptor.decodeQuery(query);
        if (!asked.incarnation().equals(incarnation)) {
            throw new MooncakeException(
                    MooncakeException.Code.STALE,
                    "feed incarnation: " + asked.incarnation() + " (expected: " + incarnation + ")");
        }
        OwnerStream stream = stream(asked.pool());
        FeedFrame frame =
                switch (asked.kind()) {
                    case REPAIR -> stream.repair(asked.from(), asked.to());
                    case SNAPSHOT -> stream.snapshot(asked.from());
                };
        return frame.encode(old ? FeedFrameDescriptor.VERSION : FeedFrameV2Descriptor.VERSION);
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
