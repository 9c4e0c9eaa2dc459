// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.internal;

import io.mooncake.transfer.RefusalCause;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What peers have been refused lately by the owner of memory, whichever way they came, and what follows: first pauses that grow, then the
 * door, which shuts every way at once.
 *
 * <p>Refusals fill a bucket that drains by 1,000 serious ones a second. Refusals that honest peers meet (recycled, expired or unregistered
 * memory) weigh an eighth of a serious one. While a peer's bucket has run over and not drained again, each of its refusals is answered
 * after a pause that doubles with every 16th; a serious one after the 64th of those puts the peer out for ten seconds. A member takes a new name by starting
 * anew, so this protects from faults and from members that keep theirs.
 *
 * <p>Safe for all threads; asked only after a refusal and when a way to a peer is opened. Keeps the latest 4,096 peers.
 */
public final class PeerConduct {
    /** How long a peer is kept out. */
    static final long OUT_NANOS = 10_000_000_000L;

    private static final Logger LOG = LoggerFactory.getLogger(PeerConduct.class);
    private static final int MAX_PEERS = 4096;
    private static final int SERIOUS = 8;
    private static final double BUCKET = 1000 * SERIOUS;
    private static final double DRAIN_A_NANO = BUCKET / 1e9;
    private static final int MAX_STRIKES = 64;
    private static final int STRIKES_A_PAUSE = 16;

    /** What is to be done about a refusal. */
    enum Verdict {
        /** Answer. */
        ANSWER,
        /** Answer after {@link #pauseNanos}. */
        PAUSE,
        /** Close all ways of the peer. */
        CUT
    }

    private static final class Record {
        double level;
        long lastNanos;
        boolean over;
        int strikes;
        boolean out;
        long outUntilNanos;
    }

    // Guarded by this; the least lately used first.
    private final LinkedHashMap<UUID, Record> records = new LinkedHashMap<>(16, 0.75f, true);
    private final List<Consumer<UUID>> doors = new CopyOnWriteArrayList<>();

    /** Has {@code door} close what a transport serves to a peer that is put out; it may be called again for the same one. */
    public void onPutOut(Consumer<UUID> door) {
        doors.add(door);
    }

    /**
     * What a refusal means for the peer: takes note of it and, where the peer has earned a pause, sleeps for it, at most 8 ms. To be called
     * before the answer leaves, by the thread that serves the peer, with nothing held that others wait for.
     *
     * @return false when the peer is out: its ways are closed, and it gets no answer
     */
    public boolean behaves(UUID peer, RefusalCause cause) {
        return switch (refused(peer, cause, System.nanoTime())) {
            case ANSWER -> true;
            case PAUSE -> {
                LockSupport.parkNanos(pauseNanos(peer));
                yield true;
            }
            case CUT -> {
                doors.forEach(door -> door.accept(peer));
                yield false;
            }
        };
    }

    /** Whether nothing is to be served to {@code peer} now. */
    public boolean keptOut(UUID peer) {
        return keptOut(peer, System.nanoTime());
    }

    /** Takes note of a refusal at {@code nowNanos}. */
    synchronized Verdict refused(UUID peer, RefusalCause cause, long nowNanos) {
        Record record = records.computeIfAbsent(peer, id -> new Record());
        forgetOldest();
        if (record.level == 0) {
            record.lastNanos = nowNanos;
        }
        record.level = Math.max(0, record.level - (nowNanos - record.lastNanos) * DRAIN_A_NANO);
        record.lastNanos = nowNanos;
        if (record.level == 0) {
            record.over = false;
            record.strikes = 0;
        }
        record.level += cause.serious() ? SERIOUS : 1;
        record.over |= record.level > BUCKET;
        if (!record.over) {
            return Verdict.ANSWER;
        }
        record.strikes++;
        if (!cause.serious()) {
            record.strikes = Math.min(record.strikes, MAX_STRIKES);
        }
        if (record.strikes <= MAX_STRIKES) {
            return Verdict.PAUSE;
        }
        if (!record.out) {
            record.out = true;
            LOG.warn(
                    "Peer {} was refused too often, most recently because of {}: kept out for {} s",
                    peer,
                    cause,
                    OUT_NANOS / 1_000_000_000L);
        }
        record.outUntilNanos = nowNanos + OUT_NANOS;
        return Verdict.CUT;
    }

    /** How long the latest strike of {@code peer} is to be slept over: 1, 2, 4, 8 ms. */
    synchronized long pauseNanos(UUID peer) {
        Record record = records.get(peer);
        return record == null ? 0 : 1_000_000L << Math.min(3, Math.max(0, record.strikes - 1) / STRIKES_A_PAUSE);
    }

    /** Whether {@code peer} is out at {@code nowNanos}. */
    synchronized boolean keptOut(UUID peer, long nowNanos) {
        Record record = records.get(peer);
        if (record == null || !record.out) {
            return false;
        }
        if (nowNanos - record.outUntilNanos < 0) {
            return true;
        }
        records.remove(peer);
        return false;
    }

    /** Peers that are remembered. */
    synchronized int known() {
        return records.size();
    }

    private void forgetOldest() {
        if (records.size() > MAX_PEERS) {
            Iterator<Map.Entry<UUID, Record>> oldest = records.entrySet().iterator();
            oldest.next();
            oldest.remove();
        }
    }
}
