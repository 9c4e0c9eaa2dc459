// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.tcp;

import io.mooncake.transfer.PeerAddress;
import io.mooncake.transfer.RailStatistics;
import io.mooncake.transfer.TransferStatus;
import io.mooncake.transfer.internal.Quietly;
import io.mooncake.transfer.internal.RailListener;
import io.mooncake.transfer.internal.TransferBatch;
import java.net.InetAddress;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * The pooled connections to one life of a peer, over its rails. A connection is idle here or checked out by exactly one worker; a rail's
 * {@code open} counts both and those being connected, and never exceeds the limit.
 *
 * <p>Rails: the i-th address of this engine is paired with the i-th of the peer; the side that has fewer uses its own again from the first.
 * An engine without rails of its own lets the system choose where its connections start.
 */
final class TcpPeerLink {
    /** Where there are other rails, one that does not connect in this time is given up. */
    private static final long RAIL_CONNECT_NANOS = 1_000_000_000L;

    /** A rail that is well takes a new connection in this time. */
    private static final long PROBE_NANOS = 600_000_000L;

    /** A slice that takes longer than this, at less than that speed, makes a peer slow. */
    private static final long SLOW_NANOS = 250_000_000L;

    private static final double SLOW_BYTES_A_SECOND = 1e6;

    private final PeerSockets sockets;
    private final PeerAddress peer;
    private final int perRail;
    private final ReceiveCredits credits;
    private final Rails rails;
    private final Breaker breaker = new Breaker();
    private volatile RailListener listener = RailListener.NONE;

    private final ReentrantLock lock = new ReentrantLock();
    private final Condition changed = lock.newCondition();
    private final RailExaminer examiner;
    /** Written under the lock. */
    private volatile boolean closed;

    /** Guarded by the credits. */
    long receivingBytes;

    /** Of those, the slice that each peer has on its way whatever the others do. Guarded by the credits. */
    long freeBytes;

    /** Whether its answers take so long that what it is asked for should be little. Written by whoever sees one. */
    private volatile boolean slow;

    /** When the peer was last heard of, at least; a later one may get lost to an earlier one, by microseconds. */
    private volatile long heardNanos = System.nanoTime();

    /** When a call last asked for it. */
    private volatile long usedNanos = System.nanoTime();

    TcpPeerLink(
            PeerSockets sockets,
            PeerAddress peer,
            List<InetAddress> local,
            int connectionsPerRail,
            ReceiveCredits credits) {
        this.sockets = sockets;
        this.peer = peer;
        this.perRail = connectionsPerRail;
        this.credits = credits;
        this.rails = new Rails(peer, local);
        this.examiner = new RailExaminer(this, rails, lock);
    }

    PeerAddress peer() {
        return peer;
    }

    /** Who hears of rails that fail. */
    void tell(RailListener hearing) {
        listener = hearing;
    }

    Breaker breaker() {
        return breaker;
    }

    /** Who looks after the rails in the background. */
    RailExaminer examiner() {
        return examiner;
    }

    boolean closed() {
        return closed;
    }

    /** Whether there is more than one rail. */
    boolean railed() {
        return rails.several();
    }

    /** Connections that may share the batch now. */
    int lanes(TransferBatch batch) {
        if (!railed()) {
            return perRail;
        }
        return Math.max(1, rails.up(batch.tcpRails())) * perRail;
    }

    /** Whether nothing is known of the rail, and there are others. */
    boolean untried(Rail rail) {
        return railed() && !rail.tried();
    }

    /** Speed of the rail in units of the mean of those that the batch goes by. */
    double weight(Rail rail, TransferBatch batch) {
        return rails.weight(rail, batch.tcpRails());
    }

    void heard(long nanos) {
        heardNanos = nanos;
    }

    boolean slow() {
        return slow;
    }

    /** A slice of {@code bytes} took {@code nanos} to arrive, or has not arrived for so long. */
    void arrivedIn(long bytes, long nanos) {
        boolean crawling = nanos > SLOW_NANOS && bytes * 1e9 / nanos < SLOW_BYTES_A_SECOND;
        if (slow != crawling) {
            slow = crawling;
        }
    }

    /** When a byte last came from the peer, or went to it over a connection that is in use. */
    long heardNanos() {
        lock.lock();
        try {
            return rails.latestProgress(heardNanos);
        } finally {
            lock.unlock();
        }
    }

    void used(long nanos) {
        usedNanos = nanos;
    }

    long usedNanos() {
        return usedNanos;
    }

    /**
     * Takes a connection, opening one where the limit allows.
     *
     * @param leader whether to wait for another worker's, and to try rails that rest when no other is left; else null when none is to be had
     * @throws HandshakeException with the status for the batch
     */
    @Nullable
    TcpClientConnection checkOut(boolean leader, TransferBatch batch) throws HandshakeException {
        int tried = 0;
        while (true) {
            Rail rail = null;
            lock.lock();
            try {
                while (rail == null) {
                    if (closed) {
                        throw new HandshakeException(TransferStatus.PEER_UNREACHABLE, peer.encode() + " is gone");
                    }
                    rail = rails.choose(tried, leader, batch.tcpRails(), perRail);
                    if (rail == null) {
                        if (!leader) {
                            return null;
                        }
                        awaitChange(batch);
                        continue;
                    }
                    TcpClientConnection reused = rail.idle.pollLast();
                    if (reused != null) {
                        reused.waited();
                        reused.busy = true;
                        return reused;
                    }
                    rail.open++;
                }
            } finally {
                lock.unlock();
            }
            try {
                return connect(rail, batch);
            } catch (HandshakeException e) {
                tried |= 1 << rail.index;
                boolean railFailed =
                        e.status() == TransferStatus.PEER_UNREACHABLE || e.status() == TransferStatus.TIMEOUT;
                if (!railed() || !railFailed || !leader || Integer.bitCount(tried) == rails.count()) {
                    throw mapped(e, batch);
                }
            }
        }
    }

