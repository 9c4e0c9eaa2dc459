// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.tcp;

import io.mooncake.transfer.PeerAddress;
import io.mooncake.transfer.RailStatistics;
import io.mooncake.transfer.TransferStatus;
import io.mooncake.transfer.internal.Quietly;
import io.mooncake.transfer.internal.RailListener;
import io.mooncake.transfer.internal.Region;
import io.mooncake.transfer.internal.TransferBatch;
import java.net.InetAddress;
import java.util.ArrayList;
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

    private static final double LIGHTEST = 0.01;
    private static final double HEAVIEST = 8;

    private final PeerSockets sockets;
    private final PeerAddress peer;
    private final int perRail;
    private final ReceiveCredits credits;
    private final Rail[] rails;
    private final Breaker breaker = new Breaker();
    private volatile RailListener listener = RailListener.NONE;

    private final ReentrantLock lock = new ReentrantLock();
    private final Condition changed = lock.newCondition();
    /** Written under the lock. */
    private volatile boolean closed;

    /** Guarded by the credits. */
    long receivingBytes;

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
        List<String> hosts = new ArrayList<>(peer.rails());
        hosts.add(0, peer.host());
        this.rails = new Rail[Math.max(hosts.size(), local.size())];
        for (int i = 0; i < rails.length; i++) {
            int own = local.isEmpty() ? 0 : i % local.size();
            rails[i] = new Rail(i, 1 << own, hosts.get(i % hosts.size()), local.isEmpty() ? null : local.get(own));
        }
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

    /** Whether there is more than one rail. */
    boolean railed() {
        return rails.length > 1;
    }

    /** Connections that may share the batch now. */
    int lanes(TransferBatch batch) {
        if (!railed()) {
            return perRail;
        }
        int among = among(batch.tcpRails(), 0);
        int up = 0;
        for (Rail rail : rails) {
            up += rail.resting || (among & rail.localBit) == 0 ? 0 : 1;
        }
        return Math.max(1, up) * perRail;
    }

    /** The preferred addresses of this engine when one of their rails is up and not {@code tried}, else all. */
    private int among(int preferred, int tried) {
        if (preferred != Region.ANY_RAIL) {
            for (Rail rail : rails) {
                if (!rail.resting && (preferred & rail.localBit) != 0 && (tried & 1 << rail.index) == 0) {
                    return preferred;
                }
            }
        }
        return Region.ANY_RAIL;
    }

    /** Whether nothing is known of the rail, and there are others. */
    boolean untried(Rail rail) {
        return railed() && !rail.tried();
    }

    /** Speed of the rail in units of the mean of those that the batch goes by. */
    double weight(Rail rail, TransferBatch batch) {
        if (!railed() || rail.speed() == 0) {
            return 1;
        }
        double mean = meanSpeed(among(batch.tcpRails(), 0));
        return Math.max(LIGHTEST, Math.min(HEAVIEST, rail.speed() / mean));
    }

    private double meanSpeed(int among) {
        double sum = 0;
        int known = 0;
        for (Rail rail : rails) {
            if (!rail.resting && (among & rail.localBit) != 0 && rail.speed() > 0) {
                sum += rail.speed();
                known++;
            }
        }
        return known == 0 ? 1 : sum / known;
    }

    void heard(long nanos) {
        heardNanos = nanos;
    }

    /** When a byte last came from the peer, or went to it over a connection that is in use. */
    long heardNanos() {
        long latest = heardNanos;
        lock.lock();
        try {
            for (Rail rail : rails) {
                for (TcpClientConnection connection : rail.connections) {
                    if (connection.busy && connection.progressNanos() - latest > 0) {
                        latest = connection.progressNanos();
                    }
                }
            }
        } finally {
            lock.unlock();
        }
        return latest;
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
                    rail = choose(tried, leader, batch.tcpRails());
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
                if (!railed() || !railFailed || !leader || Integer.bitCount(tried) == rails.length) {
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

    /**
     * The rail that is likely to be done first with one more slice: of the preferred ones when one of them is up, however busy they are; one
     * that rests only when there is no other.
     */
    private @Nullable Rail choose(int tried, boolean leader, int preferred) {
        Rail best = null;
        double least = Double.MAX_VALUE;
        boolean anyUp = false;
        int among = among(preferred, tried);
        double mean = railed() ? meanSpeed(among) : 1;
        for (Rail rail : rails) {
            if (rail.resting || (tried & 1 << rail.index) != 0 || (among & rail.localBit) == 0) {
                continue;
            }
            anyUp = true;
            if (rail.idle.isEmpty() && rail.open >= perRail) {
                continue;
            }
            double cost = (rail.busy() + 1) * mean / (rail.speed() == 0 ? mean : rail.speed());
            if (cost < least) {
                least = cost;
                best = rail;
            }
        }
        if (anyUp || !leader) {
            return best;
        }
        for (Rail rail : rails) {
            if ((tried & 1 << rail.index) == 0 && (!rail.idle.isEmpty() || rail.open < perRail)) {
                return rail;
            }
        }
        return null;
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

    private void restLocked(Rail rail) {
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
            for (Rail rail : rails) {
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
            for (Rail rail : rails) {
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

    // ------------------------------------------------------------------------------------------------------ watching

    /** A rail that has rested long enough, now being probed; null when there is none. */
    @Nullable
    Rail startProbe(long nowNanos) {
        lock.lock();
        try {
            for (Rail rail : rails) {
                if (rail.resting && !rail.probing && rail.probeAtNanos - nowNanos <= 0 && !closed) {
                    rail.probing = true;
                    return rail;
                }
            }
            return null;
        } finally {
            lock.unlock();
        }
    }

    /** Looks whether the rail is well again. */
    void probe(Rail rail) {
        TcpClientConnection made = tryOpen(rail);
        lock.lock();
        try {
            rail.probing = false;
            if (made == null) {
                rail.rest(System.nanoTime());
            } else {
                rail.back();
                keepLocked(rail, made);
            }
        } finally {
            lock.unlock();
        }
    }

    /** The rail was not probed after all. */
    void probed(Rail rail) {
        lock.lock();
        try {
            rail.probing = false;
        } finally {
            lock.unlock();
        }
    }

    private @Nullable TcpClientConnection tryOpen(Rail rail) {
        try {
            return open(rail, System.nanoTime() + PROBE_NANOS);
        } catch (HandshakeException e) {
            return null;
        }
    }

    private void keepLocked(Rail rail, TcpClientConnection made) {
        if (closed || rail.open >= perRail) {
            made.discard();
            return;
        }
        rail.open++;
        rail.connections.add(made);
        rail.idle.addLast(made);
        signalLocked();
    }

    /** Whether the peer answers at all, over any rail. */
    boolean answers() {
        for (Rail rail : rails) {
            TcpClientConnection made = tryOpen(rail);
            if (made != null) {
                lock.lock();
                try {
                    keepLocked(rail, made);
                } finally {
                    lock.unlock();
                }
                return true;
            }
        }
        return false;
    }

    /**
     * Cuts connections whose rail has moved nothing for {@code stallNanos} though another one has.
     *
     * @return a rail that is silent while nothing else has been asked of the others, or null
     */
    @Nullable
    Rail cutStalled(long nowNanos, long stallNanos) {
        if (!railed()) {
            return null;
        }
        Rail suspect = null;
        lock.lock();
        try {
            for (Rail rail : rails) {
                for (TcpClientConnection connection : rail.connections) {
                    if (!connection.busy || !connection.silentSince(nowNanos - stallNanos)) {
                        continue;
                    }
                    if (othersMovedSince(rail, connection.progressNanos() + stallNanos / 2)) {
                        connection.stall();
                    } else if (!rail.probing && !rail.resting) {
                        suspect = rail;
                    }
                }
            }
            if (suspect != null) {
                suspect.probing = true;
            }
            return suspect;
        } finally {
            lock.unlock();
        }
    }

    private boolean othersMovedSince(Rail rail, long nanos) {
        for (Rail other : rails) {
            if (other != rail) {
                for (TcpClientConnection connection : other.connections) {
                    if (connection.progressNanos() - nanos > 0) {
                        return true;
                    }
                }
            }
        }
        return false;
    }

    /** A silent rail: when it takes no new connection and another one does, its connections are cut. */
    void examine(Rail suspect) {
        TcpClientConnection again = tryOpen(suspect);
        boolean otherAnswers = false;
        for (int i = 0; i < rails.length && again == null && !otherAnswers; i++) {
            TcpClientConnection other = rails[i] == suspect || rails[i].resting ? null : tryOpen(rails[i]);
            otherAnswers = other != null;
            if (other != null) {
                other.discard();
            }
        }
        lock.lock();
        try {
            suspect.probing = false;
            if (again != null) {
                keepLocked(suspect, again);
            } else if (otherAnswers) {
                for (TcpClientConnection connection : suspect.connections) {
                    if (connection.busy) {
                        connection.stall();
                    }
                }
                restLocked(suspect);
            }
        } finally {
            lock.unlock();
        }
    }

    List<RailStatistics> statistics() {
        List<RailStatistics> result = new ArrayList<>();
        lock.lock();
        try {
            for (Rail rail : rails) {
                result.add(rail.statistics());
            }
        } finally {
            lock.unlock();
        }
        return result;
    }
}
