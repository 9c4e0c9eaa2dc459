// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.tcp;

import java.util.Arrays;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;

/**
 * Closes channels whose blocking call outlives its deadline: a blocking read has no time-out of its own, but closing the channel wakes it.
 *
 * <p>Each watched channel has one atomic deadline: NONE, a point in time, or FIRED. Its worker arms and disarms; this thread alone moves it
 * from a passed point to FIRED, and only then closes. So a channel that was disarmed in time is never closed, and {@link Watched#disarm}
 * tells its worker which of the two happened. The thread sleeps to the earliest deadline; {@code wakeAt} is raised to NONE before each
 * scan, so that whoever arms during a scan leaves an unpark permit and the scan repeats: no wake-up is lost. Arming allocates nothing.
 */
final class Watchdog implements AutoCloseable {
    private static final long NONE = Long.MAX_VALUE;
    private static final long FIRED = Long.MIN_VALUE;

    /** Never changed, only replaced, by {@link #add} and {@link #remove}: a scan makes no iterator. */
    private volatile Watched[] watched = new Watched[0];

    private final Thread thread;
    private volatile long wakeAt = NONE;
    private volatile boolean closed;

    Watchdog(String name) {
        thread = new Thread(this::run, name);
        thread.setDaemon(true);
        thread.start();
    }

    private void add(Watched one) {
        synchronized (this) {
            Watched[] more = Arrays.copyOf(watched, watched.length + 1);
            more[watched.length] = one;
            watched = more;
        }
        if (closed) {
            one.cut();
        }
    }

    private synchronized void remove(Watched one) {
        watched = Arrays.stream(watched).filter(other -> other != one).toArray(Watched[]::new);
    }

    /** Something that can be cut. */
    abstract static class Watched {
        private final Watchdog watchdog;
        private final AtomicLong deadline = new AtomicLong(NONE);

        Watched(Watchdog watchdog) {
            this.watchdog = watchdog;
        }

        /** Wakes whoever is blocked on it. */
        abstract void cut();

        final void watch() {
            watchdog.add(this);
        }

        final void unwatch() {
            watchdog.remove(this);
        }

        /** From now on it is cut at {@code atNanos}, unless disarmed before. */
        final void arm(long atNanos) {
            if (deadline.get() == FIRED) {
                return;
            }
            deadline.set(atNanos);
            if (atNanos < watchdog.wakeAt) {
                LockSupport.unpark(watchdog.thread);
            }
        }

        /** Whether it was in time; false when it has been cut. */
        final boolean disarm() {
            long now = deadline.get();
            return now != FIRED && deadline.compareAndSet(now, NONE);
        }

        final boolean fired() {
            return deadline.get() == FIRED;
        }
    }

    private void run() {
        while (!closed) {
            wakeAt = NONE;
            long now = System.nanoTime();
            long earliest = NONE;
            for (Watched one : watched) {
                long at = one.deadline.get();
                if (at == NONE || at == FIRED) {
                    continue;
                }
                if (at <= now) {
                    if (one.deadline.compareAndSet(at, FIRED)) {
                        one.cut();
                    }
                } else {
                    earliest = Math.min(earliest, at);
                }
            }
            wakeAt = earliest;
            if (earliest == NONE) {
                LockSupport.park(this);
            } else {
                LockSupport.parkNanos(this, earliest - System.nanoTime());
            }
        }
    }

    /** Cuts all that is watched, and what comes to be watched later: nobody would end its waits any more. */
    @Override
    public void close() {
        closed = true;
        LockSupport.unpark(thread);
        for (Watched one : watched) {
            one.cut();
        }
    }
}
