// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.tcp;

import io.mooncake.transfer.PeerAddress;
import io.mooncake.transfer.TransferStatus;
import java.nio.channels.SocketChannel;
import java.util.ArrayDeque;
import java.util.HashSet;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * The pooled connections to one life of a peer. A connection is idle here or checked out by exactly one worker; {@code open} counts both
 * and those being connected, and never exceeds the limit.
 */
final class TcpPeerLink {
    private final PeerSockets sockets;
    private final PeerAddress peer;
    private final int maxConnections;

    private final ReentrantLock lock = new ReentrantLock();
    private final Condition changed = lock.newCondition();
    // Guarded by lock.
    private final ArrayDeque<TcpClientConnection> idle = new ArrayDeque<>();
    private final Set<TcpClientConnection> busy = new HashSet<>();
    private int open;
    private boolean closed;

    TcpPeerLink(PeerSockets sockets, PeerAddress peer, int maxConnections) {
        this.sockets = sockets;
        this.peer = peer;
        this.maxConnections = maxConnections;
    }

    /**
     * Takes a connection, opening one where the limit allows.
     *
     * @param wait whether to wait for another worker's, else null when none is to be had
     * @throws HandshakeException with the status for the batch
     */
    @Nullable
    TcpClientConnection checkOut(boolean wait, long deadlineNanos, TransferStatus deadlineStatus)
            throws HandshakeException {
        lock.lock();
        try {
            while (true) {
                if (closed) {
                    throw new HandshakeException(TransferStatus.PEER_UNREACHABLE, peer.encode() + " is gone");
                }
                TcpClientConnection reused = idle.pollLast();
                if (reused != null) {
                    busy.add(reused);
                    return reused;
                }
                if (open < maxConnections) {
                    open++;
                    break;
                }
                long left = deadlineNanos - System.nanoTime();
                if (!wait) {
                    return null;
                }
                if (left <= 0) {
                    throw new HandshakeException(deadlineStatus, "no connection became free");
                }
                changed.await(left, TimeUnit.NANOSECONDS);
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new HandshakeException(TransferStatus.CANCELED, "interrupted");
        } finally {
            lock.unlock();
        }
        return connect(deadlineNanos, deadlineStatus);
    }

    private TcpClientConnection connect(long deadlineNanos, TransferStatus deadlineStatus) throws HandshakeException {
        TcpClientConnection made = null;
        try {
            SocketChannel channel = sockets.connect(peer, Plane.DATA, deadlineNanos);
            made = new TcpClientConnection(sockets.watchdog(), channel, sockets.counters());
        } catch (HandshakeException e) {
            throw e.status() == TransferStatus.TIMEOUT
                    ? new HandshakeException(deadlineStatus, String.valueOf(e.getMessage()))
                    : e;
        } finally {
            lock.lock();
            try {
                if (made == null) {
                    open--;
                    changed.signal();
                } else {
                    busy.add(made);
                }
            } finally {
                lock.unlock();
            }
        }
        return made;
    }

    /** Gives a connection back; one that is not reusable has been discarded. */
    void checkIn(TcpClientConnection connection, boolean reusable) {
        lock.lock();
        try {
            busy.remove(connection);
            if (reusable && !closed) {
                idle.addLast(connection);
            } else {
                open--;
                connection.discard();
            }
            changed.signal();
        } finally {
            lock.unlock();
        }
    }

    /** Closes every connection, those in use too; workers find out by their channel. */
    void close() {
        lock.lock();
        try {
            closed = true;
            open -= idle.size();
            idle.forEach(TcpClientConnection::discard);
            idle.clear();
            busy.forEach(WatchedChannel::cut);
            changed.signalAll();
        } finally {
            lock.unlock();
        }
    }

    /** Closes the connections in use; the link stays. */
    void cutBusy() {
        lock.lock();
        try {
            busy.forEach(WatchedChannel::cut);
        } finally {
            lock.unlock();
        }
    }
}
