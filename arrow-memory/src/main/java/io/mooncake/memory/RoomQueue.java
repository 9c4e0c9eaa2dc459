// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory;

import io.mooncake.base.Deadline;
import java.util.ArrayDeque;
import java.util.Iterator;
import java.util.concurrent.locks.LockSupport;
import java.util.function.IntSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Those who wait for room in a pool, in the order in which they came.
 *
 * <p>{@link #wake} says that there may be room: something was released, unpinned, removed or given back. It calls the first in the queue, who
 * makes one pass: an attempt for each in order, one at a time, so that who waits for something that only concerns himself, his tenant's quota, keeps
 * nobody behind from what he can have, and no attempt is in another's way. Who is served leaves; a new first makes a pass at once.
 *
 * <p>No wake is lost: a waiter is in the queue before a pass looks for room, room is made before {@code first} is read, and a call during a pass makes
 * another one. What ends without a word, a soft pin by its time, is found by the passes that the first makes now and then. A wake that nobody waits
 * for costs a read.
 *
 * <p>Threading: safe for all threads. Attempts are made under this object's lock, by the thread of whoever is first; {@link #wake} takes no lock.
 */
final class RoomQueue {
    private static final long LOOK_NANOS = 20_000_000L;

    private static final class Waiter {
        final Thread thread = Thread.currentThread();
        final IntSupplier attempt;
        volatile boolean called;

        // Guarded by the queue.
        int result;
        boolean served;

        Waiter(IntSupplier attempt, int result) {
            this.attempt = attempt;
            this.result = result;
        }

        void call() {
            if (!called) {
                called = true;
                LockSupport.unpark(thread);
            }
        }
    }

    /** Guarded by this. */
    private final ArrayDeque<Waiter> queue = new ArrayDeque<>();
    /** The first of them; written under the lock. */
    private volatile @Nullable Waiter first;

    /** There may be room. */
    void wake() {
        Waiter one = first;
        if (one != null) {
            one.call();
        }
    }

    /** Whether anybody waits. */
    boolean isWaitedFor() {
        return first != null;
    }

    /** How many wait. */
    synchronized int waiting() {
        return queue.size();
    }

    /**
     * Waits until {@code attempt} gives a slot or that the block is refused, the deadline has passed, or the thread is interrupted, which it stays.
     *
     * @param before result when nothing is tried any more
     * @param attempt made in its turn, by any waiting thread
     * @param afterPass to be run without the lock after attempts were made
     * @return the last result
     */
    int await(int before, IntSupplier attempt, Runnable afterPass, Deadline deadline) {
        Waiter me = new Waiter(attempt, before);
        synchronized (this) {
            queue.addLast(me);
            first = queue.peekFirst();
        }
        try {
            return await(me, afterPass, deadline);
        } catch (RuntimeException | Error e) {
            // Whoever is behind must not wait for one who is gone.
            synchronized (this) {
                queue.remove(me);
                first = queue.peekFirst();
            }
            wake();
            throw e;
        }
    }

    private int await(Waiter me, Runnable afterPass, Deadline deadline) {
        wake(); // there may be something for this one that those before it can't use
        while (true) {
            me.called = false;
            boolean over;
            synchronized (this) {
                if (queue.peekFirst() == me) {
                    pass();
                }
                over = me.served || deadline.expired() || Thread.currentThread().isInterrupted();
                if (over) {
                    queue.remove(me);
                    first = queue.peekFirst();
                }
            }
            afterPass.run();
            if (over) {
                wake();
                return me.result;
            }
            if (!me.called) {
                LockSupport.parkNanos(this, Math.min(LOOK_NANOS, deadline.remainingNanos()));
            }
        }
    }

    private void pass() {
        for (Iterator<Waiter> all = queue.iterator(); all.hasNext(); ) {
            Waiter one = all.next();
            one.result = one.attempt.getAsInt();
            if (one.result >= 0 || one.result == BlockStore.REFUSED) {
                one.served = true;
                all.remove();
                one.call();
            }
        }
        first = queue.peekFirst();
    }
}