    private static HandshakeException mapped(HandshakeException e, TransferBatch batch) {
        if (e.status() != TransferStatus.TIMEOUT) {
            return e;
        }
        boolean late = batch.deadlineNanos() - System.nanoTime() <= 0;
        return new HandshakeException(
                late ? batch.deadlineStatus() : TransferStatus.PEER_UNREACHABLE, String.valueOf(e.getMessage()));
    }

    private void awaitChange(TransferBatch batch) throws HandshakeException {
        long left = batch.deadlineNanos() - System.nanoTime();
        if (left <= 0) {
            throw new HandshakeException(batch.deadlineStatus(), "no connection became free");
        }
        try {
            changed.await(left, TimeUnit.NANOSECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new HandshakeException(TransferStatus.CANCELED, "interrupted");
        }
    }

    private TcpClientConnection connect(Rail rail, TransferBatch batch) throws HandshakeException {
        // Read once: the batch of a helper that comes too late may be another one by the end.
        long batchEnd = batch.deadlineNanos();
        long deadline = batchEnd;
        if (railed()) {
            long soon = System.nanoTime() + RAIL_CONNECT_NANOS;
            deadline = deadline - soon < 0 ? deadline : soon;
        }
        TcpClientConnection made = null;
        boolean canceled = false;
        try {
            made = open(rail, deadline);
            return made;
        } catch (HandshakeException e) {
            canceled = e.status() == TransferStatus.CANCELED;
            throw e;
        } finally {
            lock.lock();
            try {
                if (made == null) {
                    rail.open--;
                    if (!canceled && batchEnd - System.nanoTime() > 0) {
                        restLocked(rail);
                    }
                } else {
                    if (rail.resting) {
                        rail.back();
                    }
                    made.busy = true;
                    rail.connections.add(made);
                    if (closed) {
                        made.end();
                    }
                }
                signalLocked();
            } finally {
                lock.unlock();
            }
        }
    }

    private TcpClientConnection open(Rail rail, long deadlineNanos) throws HandshakeException {
        PeerChannel channel = sockets.connect(peer, Plane.DATA, rail.host, rail.from, deadlineNanos, () -> closed);
        TcpClientConnection made = null;
        try {
            made = new TcpClientConnection(sockets.watchdog(), channel, this, rail, credits, sockets.counters());
            heard(System.nanoTime());
            return made;
        } finally {
            if (made == null) {
                // No memory for its buffers.
                Quietly.close(channel);
            }
        }
    }

    /** A connection is to be had. With several rails all are told: who waits may have tried this one in vain, and would not pass it on. */
    private void signalLocked() {
        if (railed()) {
            changed.signalAll();
        } else {
            changed.signal();
        }
    }

    /** The rail has failed: it rests, and its idle connections end. Under the lock. */
    void restLocked(Rail rail) {
        if (!railed() || rail.resting) {
            return;
        }
        rail.failures.increment();
        listener.failed(peer.incarnation(), rail.number);
        rail.rest(System.nanoTime());
        // They went the same way; whoever uses the others finds out by itself.
        rail.open -= rail.idle.size();
        rail.connections.removeAll(rail.idle);
        rail.idle.forEach(TcpClientConnection::discard);
        rail.idle.clear();
    }

    /** Gives a connection back; one that is not reusable has been discarded. */
    void checkIn(TcpClientConnection connection, TcpClientConnection.Outcome outcome) {
        lock.lock();
        try {
            Rail rail = connection.rail();
            connection.busy = false;
            if (outcome == TcpClientConnection.Outcome.REUSABLE && !closed) {
                rail.idle.addLast(connection);
            } else {
                rail.open--;
                rail.connections.remove(connection);
                connection.discard();
            }
            if (outcome == TcpClientConnection.Outcome.RAIL_FAILED) {
                restLocked(rail);
            }
            signalLocked();
        } finally {
            lock.unlock();
        }
    }

    /** Closes every connection, those in use too; workers find out by their channel. */
    void close() {
        lock.lock();
        try {
            closed = true;
            for (Rail rail : rails.all()) {
                rail.open -= rail.idle.size();
                rail.connections.removeAll(rail.idle);
                rail.idle.forEach(TcpClientConnection::discard);
                rail.idle.clear();
                rail.connections.forEach(TcpClientConnection::end);
            }
            changed.signalAll();
        } finally {
            lock.unlock();
        }
    }

    /** Closes the connections in use; the link stays. */
    void cutBusy() {
        lock.lock();
        try {
            for (Rail rail : rails.all()) {
                for (TcpClientConnection connection : rail.connections) {
                    if (connection.busy) {
                        connection.end();
                    }
                }
            }
        } finally {
            lock.unlock();
        }
    }

    /** A new connection of nobody over the rail, or null when it takes none soon. Not under the lock. */
    @Nullable
    TcpClientConnection tryOpen(Rail rail) {
        try {
            return open(rail, System.nanoTime() + PROBE_NANOS);
        } catch (HandshakeException e) {
            return null;
        }
    }

    /** Keeps a connection of nobody as an idle one, if there is room. Under the lock. */
    void keepLocked(Rail rail, TcpClientConnection made) {
        if (closed || rail.open >= perRail) {
            made.discard();
            return;
        }
        rail.open++;
        rail.connections.add(made);
        rail.idle.addLast(made);
        signalLocked();
    }

    List<RailStatistics> statistics() {
        lock.lock();
        try {
            return rails.statistics();
        } finally {
            lock.unlock();
        }
    }
}
