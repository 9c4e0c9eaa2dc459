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
 * nobody behind from what he can have, and no attempt is in another's way. Who is served leaves; a new first makes a pass at once. While the first
 * tells listeners what his attempts did, which may take long, the next one is called in his place.
 *
 * <p>An attempt of who waits for a quota looks through all blocks of the tenant. It is made only when something of that tenant's was given back
 * since, once a pass and tenant until one fails, and now and then.
 *
 * <p>No wake is lost: a waiter is in the queue before his first attempt, room is made before {@code anybody} and {@code first} are read, a call during a
 * pass makes another one, and a call that finds all of them telling listeners is noted for who is through first. What ends without a word, a soft pin by its
 * time, is found by the passes that the first makes now and then. A wake that nobody waits for costs a read.
 *
 * <p>Threading: safe for all threads. Attempts are made under this object's lock, by the thread of whoever is first; {@link #wake} takes no lock.
 */
final class RoomQueue {
    private static final long LOOK_NANOS = 20_000_000L;

    /** How often quotas are looked at without a word. */
    private static final long QUOTA_LOOK_NANOS = 200_000_000L;

    private static final class Waiter {
        final Thread thread = Thread.currentThread();
        final TenantAccount account;
        final IntSupplier attempt;
        volatile boolean called;

        // Guarded by the queue.
        int result;
        boolean tried;
        boolean over;
        boolean telling;

        @Nullable
        Throwable failure;

        Waiter(TenantAccount account, int before, IntSupplier attempt) {
            this.account = account;
            this.attempt = attempt;
            result = before;
        }

        boolean waitsForQuota() {
            return result == BlockStore.OVER_QUOTA;
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
    /** The first of them who does not tell listeners just now; written under the lock. */
    private volatile @Nullable Waiter first;
    /** Whether the queue has any; written under the lock. */
    private volatile boolean anybody;
    /** Whether a call found nobody to be called. */
    private volatile boolean missed;
    /** Those who wait for memory, not for a quota; written under the lock. */
    private volatile int forMemory;

    private volatile boolean closed;

    // Guarded by this.
    private long passes;
    private long quotasLookedAt = System.nanoTime();

    /** There may be room, and {@code account} has given some of it; null: nobody's. */
    void wake(@Nullable TenantAccount account) {
        if (anybody) {
            if (account != null) {
                account.stirred = true;
            }
            callFirst();
        }
    }

    private void callFirst() {
        Waiter one = first;
        if (one == null) {
            missed = true;
            // Who is through meanwhile has either seen that, or is seen here.
            one = first;
        }
        if (one != null) {
            one.call();
        }
    }

    /** Whether anybody waits for what an allocation of {@code account} could take. */
    boolean isWaitedFor(TenantAccount account) {
        return forMemory > 0 || account.waiting > 0;
    }

    /** How many wait. */
    synchronized int waiting() {
        return queue.size();
    }

    /** Nobody waits from now on. */
    void close() {
        closed = true;
        synchronized (this) {
            queue.forEach(Waiter::call);
        }
    }

    /**
     * Waits until {@code attempt} gives a slot or that the block is refused, the deadline has passed, the pool is closed, or the thread is interrupted, which it
     * stays. One attempt is made at least.
     *
     * @param before result of an attempt without the lock; NONE where none was made
     * @param attempt made in its turn, by any waiting thread; what it throws ends the wait
     * @param afterPass to be run without the lock after attempts were made
     * @return the last result
     */
    int await(TenantAccount account, int before, IntSupplier attempt, Runnable afterPass, Deadline deadline) {
        Waiter me = new Waiter(account, before, attempt);
        synchronized (this) {
            queue.addLast(me);
            count(me, 1);
            choose();
        }
        try {
            return await(me, afterPass, deadline);
        } finally {
            synchronized (this) {
                leave(me);
            }
            if (anybody) {
                callFirst();
            }
        }
    }

    private int await(Waiter me, Runnable afterPass, Deadline deadline) {
        callFirst(); // there may be something for this one that those before it can't use
        boolean look = false;
        while (true) {
            me.called = false;
            boolean over;
            synchronized (this) {
                if (first == me) {
                    pass(look);
                }
                over = me.over
                        || closed
                        || deadline.expired()
                        || Thread.currentThread().isInterrupted();
                if (over && !me.tried) {
                    attempt(me);
                }
                if (over) {
                    leave(me);
                }
                me.telling = true;
                choose();
            }
            afterPass.run();
            if (over) {
                return result(me);
            }
            synchronized (this) {
                me.telling = false;
                choose();
            }
            if (missed && first == me) {
                missed = false;
                me.called = true;
            }
            if (!me.called) {
                LockSupport.parkNanos(this, Math.min(LOOK_NANOS, deadline.remainingNanos()));
            }
            look = !me.called;
        }
    }

    private static int result(Waiter me) {
        if (me.failure instanceof RuntimeException e) {
            throw e;
        }
        if (me.failure instanceof Error e) {
            throw e;
        }
        return me.result;
    }

    // -------------------------------------------------------------------------------------------- under the lock

    private void pass(boolean look) {
        passes++;
        boolean quotas = look && System.nanoTime() - quotasLookedAt > QUOTA_LOOK_NANOS;
        if (quotas) {
            quotasLookedAt = System.nanoTime();
        }
        for (Iterator<Waiter> all = queue.iterator(); all.hasNext(); ) {
            Waiter one = all.next();
            if (one.tried && one.waitsForQuota() && !mayHaveRoom(one.account, quotas)) {
                continue;
            }
            attempt(one);
            if (one.over) {
                all.remove();
                count(one, -1);
                one.call();
            }
        }
        choose();
    }

    private boolean mayHaveRoom(TenantAccount account, boolean look) {
        if (account.lookedAt != passes) {
            account.lookedAt = passes;
            account.mayHaveRoom = look;
            if (account.stirred) {
                // Before the attempt, which sees what it was for.
                account.stirred = false;
                account.mayHaveRoom = true;
            }
        }
        return account.mayHaveRoom;
    }

    private void attempt(Waiter one) {
        count(one, -1);
        try {
            one.result = one.attempt.getAsInt();
        } catch (RuntimeException | Error e) {
            one.failure = e;
        }
        count(one, 1);
        one.tried = true;
        one.over = one.failure != null || one.result >= 0 || one.result == BlockStore.REFUSED;
        if (one.waitsForQuota()) {
            // Nor have those of its tenant's behind it.
            one.account.lookedAt = passes;
            one.account.mayHaveRoom = false;
        }
    }

    private void count(Waiter one, int change) {
        if (one.waitsForQuota()) {
            one.account.waiting += change;
        } else {
            forMemory += change;
        }
    }

    private void leave(Waiter one) {
        if (queue.remove(one)) {
            count(one, -1);
            choose();
        }
    }

    private void choose() {
        Waiter chosen = null;
        for (Iterator<Waiter> all = queue.iterator(); chosen == null && all.hasNext(); ) {
            Waiter one = all.next();
            chosen = one.telling ? null : one;
        }
        first = chosen;
        anybody = !queue.isEmpty();
    }
}
