// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.feed;

import io.mooncake.ignite.feed.FeedFrameDescriptor.Frame;
import io.mooncake.ignite.feed.FeedFrameDescriptor.FrameKind;
import io.mooncake.memory.BlockKey;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.UUID;

/**
 * What happened to the blocks of one pool in one life of their owner.
 *
 * <p>Every event gets the next sequence number, from 1. Three things are kept, all guarded by this object: events that wait for their
 * frame; the last {@code ringEvents} events, for repairs; and the blocks held now, by the sequence of their last store, for snapshots.
 * A snapshot is paged by that sequence. Pages are read at different times, which is right because the follower applies every event since
 * the first page on top: a block without such an event was in place for all pages, and for the others the last event wins.
 *
 * <p>Memory: some hundred bytes a block held, plus the ring.
 */
final class OwnerStream {
    private final UUID incarnation;
    private final String pool;
    private final int ringEvents;
    private final ArrayDeque<BlockEvent> ring = new ArrayDeque<>();
    private final List<BlockEvent> waiting = new ArrayList<>();
    private final Map<BlockKey, Long> storedAt = new HashMap<>();
    private final TreeMap<Long, BlockEvent> held = new TreeMap<>();
    private long next = 1;

    OwnerStream(UUID incarnation, String pool, int ringEvents) {
        this.incarnation = incarnation;
        this.pool = pool;
        this.ringEvents = ringEvents;
    }

    /** Numbers {@code event}. @return events that now wait for a frame */
    synchronized int append(BlockEvent event) {
        long sequence = next++;
        Long before = storedAt.remove(event.key());
        if (before != null) {
            held.remove(before);
        }
        if (event.kind() == BlockEvent.Kind.STORED) {
            storedAt.put(event.key(), sequence);
            held.put(sequence, event);
        }
        ring.addLast(event);
        if (ring.size() > ringEvents) {
            ring.removeFirst();
        }
        waiting.add(event);
        return waiting.size();
    }

    /** Takes the events that wait, in frames; nothing when none wait. */
    synchronized List<Frame> takeFrames(int maxEvents) {
        List<Frame> frames = new ArrayList<>();
        long first = next - waiting.size();
        for (int from = 0; from < waiting.size(); ) {
            List<BlockEvent> part = cut(waiting.subList(from, waiting.size()), maxEvents);
            frames.add(new Frame(FrameKind.EVENTS, incarnation, pool, first + from, 0, part));
            from += part.size();
        }
        waiting.clear();
        return frames;
    }

    /** Tells where the stream stands. Events that wait are not told about before their own frame went out. */
    synchronized Frame heartbeat() {
        return new Frame(FrameKind.EVENTS, incarnation, pool, next - waiting.size(), 0, List.of());
    }

    /** Events {@code from .. to - 1}, as many as fit; a heartbeat when there are none; too old when the ring has moved on. */
    synchronized Frame repair(long from, long to) {
        long oldest = next - ring.size();
        if (from < oldest || from > next) {
            return new Frame(FrameKind.TOO_OLD, incarnation, pool, next, 0, List.of());
        }
        long end = Math.min(to, next);
        if (end <= from) {
            return new Frame(FrameKind.EVENTS, incarnation, pool, next, 0, List.of());
        }
        List<BlockEvent> wanted = new ArrayList<>();
        long sequence = oldest;
        for (BlockEvent event : ring) {
            if (sequence >= from && sequence < end) {
                wanted.add(event);
            }
            sequence++;
        }
        return new Frame(FrameKind.EVENTS, incarnation, pool, from, 0, cut(wanted, Integer.MAX_VALUE));
    }

    /** Blocks held whose last store is at {@code cursor} or later, as many as fit. */
    synchronized Frame snapshot(long cursor) {
        List<BlockEvent> rest = new ArrayList<>();
        int bytes = 0;
        long nextCursor = -1;
        for (Map.Entry<Long, BlockEvent> entry : held.tailMap(cursor).entrySet()) {
            bytes += FeedFrameDescriptor.bytes(entry.getValue());
            if (bytes > FeedFrameDescriptor.MAX_FRAME_BYTES && !rest.isEmpty()) {
                nextCursor = entry.getKey();
                break;
            }
            rest.add(entry.getValue());
        }
        return new Frame(FrameKind.SNAPSHOT, incarnation, pool, next, nextCursor, rest);
    }

    /** Blocks held now. */
    synchronized int heldBlocks() {
        return held.size();
    }

    private static List<BlockEvent> cut(List<BlockEvent> events, int maxEvents) {
        int bytes = 0;
        int count = 0;
        while (count < events.size() && count < maxEvents) {
            bytes += FeedFrameDescriptor.bytes(events.get(count));
            if (bytes > FeedFrameDescriptor.MAX_FRAME_BYTES && count > 0) {
                break;
            }
            count++;
        }
        return List.copyOf(events.subList(0, count));
    }
}
