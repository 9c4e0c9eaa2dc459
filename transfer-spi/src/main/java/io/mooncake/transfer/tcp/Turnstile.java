// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.tcp;

import java.util.ArrayDeque;
import java.util.HashMap;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * Lets a bounded number of requests be served at once, and peers take turns: deficit round robin by bytes, so that many connections or large
 * requests get a peer no more than its share while others wait. No peer holds more than three quarters of the places, so that a newcomer
 * finds one.
 *
 * <p>A place is no claim on a socket: a peer that does not take its bytes may block the thread that serves it for as long as a minute. So a
 * visit that lasts longer than {@link #PATIENCE_NANOS} no longer counts; its place goes to the next one that waits. A slow or dead peer
 * thereby costs the others that time once a connection.
 *
 * <p>Threads: each connection has one {@link Visitor} and uses it from its own thread. State is guarded by {@code lock}, held for a few
 * steps and never across a transfer. A visitor is OUT, WAITING, INSIDE or OVERDUE; it alone moves itself from OUT to WAITING and back to OUT,
 * whoever holds the lock moves it onwards. Of those that wait only the next in turn, the usher, wakes by the clock to see whether a
 * visit has become overdue; the others sleep until they are let in or become the usher. In steady state nothing is allocated.
 *
 * <p>Source: M. Shreedhar, G. Varghese, Efficient Fair Queuing using Deficit Round Robin, 1995.
 */
final class Turnstile {
    /** How long a visit counts. */
    static final long PATIENCE_NANOS = 10_000_000L;
    /** What a peer may take each round. */
    private static final long QUANTUM_BYTES = 1 << 20;
    /** What a request costs besides its bytes, in bytes that could be moved in that time. */
    private static final long REQUEST_COST_BYTES = 64 << 10;

    private enum State {
        OUT,
        WAITING,
        INSIDE,
        OVERDUE
    }

    private final int places;
    private final int placesAPeer;
    private final ReentrantLock lock = new ReentrantLock();

    // Guarded by lock.
    private final Map<UUID, Peer> peers = new HashMap<>();
    /** Peers with visitors that wait, in the order of their turns. */
    private final ArrayDeque<Peer> waiting = new ArrayDeque<>();
    /** Visits that count, oldest first. */
    private final ArrayDeque<Visitor> inside = new ArrayDeque<>();

    private @Nullable Visitor usher;

    Turnstile(int places) {
        this.places = places;
        this.placesAPeer = Math.max(1, places - Math.max(1, places / 4));
    }

    private static final class Peer {
        final UUID id;
        final ArrayDeque<Visitor> queue = new ArrayDeque<>();
        long deficit;
        int inside;
        int connections;

        Peer(UUID id) {
            this.id = id;
        }
    }

    /** One connection's way through. */
    final class Visitor implements AutoCloseable {
        private final Peer peer;
        private final Thread thread = Thread.currentThread();
        // Guarded by lock; state is also read without, by its own thread that waits.
        private volatile State state = State.OUT;
        private long cost;
        private long sinceNanos;

        private Visitor(Peer peer) {
            this.peer = peer;
        }

        /** Waits for its turn; returns at the latest when enough visits before it have ended or become overdue. */
        void enter(int bytes) {
            lock.lock();
            try {
                cost = bytes + REQUEST_COST_BYTES;
                state = State.WAITING;
                peer.queue.add(this);
                if (peer.queue.size() == 1) {
                    waiting.add(peer);
                }
                letIn();
            } finally {
                lock.unlock();
            }
            while (state == State.WAITING) {
                await();
            }
        }

        private void await() {
            long pause;
            lock.lock();
            try {
                expel();
                letIn();
                if (state != State.WAITING) {
                    return;
                }
                Visitor oldest = inside.peek();
                pause = usher != this
                        ? Long.MAX_VALUE
                        : oldest == null ? PATIENCE_NANOS : oldest.sinceNanos + PATIENCE_NANOS - System.nanoTime();
            } finally {
                lock.unlock();
            }
            // An interrupt is not ours: the channel's next call sees it. It would make this wait spin, so it is kept
            // for later.
            boolean interrupted = Thread.interrupted();
            if (pause == Long.MAX_VALUE) {
                LockSupport.park(Turnstile.this);
            } else {
                LockSupport.parkNanos(Turnstile.this, Math.max(1, pause));
            }
            if (interrupted) {
                thread.interrupt();
            }
        }

        /** Ends the visit. */
        void leave() {
            lock.lock();
            try {
                if (state == State.INSIDE) {
                    inside.remove(this);
                    peer.inside--;
                }
                state = State.OUT;
                letIn();
            } finally {
                lock.unlock();
            }
        }

        /** The connection has ended. */
        @Override
        public void close() {
            leave();
            lock.lock();
            try {
                if (--peer.connections == 0) {
                    peers.remove(peer.id);
                }
            } finally {
                lock.unlock();
            }
        }
    }

    /** For the calling thread, which serves a connection of {@code peer}. */
    Visitor visitor(UUID peer) {
        lock.lock();
        try {
            Peer known = peers.computeIfAbsent(peer, Peer::new);
            known.connections++;
            return new Visitor(known);
        } finally {
            lock.unlock();
        }
    }

    /** Visits that have lasted too long count no more. */
    private void expel() {
        long now = System.nanoTime();
        Visitor oldest = inside.peek();
        while (oldest != null && now - oldest.sinceNanos >= PATIENCE_NANOS) {
            inside.remove();
            oldest.peer.inside--;
            oldest.state = State.OVERDUE;
            oldest = inside.peek();
        }
    }

    /** Fills the places by turns, and names the usher. */
    private void letIn() {
        int atLimit = 0;
        while (inside.size() < places && atLimit < waiting.size()) {
            Peer turn = waiting.element();
            Visitor next = turn.queue.element();
            if (turn.inside >= placesAPeer) {
                atLimit++;
                waiting.add(waiting.remove());
            } else if (turn.deficit < next.cost) {
                turn.deficit += QUANTUM_BYTES;
                atLimit = 0;
                waiting.add(waiting.remove());
            } else {
                atLimit = 0;
                turn.deficit -= next.cost;
                turn.queue.remove();
                if (turn.queue.isEmpty()) {
                    turn.deficit = 0;
                    waiting.remove();
                }
                turn.inside++;
                next.sinceNanos = System.nanoTime();
                next.state = State.INSIDE;
                inside.add(next);
                wake(next);
            }
        }
        Peer first = waiting.peek();
        Visitor next = first == null ? null : first.queue.peek();
        if (next != usher) {
            usher = next;
            if (next != null) {
                wake(next);
            }
        }
    }

    private static void wake(Visitor visitor) {
        if (visitor.thread != Thread.currentThread()) {
            LockSupport.unpark(visitor.thread);
        }
    }
}
