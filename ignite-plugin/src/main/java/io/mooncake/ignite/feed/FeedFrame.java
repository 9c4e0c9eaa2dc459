// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.feed;

import io.mooncake.ignite.feed.FeedFrameDescriptor.Frame;
import io.mooncake.ignite.feed.FeedFrameDescriptor.FrameKind;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;

/**
 * A frame of whatever version, its events still as bytes. Not changed by reading; the records belong to it.
 *
 * @param kind what it is
 * @param incarnation life of the owner
 * @param pool name of the pool
 * @param first sequence of the first event; for snapshots that from which events go on top
 * @param nextCursor of a snapshot's next page, -1 after the last
 * @param count events
 * @param records the events as {@link FeedRecords}, checked
 */
record FeedFrame(
        FrameKind kind, UUID incarnation, String pool, long first, long nextCursor, int count, ByteBuffer records) {
    static final ByteBuffer NO_RECORDS = ByteBuffer.allocate(0);

    long end() {
        return first + count;
    }

    /** Whatever version it is of. @throws MooncakeException CORRUPT when it is no frame */
    static FeedFrame decode(byte[] bytes) {
        return bytes.length > 3 && bytes[3] == FeedFrameV2Descriptor.MAGIC_DIGIT
                ? FeedFrameV2Descriptor.decode(bytes)
                : of(FeedFrameDescriptor.decodeFrame(bytes));
    }

    static FeedFrame of(Frame old) {
        return new FeedFrame(
                old.kind(),
                old.incarnation(),
                old.pool(),
                old.first(),
                old.nextCursor(),
                old.events().size(),
                records(old.events()));
    }

    /** The events as records in one piece. */
    static ByteBuffer records(List<BlockEvent> events) {
        int bytes = 0;
        for (BlockEvent event : events) {
            bytes += FeedRecords.maxBytes(event.tokens().length);
        }
        ByteBuffer out = ByteBuffer.allocate(bytes);
        EventCursor cursor = new EventCursor();
        for (BlockEvent event : events) {
            cursor.set(event);
            FeedRecords.write(out, cursor);
        }
        return out.flip();
    }

    /** The events as objects, for listeners. */
    List<BlockEvent> events() {
        List<BlockEvent> events = new ArrayList<>(count);
        ByteBuffer in = records.duplicate();
        EventCursor cursor = new EventCursor();
        for (int i = 0; i < count; i++) {
            FeedRecords.read(in, cursor);
            events.add(cursor.toEvent());
        }
        return events;
    }

    /**
     * As version 1 tells it, an event for each event. It knows no places: what can't be leased yet is not there, and what can be leased again is stored
     * again, which its followers take as it is without parent and tokens.
     */
    Frame toVersion1() {
        List<BlockEvent> old = new ArrayList<>(count);
        for (BlockEvent event : events()) {
            if (event.kind() == BlockEvent.Kind.REMOVED || event.place() == BlockPlace.FILLING) {
                old.add(BlockEvent.removed(event.key(), RemovalCode.UNKNOWN));
            } else {
                old.add(BlockEvent.stored(event.key(), event.parentKey(), event.depth(), event.tokens()));
            }
        }
        return new Frame(kind, incarnation, pool, first, nextCursor, old);
    }

    byte[] encode(int version) {
        return version == FeedFrameDescriptor.VERSION
                ? FeedFrameDescriptor.encode(toVersion1())
                : FeedFrameV2Descriptor.encode(this);
    }
}
