// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.life;

import io.mooncake.transfer.PeerAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Decides whether this life of the node may speak for its blocks.
 *
 * <p>It is a <em>member</em> at first. It is <em>fenced</em> when its ticks show that it stood still for longer than {@code pause}, because the others may have
 * dropped it meanwhile and its own view of the cluster is of before; or when a peer says that it is none of theirs. While it is fenced it asks all peers that it
 * believes in, and those that it has lost. It is a member again when each of the former says so, when it has nobody to ask, or when {@code grace} has passed and nobody
 * denied it: Ignite's own discovery has found out by then. It is <em>gone</em>, for good, when the same peer denies it twice, some time apart, and
 *
 * <ul>
 *   <li>it had stood still and nobody else confirms it: whoever was away has lost, however small the rest is; or
 *   <li>that peer is of a part of the cluster that this node has lost, which has more servers, or as many and the oldest of them. So of two parts the smaller one
 *       stops, and both know which that is without a third.
 * </ul>
 *
 * <p>The no of a peer that is fenced itself means nothing, nor does that of one that has not begun to tick or does so no more: its view is not yet, or no longer,
 * that of the cluster. The no of one peer alone, while others say yes, holds it up for {@code grace} at most. After a pause it is watchful for {@code grace}: it asks
 * everybody often, since the others may be about to drop it. A node that never had a peer is never fenced for longer than a tick.
 *
 * <p>Threading: safe for all threads; {@link #fenced} takes no lock and looks at the clock, so that it is true at once after a pause, before any tick. The host is called with
 * this object's lock held: it must neither block nor answer at once.
 */
public final class LifeGuard {
    /** How often {@link #tick} is to be called. */
    public static final long TICK_MILLIS = 50;

    private static final long ASK_FENCED_NANOS = TimeUnit.MILLISECONDS.toNanos(250);
    private static final long ASK_NANOS = TimeUnit.SECONDS.toNanos(5);
    /** A view that is behind by a message is not taken for a loss. */
    private static final long DENIED_NANOS = TimeUnit.SECONDS.toNanos(1);

    /** What was not said again for so long is said no more. */
    private static final long FORGOTTEN_NANOS = TimeUnit.SECONDS.toNanos(5);

    /** Who was lost and says nothing for so long is not there to be asked. */
    private static final long SILENT_NANOS = TimeUnit.SECONDS.toNanos(5);

    private static final int MAX_LOST = 64;
    private static final Logger LOG = LoggerFactory.getLogger(LifeGuard.class);

    private enum State {
        MEMBER,
        FENCED,
        GONE
    }

    /** When a peer said no first in this round, and last. */
    private record Denial(long first, long last) {}

    /** What the guard needs of the node. */
    public interface Host {
        /** Members by this node's own view that have a say: servers, without itself. */
        List<PeerAddress> peers();

        /** What this node would say of {@code asker}, but for being fenced. */
        LifeAnswer answer(UUID asker);

        /** Asks {@code peer}; what it says goes to {@link LifeGuard#onAnswer} with {@code round}, or never comes. */
        void ask(PeerAddress peer, long round);

        /** {@code peer} is not asked any more. Must not block. */
        void forget(PeerAddress peer);

        /** This life is over; once. */
        void gone(String reason);
    }

    private final Host host;
    private final boolean ends;
    private final long pauseNanos;
    private final long graceNanos;
    private final LongSupplier nanoClock;
    private volatile State state = State.MEMBER;
    /** Of the last tick; the clock says nothing before the first and after the last. */
    private volatile long tickNanos;

    private volatile boolean ticking;
    // Below: guarded by this.
    private final Map<UUID, PeerAddress> lost = new LinkedHashMap<>();
    private final Set<UUID> confirmed = new HashSet<>();
    private final Map<UUID, Denial> denied = new HashMap<>();
    /** Lost when it stood still already: they know nothing of how long it was away. */
    private final Set<UUID> lostBefore = new HashSet<>();
    /** Deniers whose word the others' outweighed; not heard again until they say yes, or this node stands still. */
    private final Set<UUID> overruled = new HashSet<>();

    private long round;
    /** Whether anybody said anything in this round. */
    private boolean heard;

    private boolean paused;
    private long fencedNanos;
    private long askedNanos;
    private int turn;
    private long fences;

    /**
     * @param ends whether the node stops when its life is over; else it stays fenced until it is a member again, as a client that looks for its cluster
     * @param pause standing still for longer fences
     * @param grace after which nobody's denial is as good as everybody's word
     * @param nanoClock monotonic time, which goes on while the process stands still
     */
    public LifeGuard(Host host, boolean ends, Duration pause, Duration grace, LongSupplier nanoClock) {
        this.host = host;
        this.ends = ends;
        this.pauseNanos = pause.toNanos();
        this.graceNanos = grace.toNanos();
        this.nanoClock = nanoClock;
    }

    /** Whether nothing may be granted, offered, announced or written in this life's name at the moment. */
    public boolean fenced() {
        return state != State.MEMBER || (ticking && nanoClock.getAsLong() - tickNanos > pauseNanos);
    }

    /** Whether this life is over. */
    public boolean gone() {
        return state == State.GONE;
    }

    /** How often this life was fenced. */
    public synchronized long fences() {
        return fences;
    }

    /** To be called every {@value #TICK_MILLIS} ms. */
    public synchronized void tick() {
        long now = nanoClock.getAsLong();
        long stood = ticking ? now - tickNanos : 0;
        if (!ticking) {
            askedNanos = now;
        }
        if (state != State.GONE) {
            if (stood > pauseNanos) {
                fence(true, "it stood still for " + TimeUnit.NANOSECONDS.toMillis(stood) + " ms", now);
            }
            if (state == State.FENCED) {
                decide(now);
            } else if (paused && now - fencedNanos >= graceNanos) {
                paused = false;
            }
            ask(now);
        }
        // Last: whoever looks at the clock must not take it for a member before the state says otherwise.
        tickNanos = now;
        ticking = true;
    }

    /** No more ticks come; the clock alone fences no more. */
    public void close() {
        ticking = false;
    }

    /** {@code peer} is a member. */
    public synchronized void onJoined(PeerAddress peer) {
        lost.remove(peer.incarnation());
    }

    /** {@code peer} is no member any more: it has ended, or it is in another part of the cluster. */
    public synchronized void onLeft(PeerAddress peer) {
        lost.put(peer.incarnation(), peer);
        if (lost.size() > MAX_LOST) {
            onEnded(lost.values().iterator().next());
        }
    }

    /** Another life answers where {@code peer} was. */
    public synchronized void onEnded(PeerAddress peer) {
        if (lost.remove(peer.incarnation()) != null) {
            host.forget(peer);
        }
    }

    /** What {@code asker} is told. */
    public LifeAnswer answer(UUID asker) {
        LifeAnswer plain = host.answer(asker);
        return new LifeAnswer(plain.member(), plain.fenced() || fenced() || !ticking, plain.servers(), plain.oldest());
    }

    /** What {@code peer} said; {@code asked} is the round in which it was asked. */
    public synchronized void onAnswer(PeerAddress peer, long asked, LifeAnswer answer) {
        if (asked != round || state == State.GONE) {
            return;
        }
        heard = true;
        UUID from = peer.incarnation();
        long now = nanoClock.getAsLong();
        if (answer.member()) {
            denied.remove(from);
            overruled.remove(from);
            if (believed().contains(from)) {
                confirmed.add(from);
            }
            if (state == State.FENCED) {
                decide(now);
            }
        } else if (!answer.fenced()) {
            denied(peer, answer, now);
        }
    }

    private void denied(PeerAddress peer, LifeAnswer answer, long now) {
        UUID from = peer.incarnation();
        boolean believedIn = believed().contains(from);
        // What it said before is no more.
        confirmed.remove(from);
        if (believedIn && overruled.contains(from)) {
            return;
        }
        // One that this node still believes in: Ignite decides which of the two is right, unless this one was away.
        boolean loses =
                paused && !lostBefore.contains(from) ? confirmed.isEmpty() : !believedIn && largerThanOwn(answer);
        if (!loses && !believedIn) {
            // The other part is to stop.
            denied.remove(from);
            return;
        }
        if (state == State.MEMBER) {
            fence(false, peer.encode() + " does not count it as a member", now);
        }
        Denial before = denied.get(from);
        denied.put(from, new Denial(before == null ? now : before.first(), now));
        if (ends && loses && before != null && now - before.first() >= DENIED_NANOS) {
            state = State.GONE;
            host.gone((paused ? "it stood still, and " : "the cluster has split, and ") + peer.encode()
                    + " is of a part with " + answer.servers() + " servers that goes on without it");
        }
    }

    private boolean largerThanOwn(LifeAnswer other) {
        LifeAnswer own = host.answer(new UUID(0, 0));
        return other.servers() != own.servers() ? other.servers() > own.servers() : other.oldest() < own.oldest();
    }

    private Set<UUID> believed() {
        Set<UUID> believed = new HashSet<>();
        host.peers().forEach(peer -> believed.add(peer.incarnation()));
        return believed;
    }

    private void fence(boolean stoodStill, String why, long now) {
        if (state == State.MEMBER) {
            fences++;
            LOG.warn("This node gives and announces nothing until it knows that it is a member: {}", why);
        }
        state = State.FENCED;
        if (stoodStill) {
            paused = true;
            overruled.clear();
            lostBefore.clear();
            lostBefore.addAll(lost.keySet());
        }
        fencedNanos = now;
        newRound(now);
    }

    /** Whatever was asked before says nothing of now. */
    private void newRound(long now) {
        round++;
        heard = false;
        confirmed.clear();
        denied.clear();
        askedNanos = now - ASK_NANOS;
    }

    private void decide(long now) {
        Set<UUID> believed = believed();
        boolean nobody = believed.isEmpty() && (lost.isEmpty() || (!heard && now - fencedNanos >= SILENT_NANOS));
        boolean everybody = !believed.isEmpty() && confirmed.containsAll(believed);
        boolean late = now - fencedNanos >= graceNanos;
        denied.values().removeIf(denial -> now - denial.last() > FORGOTTEN_NANOS);
        boolean agreed = denied.isEmpty() && (nobody || everybody || late);
        boolean outweighed = late && !confirmed.isEmpty() && believed.containsAll(denied.keySet());
        if (agreed || outweighed) {
            LOG.info("This node is a member, after {} ms of doubt", TimeUnit.NANOSECONDS.toMillis(now - fencedNanos));
            overruled.addAll(denied.keySet());
            newRound(now);
            askedNanos = now;
            state = State.MEMBER;
        }
    }

    /** Fenced, or watchful: everybody, often. Else those that were lost, and one of the others in turn. */
    private void ask(long now) {
        boolean doubt = state == State.FENCED || paused;
        if (now - askedNanos < (doubt ? ASK_FENCED_NANOS : ASK_NANOS)) {
            return;
        }
        askedNanos = now;
        List<PeerAddress> peers = host.peers();
        List<PeerAddress> asked = new ArrayList<>(lost.values());
        if (doubt) {
            asked.addAll(peers);
        } else if (!peers.isEmpty()) {
            asked.add(peers.get(Math.floorMod(turn++, peers.size())));
        }
        asked.forEach(peer -> host.ask(peer, round));
    }
}
