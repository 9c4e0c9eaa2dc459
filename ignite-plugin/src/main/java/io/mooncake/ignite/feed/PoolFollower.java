// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.feed;

import io.mooncake.base.MooncakeException;
import io.mooncake.ignite.feed.FeedFrameDescriptor.FrameKind;
import io.mooncake.ignite.feed.FeedFrameDescriptor.Query;
import io.mooncake.ignite.feed.FeedFrameDescriptor.QueryKind;
import java.nio.ByteBuffer;
import java.util.Map;
import java.util.TreeMap;
import java.util.UUID;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Follows one pool of one life of one owner, so that the index equals the owner's truth whatever the network drops, doubles or reorders.
 *
 * <p>Two states. COPYING: pages of a snapshot fill an unseen copy, events that arrive meanwhile wait. LIVE: {@code expected} is the
 * sequence of the next event; frames that begin later wait in {@code early} while a repair of the gap is under way. A heartbeat or a frame
 * tells by {@code known} how far the owner is, so a loss at the end of the stream is seen too. At most one query is under way; its
 * number tells a late reply from the current one. A query that fails is sent again by {@link #tick}, as is a poll when the owner was
 * silent for some heartbeats (published events are lost as a whole when a subscription breaks).
 *
 * <p>Threading: all methods may come from any thread; every field is guarded by this object. Queries are sent outside of the lock.
 */
final class PoolFollower {
    private static final int MAX_EARLY_EVENTS = 65_536;

    private enum State {
        COPYING,
        LIVE,
        CLOSED
    }

    private final UUID incarnation;
    private final String pool;
    private final int version;
    private final HolderSink sink;
    private final FeedRequests requests;
    private final LongSupplier nanoClock;
    private final long pollNanos;
    private final FeedChecks checks;
    private final TreeMap<Long, FeedFrame> early = new TreeMap<>();

    private final EventCursor event = new EventCursor();
    private State state = State.COPYING;
    private HolderSink.@Nullable Copy shown;
    private HolderSink.@Nullable Copy copy;
    private long cursor;
    private long copyFirst = -1;
    private long expected;
    private long known;
    private int earlyEvents;
    private @Nullable Query underWay;
    private long queryNumber;
    private long heardAt;
    private long repairs;
    private long snapshots;
    private long badFrames;

    /**
     * @param version of the feed that the owner is asked in
     * @param pollNanos silence after which the owner is asked
     */
    PoolFollower(
            UUID incarnation,
            String pool,
            int version,
            HolderSink sink,
            FeedRequests requests,
            LongSupplier nanoClock,
            long pollNanos,
            FeedChecks checks) {
        this.incarnation = incarnation;
        this.pool = pool;
        this.version = version;
        this.sink = sink;
        this.requests = requests;
        this.nanoClock = nanoClock;
        this.pollNanos = pollNanos;
        this.checks = checks;
        this.heardAt = nanoClock.getAsLong();
    }

    /** Asks for the first snapshot. */
    void start() {
        Query query;
        synchronized (this) {
            query = beginCopy();
        }
        send(query);
    }

    /** Takes a published frame. */
    void onFrame(FeedFrame frame) {
        Query query;
        synchronized (this) {
            if (state == State.CLOSED || !isOfThisLife(frame) || frame.kind() != FrameKind.EVENTS) {
                badFrames++;
                return;
            }
            heardAt = nanoClock.getAsLong();
            keep(frame);
            query = state == State.LIVE ? advance() : null;
        }
        send(query);
    }

    /** Sends again what got no answer, and polls a silent owner. */
    void tick() {
        Query query = null;
        synchronized (this) {
            if (state != State.CLOSED && underWay == null) {
                if (state == State.COPYING) {
                    query = copy == null ? beginCopy() : ask(QueryKind.SNAPSHOT, cursor, 0);
                } else {
                    query = advance();
                    if (query == null && silentNanos() > pollNanos) {
                        query = ask(QueryKind.REPAIR, expected, Long.MAX_VALUE);
                    }
                }
            }
        }
        send(query);
    }

    /** How long nothing came from the owner. */
    synchronized long silentNanos() {
        return nanoClock.getAsLong() - heardAt;
    }

    /** Whether everything the owner is known to have said is applied. */
    synchronized boolean current() {
        return state == State.LIVE && early.isEmpty() && known <= expected;
    }

    synchronized long repairs() {
        return repairs;
    }

    synchronized long snapshots() {
        return snapshots;
    }

    synchronized long badFrames() {
        return badFrames;
    }

    /** Voids all entries at once. Idempotent. */
    synchronized void close() {
        state = State.CLOSED;
        if (shown != null && checks.clearsLost()) {
            shown.lose();
        }
        if (copy != null) {
            copy.drop();
        }
        early.clear();
    }

    private void send(@Nullable Query query) {
        if (query == null) {
            return;
        }
        long number;
        synchronized (this) {
            number = queryNumber;
        }
        byte[] bytes = version == FeedFrameDescriptor.VERSION
                ? FeedFrameDescriptor.encode(query)
                : FeedFrameV2Descriptor.encode(query);
        requests.send(bytes).whenComplete((reply, error) -> onReply(number, reply, error));
    }

    private void onReply(long number, byte @Nullable [] reply, @Nullable Throwable error) {
        Query query = null;
        synchronized (this) {
            if (number != queryNumber || state == State.CLOSED) {
                return;
            }
            underWay = null;
            FeedFrame frame = error == null && reply != null ? decode(reply) : null;
            if (frame == null) {
                return;
            }
            heardAt = nanoClock.getAsLong();
            query = state == State.COPYING ? onPage(frame) : onRepair(frame);
        }
        send(query);
    }

    private @Nullable FeedFrame decode(byte[] reply) {
        try {
            FeedFrame frame = FeedFrame.decode(reply);
            if (isOfThisLife(frame) && frame.pool().equals(pool)) {
                return frame;
            }
        } catch (MooncakeException e) {
            // Counted below; the query is sent again by the next tick.
        }
        badFrames++;
        return null;
    }

    private boolean isOfThisLife(FeedFrame frame) {
        return frame.incarnation().equals(incarnation) || !checks.checksIncarnation();
    }

    private @Nullable Query onPage(FeedFrame page) {
        if (page.kind() != FrameKind.SNAPSHOT || copy == null) {
            badFrames++;
            return null;
        }
        if (copyFirst < 0) {
            copyFirst = page.first();
        }
        apply(page, 0, copy);
        if (page.nextCursor() >= 0 && checks.showsWholeCopies()) {
            cursor = page.nextCursor();
            return ask(QueryKind.SNAPSHOT, cursor, 0);
        }
        HolderSink.Copy before = shown;
        shown = copy;
        copy = null;
        expected = copyFirst;
        // What came during the copy is in the copy or in a later event, so the copy is brought up to date before it is
        // shown.
        state = State.LIVE;
        Query query = advance();
        shown.show();
        if (before != null) {
            before.drop();
        }
        return query;
    }

    private @Nullable Query onRepair(FeedFrame frame) {
        switch (frame.kind()) {
            case EVENTS -> {
                keep(frame);
                return advance();
            }
            case TOO_OLD -> {
                return beginCopy();
            }
            case SNAPSHOT -> badFrames++;
        }
        return null;
    }

    private Query beginCopy() {
        state = State.COPYING;
        snapshots++;
        if (copy != null) {
            copy.drop();
        }
        // Should the new one not come about, the next tick begins again.
        copy = null;
        underWay = null;
        copy = sink.begin();
        copyFirst = -1;
        cursor = 0;
        return ask(QueryKind.SNAPSHOT, 0, 0);
    }

    private void keep(FeedFrame frame) {
        known = Math.max(known, frame.end());
        if (frame.count() == 0 || frame.end() <= expected && state == State.LIVE && checks.appliesOnce()) {
            return;
        }
        FeedFrame other = early.get(frame.first());
        if (other != null && other.count() >= frame.count()) {
            return;
        }
        boolean due = state == State.LIVE && frame.first() <= expected;
        if (earlyEvents + frame.count() > MAX_EARLY_EVENTS && !due) {
            // Dropped like a frame lost on the way: the gap is repaired by request. What the others wait for is never
            // dropped: it is applied at once.
            return;
        }
        if (other != null) {
            earlyEvents -= other.count();
        }
        early.put(frame.first(), frame);
        earlyEvents += frame.count();
    }

    /** Applies what is due; asks for what is missing. */
    private @Nullable Query advance() {
        while (!early.isEmpty()) {
            Map.Entry<Long, FeedFrame> entry = early.firstEntry();
            FeedFrame frame = entry.getValue();
            if (frame.first() > expected && checks.repairsGaps()) {
                break;
            }
            early.pollFirstEntry();
            earlyEvents -= frame.count();
            if (shown != null && (frame.end() > expected || !checks.appliesOnce())) {
                apply(frame, checks.appliesOnce() ? (int) Math.max(0, expected - frame.first()) : 0, shown);
            }
            expected = Math.max(expected, frame.end());
        }
        if (known <= expected || underWay != null) {
            return null;
        }
        repairs++;
        long to = early.isEmpty() ? known : early.firstKey();
        return ask(QueryKind.REPAIR, expected, to);
    }

    /** Applies the events of {@code frame} but the first {@code skipped}, which were applied before. */
    private void apply(FeedFrame frame, int skipped, HolderSink.Copy to) {
        ByteBuffer in = frame.records().duplicate();
        event.clear();
        for (int i = 0; i < frame.count(); i++) {
            FeedRecords.read(in, event);
            if (i >= skipped) {
                to.apply(event);
            }
        }
    }

    private Query ask(QueryKind kind, long from, long to) {
        Query query = new Query(kind, incarnation, pool, from, to);
        underWay = query;
        queryNumber++;
        return query;
    }
}
