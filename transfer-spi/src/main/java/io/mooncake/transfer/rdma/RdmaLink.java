// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.rdma;

import io.mooncake.transfer.TransferStatus;
import io.mooncake.transfer.topology.RailNumber;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.function.IntConsumer;
import org.jspecify.annotations.Nullable;

/**
 * The queue pairs to one life of a peer: a set for each device of this engine.
 *
 * <p>A connection is idle in its set or checked out by exactly one batch; {@code open} of a set counts both and those being connected, and
 * never exceeds the limit. A batch takes connections of all paths that are usable, the fastest first. A path that fails rests; when its rest
 * is over a connection is tried in the background, and only when that works batches take it again. While no path is usable a batch tries one
 * that rests; while no port of this engine carries traffic it waits. The sets are guarded by this; connecting runs outside of the lock.
 */
final class RdmaLink {
    /** Connections that fail in a row, about 2 s of them where RDMA was demanded. */
    private static final int MAX_ATTEMPTS = 40;

    private static final int MAX_OPTIONAL_ATTEMPTS = 3;
    private static final long ASK_AGAIN_MILLIS = 50;
    private static final long REVIVE_NANOS = 2_000_000_000L;

    private final RdmaConnector connector;
    private final RdmaControl control;
    private final PeerRegions regions;
    private final IntConsumer failing;
    private final int maxConnections;
    private final ScheduledExecutorService background;
    private final List<RailSet> sets = new ArrayList<>();
    /** Few; a set would make an object for each that is taken. */
    private final List<RdmaConnection> busy = new ArrayList<>();

    private boolean closed;

    /** The connections of one path. */
    private static final class RailSet {
        final RdmaPath path;
        final List<RdmaConnection> idle = new ArrayList<>();
        int open;

        RailSet(RdmaPath path) {
            this.path = path;
        }

        boolean isOf(int devices) {
            return (devices & bit()) != 0;
        }

        int bit() {
            return 1 << path.port().index();
        }
    }

    /**
     * @param failing hears the {@link RailNumber} of each path that fails
     * @param maxConnections of each path
     */
    RdmaLink(
            List<RdmaPort> ports,
            RdmaConnector connector,
            RdmaControl control,
            IntConsumer failing,
            int maxConnections,
            ScheduledExecutorService background) {
        this.connector = connector;
        this.control = control;
        this.regions = new PeerRegions(control);
        this.failing = failing;
        this.maxConnections = maxConnections;
        this.background = background;
        ports.forEach(port -> sets.add(new RailSet(new RdmaPath(port))));
    }

    /** Questions to the peer. */
    RdmaControl control() {
        return control;
    }

    /** What is known of the peer's regions. */
    PeerRegions regions() {
        return regions;
    }

    /**
     * Takes at least one connection and at most {@code wanted}, spread over the paths; waits for the first only. Allocates nothing while
     * there are idle ones.
     *
     * @param preferred bits of the devices to use; others only when none of these is usable
     * @param demanded whether there is no other way than RDMA: then it waits while no port of this engine carries traffic, and for a peer
     *     whose port is down tries longer
     * @param taken takes them; empty when this throws
     */
    void checkOut(
            int wanted,
            int preferred,
            boolean demanded,
            long deadlineNanos,
            TransferStatus deadlineStatus,
            List<RdmaConnection> taken)
            throws RdmaFailure {
        int attempts = 0;
        try {
            while (true) {
                if (!demanded && next(0, preferred) == null) {
                    throw RdmaFailure.noWay("no port of this engine is active");
                }
                String failure = collect(wanted, preferred, taken, deadlineNanos, deadlineStatus);
                if (!taken.isEmpty()) {
                    return;
                }
                if (!failure.isEmpty() && ++attempts > (demanded ? MAX_ATTEMPTS : MAX_OPTIONAL_ATTEMPTS)) {
                    throw RdmaFailure.noWay(failure);
                }
                await(deadlineNanos, deadlineStatus);
            }
        } catch (RdmaFailure e) {
            taken.forEach(one -> checkIn(one, true));
            taken.clear();
            throw e;
        }
    }

