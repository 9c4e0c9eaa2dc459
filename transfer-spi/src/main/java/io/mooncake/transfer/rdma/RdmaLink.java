// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.rdma;

import io.mooncake.natives.VerbsQueuePair;
import io.mooncake.transfer.TransferStatus;
import io.mooncake.transfer.internal.Counters;
import io.mooncake.transfer.rdma.RdmaFrameDescriptor.Connected;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The queue pairs to one life of a peer. One is idle here or checked out by exactly one batch; {@code open} counts both and those being
 * connected, and never exceeds the limit. All fields are guarded by this; connecting runs outside of the lock.
 */
final class RdmaLink {
    private final RdmaPort port;
    private final RdmaRegions registrations;
    private final RdmaControl control;
    private final Counters counters;
    private final int maxConnections;
    private final ArrayDeque<RdmaConnection> idle = new ArrayDeque<>();
    private final Set<RdmaConnection> busy = new HashSet<>();
    private int open;
    private boolean closed;

    RdmaLink(RdmaPort port, RdmaRegions registrations, RdmaControl control, Counters counters, int maxConnections) {
        this.port = port;
        this.registrations = registrations;
        this.control = control;
        this.counters = counters;
        this.maxConnections = maxConnections;
    }

    /** Takes at least one connection and at most {@code wanted}; waits for the first only. */
    List<RdmaConnection> checkOut(int wanted, long deadlineNanos, TransferStatus deadlineStatus) throws RdmaFailure {
        List<RdmaConnection> taken = new ArrayList<>();
        try {
            while (taken.size() < wanted) {
                RdmaConnection reused = reuseOrReserve(taken.isEmpty(), deadlineNanos, deadlineStatus);
                if (reused != null) {
                    taken.add(reused);
                } else if (reserved()) {
                    taken.add(connect(deadlineNanos, deadlineStatus));
                } else {
                    break;
                }
            }
            return taken;
        } catch (RdmaFailure e) {
            taken.forEach(one -> checkIn(one, true));
            throw e;
        }
    }

    private synchronized boolean reserved() {
        if (closed || open >= maxConnections) {
            return false;
        }
        open++;
        return true;
    }

    /** An idle connection, or null when one may be opened or, without {@code wait}, when there is none. */
    private synchronized @Nullable RdmaConnection reuseOrReserve(
            boolean wait, long deadlineNanos, TransferStatus deadlineStatus) throws RdmaFailure {
        while (true) {
            if (closed) {
                throw new RdmaFailure(TransferStatus.PEER_UNREACHABLE);
            }
            RdmaConnection reused = idle.pollLast();
            if (reused != null) {
                busy.add(reused);
                return reused;
            }
            if (!wait || open < maxConnections) {
                return null;
            }
            long leftMillis = (deadlineNanos - System.nanoTime()) / 1_000_000;
            if (leftMillis <= 0) {
                throw new RdmaFailure(deadlineStatus);
            }
            try {
                wait(leftMillis);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                throw new RdmaFailure(TransferStatus.CANCELED);
            }
        }
    }

    private RdmaConnection connect(long deadlineNanos, TransferStatus deadlineStatus) throws RdmaFailure {
        RdmaConnection made = null;
        VerbsQueuePair pair = null;
        try {
            pair = port.create(0);
            int sequence = port.newSequence();
            Connected peer = RdmaFrameDescriptor.decodeConnected(control.ask(
                    RdmaOwner.CONNECT,
                    RdmaFrameDescriptor.encodeConnect(port.endpoint(pair, sequence)),
                    deadlineNanos,
                    deadlineStatus));
            port.connect(pair, sequence, peer.endpoint());
            made = new RdmaConnection(pair, peer.connection(), registrations, counters);
            return made;
        } catch (RuntimeException e) {
            // The device refused: no queue pair left, or no way to the peer's address.
            throw RdmaFailure.noWay("no connection: " + e.getMessage());
        } finally {
            if (made == null && pair != null) {
                pair.close();
            }
            connected(made);
        }
    }

    private synchronized void connected(@Nullable RdmaConnection made) {
        if (made == null) {
            open--;
            notifyAll();
        } else {
            busy.add(made);
            if (closed) {
                made.cut();
            }
        }
    }

    /** Gives a connection back; one that is not reusable has been discarded. */
    synchronized void checkIn(RdmaConnection connection, boolean reusable) {
        busy.remove(connection);
        if (reusable && !closed && !connection.wasCut()) {
            idle.addLast(connection);
        } else {
            open--;
            connection.cut();
        }
        notifyAll();
    }

    /** Destroys every queue pair, those in use too. */
    synchronized void close() {
        closed = true;
        long[] ids = idle.stream().mapToLong(RdmaConnection::id).toArray();
        open -= idle.size();
        idle.forEach(RdmaConnection::cut);
        idle.clear();
        busy.forEach(RdmaConnection::cut);
        notifyAll();
        if (ids.length > 0) {
            control.tell(RdmaOwner.HANG_UP, RdmaFrameDescriptor.encodeHangUp(ids));
        }
    }

    /** Destroys the queue pairs in use and ends their batches; the link stays. */
    synchronized void cutBusy() {
        busy.forEach(RdmaConnection::cut);
    }
}
