// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.feed;

import io.mooncake.ignite.feed.FeedFrameDescriptor.FrameKind;
import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;

/**
 * What happened to the blocks of one pool in one life of their owner.
 *
 * <p>Every event gets the next sequence number, from 1. The last ones are kept as they are told, for frames and repairs ({@link RecordRing}); what is
 * held comes from {@link HeldBlocks}. Pages of a snapshot are read at different times, which is right because the follower applies every event
 * since the first page on top: a block without such an event was in place for all pages, and for the others the last event wins.
 *
 * <p>Threading: safe for all threads; the ring is guarded by this object.
 */
final class OwnerStream {
    /** Of version 2; in version 1 the same events take up to four times as much, which the control plane still carries. */
    private static final int MAX_ANSWER_BYTES = 512 << 10;

    private final UUID incarnation;
    private final String pool;
    private volatile HeldBlocks held;
    private final RecordRing ring;

    OwnerStream(UUID incarnation, String pool, HeldBlocks held, RecordRing ring) {
        this.incarnation = incarnation;
        this.pool = pool;
        this.held = held;
        this.ring = ring;
    }

    void held(HeldBlocks blocks) {
        held = blocks;
    }

    /** Numbers {@code event}. @return events that now wait for a frame */
    synchronized long append(BlockEvent event) {
        ring.append(event);
        held.onEvent(event);
        return ring.next() - ring.taken();
    }

    /** Takes the events that wait, in frames; nothing when none wait. */
    synchronized List<FeedFrame> takeFrames() {
        ArrayDeque<RecordRing.Run> runs = new ArrayDeque<>();
        ring.take(runs);
        List<FeedFrame> frames = new ArrayList<>(runs.size());
        for (RecordRing.Run run : runs) {
            frames.add(events(run));
        }
        return frames;
    }

    private FeedFrame events(RecordRing.Run run) {
        return new FeedFrame(FrameKind.EVENTS, incarnation, pool, run.first(), 0, run.count(), run.records());
    }

    /** Tells where the stream stands. Events that wait are not told about before their own frame went out. */
    synchronized FeedFrame heartbeat() {
        return empty(FrameKind.EVENTS, ring.taken());
    }

    private FeedFrame empty(FrameKind kind, long first) {
        return new FeedFrame(kind, incarnation, pool, first, 0, 0, FeedFrame.NO_RECORDS);
    }

    /** Events {@code from .. to - 1}, as many as fit; a heartbeat when there are none; too old when the ring has moved on. */
    synchronized FeedFrame repair(long from, long to) {
        if (from < ring.oldest() || from > ring.next()) {
            return empty(FrameKind.TOO_OLD, ring.next());
        }
        if (from == ring.next() || to <= from) {
            return empty(FrameKind.EVENTS, ring.next());
        }
        return events(ring.copy(from, to, MAX_ANSWER_BYTES));
    }

    /** Blocks held from {@code cursor} on, as many as fit. */
    FeedFrame snapshot(long cursor) {
        long first;
        synchronized (this) {
            // Before the page is read: what happens meanwhile comes as an event.
            first = ring.next();
        }
        Page page = new Page();
        long nextCursor = held.read(cursor, page);
        ByteBuffer records = FeedFrame.records(page.events);
        return new FeedFrame(FrameKind.SNAPSHOT, incarnation, pool, first, nextCursor, page.events.size(), records);
    }

    private static final class Page implements HeldBlocks.Page {
        private final List<BlockEvent> events = new ArrayList<>();
        private int bytes;

        @Override
        public boolean add(BlockEvent event) {
            bytes += FeedRecords.maxBytes(event.tokens().length);
            if (bytes > MAX_ANSWER_BYTES && !events.isEmpty()) {
                return false;
            }
            events.add(event);
            return true;
        }
    }
}