    /**
     * The fastest usable path that is not in the bit set {@code tried}, of preferred devices when one of these is usable; what was never
     * measured comes first, so that it is. When none is usable, the one whose rest ends first.
     */
    private @Nullable RailSet next(int tried, int preferred) {
        int usable = 0;
        for (int i = 0; i < sets.size(); i++) {
            usable |= sets.get(i).path.usable() ? sets.get(i).bit() : 0;
        }
        if (usable == 0 && tried == 0) {
            return firstRested();
        }
        int left = ((usable & preferred) == 0 ? usable : usable & preferred) & ~tried;
        RailSet best = null;
        for (int i = 0; i < sets.size(); i++) {
            RailSet set = sets.get(i);
            if (set.isOf(left) && (best == null || set.path.rank() > best.path.rank())) {
                best = set;
            }
        }
        return best;
    }

    private @Nullable RailSet firstRested() {
        return sets.stream()
                .filter(one -> one.path.port().active())
                .min(Comparator.comparingLong(one -> one.path.restUntilNanos() - System.nanoTime()))
                .orElse(null);
    }

    /** Why a connection could not be made, if so. */
    private String collect(
            int wanted, int preferred, List<RdmaConnection> taken, long deadlineNanos, TransferStatus deadlineStatus)
            throws RdmaFailure {
        String failure = "";
        for (int i = 0; i < maxConnections; i++) {
            int tried = 0;
            for (RailSet set = next(0, preferred); set != null; set = next(tried, preferred)) {
                tried |= set.bit();
                if (taken.size() >= Math.min(wanted, RdmaFrameDescriptor.MAX_CONNECTIONS)) {
                    return failure;
                }
                RdmaConnection reused = reuse(set);
                if (reused != null) {
                    taken.add(reused);
                } else if (!(i > 0 && set.path.resting()) && reserved(set)) {
                    try {
                        taken.add(connect(set, deadlineNanos, deadlineStatus));
                    } catch (RdmaFailure e) {
                        if (e.isNoWay() || e.status() != TransferStatus.PEER_UNREACHABLE) {
                            throw e;
                        }
                        failure = String.valueOf(e.getMessage());
                    }
                }
            }
        }
        return failure;
    }

    private synchronized @Nullable RdmaConnection reuse(RailSet set) throws RdmaFailure {
        if (closed) {
            throw new RdmaFailure(TransferStatus.PEER_UNREACHABLE);
        }
        if (set.idle.isEmpty()) {
            return null;
        }
        RdmaConnection reused = set.idle.remove(set.idle.size() - 1);
        busy.add(reused);
        return reused;
    }

    private synchronized boolean reserved(RailSet set) {
        if (closed || set.open >= maxConnections) {
            return false;
        }
        set.open++;
        return true;
    }

    private synchronized void await(long deadlineNanos, TransferStatus deadlineStatus) throws RdmaFailure {
        if (closed) {
            throw new RdmaFailure(TransferStatus.PEER_UNREACHABLE);
        }
        long leftMillis = (deadlineNanos - System.nanoTime()) / 1_000_000;
        if (leftMillis <= 0) {
            throw new RdmaFailure(deadlineStatus);
        }
        try {
            wait(Math.min(leftMillis, ASK_AGAIN_MILLIS));
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new RdmaFailure(TransferStatus.CANCELED);
        }
    }

    /** A connection over a path that was reserved; when the path does not carry it, it rests. */
    private RdmaConnection connect(RailSet set, long deadlineNanos, TransferStatus deadlineStatus) throws RdmaFailure {
        RdmaConnection made = null;
        try {
            made = connector.connect(set.path, control, deadlineNanos, deadlineStatus);
            set.path.worked();
            return made;
        } catch (RdmaFailure e) {
            if (e.status() == TransferStatus.PEER_UNREACHABLE) {
                failed(set.path);
            }
            throw e;
        } finally {
            connected(set, made);
        }
    }

