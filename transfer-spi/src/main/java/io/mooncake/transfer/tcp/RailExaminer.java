// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.tcp;

import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * Looks after the rails of one link in the background: cuts connections whose rail has gone silent, and finds out whether rails that rest,
 * and the peer itself, are well again. Questions are asked without the link's lock; what is changed is changed under it.
 */
final class RailExaminer {
    private final TcpPeerLink link;
    private final Rails rails;
    private final ReentrantLock lock;

    RailExaminer(TcpPeerLink link, Rails rails, ReentrantLock lock) {
        this.link = link;
        this.rails = rails;
        this.lock = lock;
    }

    /** A rail that has rested long enough, now being probed; null when there is none. */
    @Nullable
    Rail startProbe(long nowNanos) {
        lock.lock();
        try {
            for (Rail rail : rails.all()) {
                if (rail.resting && !rail.probing && rail.probeAtNanos - nowNanos <= 0 && !link.closed()) {
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
        TcpClientConnection made = link.tryOpen(rail);
        lock.lock();
        try {
            rail.probing = false;
            if (made == null) {
                rail.rest(System.nanoTime());
            } else {
                rail.back();
                link.keepLocked(rail, made);
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

    /** Whether the peer answers at all, over any rail. */
    boolean answers() {
        for (Rail rail : rails.all()) {
            TcpClientConnection made = link.tryOpen(rail);
            if (made != null) {
                lock.lock();
                try {
                    link.keepLocked(rail, made);
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
        if (!rails.several()) {
            return null;
        }
        Rail suspect = null;
        lock.lock();
        try {
            for (Rail rail : rails.all()) {
                for (TcpClientConnection connection : rail.connections) {
                    if (!connection.busy || !connection.silentSince(nowNanos - stallNanos)) {
                        continue;
                    }
                    if (rails.othersMovedSince(rail, connection.progressNanos() + stallNanos / 2)) {
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

    /** A silent rail: when it takes no new connection and another one does, its connections are cut. */
    void examine(Rail suspect) {
        TcpClientConnection again = link.tryOpen(suspect);
        boolean otherAnswers = false;
        for (int i = 0; i < rails.count() && again == null && !otherAnswers; i++) {
            Rail one = rails.all()[i];
            TcpClientConnection other = one == suspect || one.resting ? null : link.tryOpen(one);
            otherAnswers = other != null;
            if (other != null) {
                other.discard();
            }
        }
        lock.lock();
        try {
            suspect.probing = false;
            if (again != null) {
                link.keepLocked(suspect, again);
            } else if (otherAnswers) {
                for (TcpClientConnection connection : suspect.connections) {
                    if (connection.busy) {
                        connection.stall();
                    }
                }
                link.restLocked(suspect);
            }
        } finally {
            lock.unlock();
        }
    }
}