    private synchronized void connected(RailSet set, @Nullable RdmaConnection made) {
        if (made == null) {
            set.open--;
            notifyAll();
        } else {
            busy.add(made);
            if (closed) {
                made.cut();
            }
        }
    }

    /** A connection of that path broke, or could not be made: the idle ones are no better. */
    void failed(RdmaPath path) {
        failing.accept(RailNumber.ofRdma(path.port().index()));
        synchronized (this) {
            drop(setOf(path), setOf(path).idle);
        }
        // A port of our own that is down says so itself when it is back.
        if (path.port().active()) {
            later(path, path.failed(System.nanoTime()));
        }
    }

    private void later(RdmaPath path, long nanos) {
        try {
            background.schedule(() -> revive(path), nanos, TimeUnit.NANOSECONDS);
        } catch (RejectedExecutionException e) {
            // The engine closes.
        }
    }

    /** Tries a path that rests; on the background's thread. */
    private void revive(RdmaPath path) {
        RailSet set = setOf(path);
        long left = path.restUntilNanos() - System.nanoTime();
        if (!path.resting() || !path.port().active() || left > 1_000_000 || !reserved(set)) {
            return;
        }
        try {
            checkIn(connect(set, System.nanoTime() + REVIVE_NANOS, TransferStatus.PEER_UNREACHABLE), true);
        } catch (RdmaFailure e) {
            // It rests again, longer.
        }
    }

    private RailSet setOf(RdmaPath path) {
        return sets.get(path.port().index());
    }

    /** Gives a connection back; one that is not reusable has been discarded. */
    synchronized void checkIn(RdmaConnection connection, boolean reusable) {
        busy.remove(connection);
        RailSet set = setOf(connection.path());
        if (reusable
                && !closed
                && !connection.wasCut()
                && connection.path().port().active()) {
            set.idle.add(connection);
        } else {
            set.open--;
            connection.cut();
            if (reusable) {
                hangUp(List.of(connection));
            }
        }
        notifyAll();
    }

    private void hangUp(List<RdmaConnection> connections) {
        long[] ids = connections.stream().mapToLong(RdmaConnection::id).toArray();
        control.tell(RdmaOwner.HANG_UP, RdmaFrameDescriptor.encodeHangUp(ids));
    }

    /** That port of ours carries nothing any more: its connections are broken, and their batches go on over others. */
    synchronized void portDown(RdmaPort port) {
        failing.accept(RailNumber.ofRdma(port.index()));
        RailSet set = sets.get(port.index());
        drop(set, set.idle);
        for (RdmaConnection one : busy) {
            if (one.path() == set.path) {
                one.breakOff();
            }
        }
    }

    /** That port of ours carries traffic again. */
    synchronized void portUp(RdmaPort port) {
        RdmaPath path = sets.get(port.index()).path;
        if (path.resting()) {
            later(path, 0);
        }
        notifyAll();
    }

    /** The device says that a queue pair is broken. One in use finds out by its completions, which say why. */
    synchronized void pairBroken(RdmaPort port, int number) {
        RailSet set = sets.get(port.index());
        drop(set, set.idle.stream().filter(one -> one.number() == number).toList());
    }

    private void drop(RailSet set, List<RdmaConnection> idle) {
        List<RdmaConnection> dropped = List.copyOf(idle);
        if (!dropped.isEmpty()) {
            set.open -= dropped.size();
            set.idle.removeAll(dropped);
            dropped.forEach(RdmaConnection::cut);
            hangUp(dropped);
        }
    }

    /** Destroys every queue pair, those in use too. */
    synchronized void close() {
        closed = true;
        sets.forEach(set -> drop(set, set.idle));
        cutBusy();
        notifyAll();
    }

    /** Destroys the queue pairs in use and ends their batches; the link stays. */
    synchronized void cutBusy() {
        busy.forEach(RdmaConnection::cut);
    }
}
