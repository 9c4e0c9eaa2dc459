// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory.ssd;

import io.mooncake.base.Deadline;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * Operations that wait for an I/O thread: reads first, but every fourth time a write, so that neither waits for ever. Bounded; full queues
 * refuse or let wait. Each operation wakes one thread.
 */
final class IoQueue {
    private static final int WRITE_TURN = 4;

    private final ReentrantLock lock = new ReentrantLock();
    private final Condition work = lock.newCondition();
    private final Condition readRoom = lock.newCondition();
    private final Condition writeRoom = lock.newCondition();
    private final Condition writesOver = lock.newCondition();
    private final int capacity;
    // All guarded by the lock.
    private final ArrayDeque<SsdTicket> reads;
    private final ArrayDeque<SsdTicket> writes;
    private int turn;
    /** Writes taken and not over. */
    private int writing;

    private boolean closed;
    /** Drained: nobody comes for what would be added. */
    private boolean refusing;

    IoQueue(int capacity) {
        this.capacity = capacity;
        // Of full size at once: growing allocates.
        reads = new ArrayDeque<>(capacity + 1);
        writes = new ArrayDeque<>(capacity + 1);
    }

    /** Adds an operation; false when its queue is full still at the deadline (null: at once), or closed, or drained. */
    boolean offer(SsdTicket ticket, @Nullable Deadline deadline) {
        ArrayDeque<SsdTicket> queue = ticket.write ? writes : reads;
        Condition room = ticket.write ? writeRoom : readRoom;
        lock.lock();
        try {
            while (queue.size() == capacity && !closed && !refusing) {
                if (deadline == null || !await(room, deadline)) {
                    return false;
                }
            }
            if (closed || refusing) {
                return false;
            }
            queue.add(ticket);
            work.signal();
            return true;
        } finally {
            lock.unlock();
        }
    }

    /** The next operation; null when closed and nothing is left. */
    @Nullable
    SsdTicket take() {
        lock.lock();
        try {
            while (reads.isEmpty() && writes.isEmpty()) {
                if (closed) {
                    return null;
                }
                work.awaitUninterruptibly();
            }
            turn++;
            boolean write = reads.isEmpty() || (!writes.isEmpty() && turn % WRITE_TURN == 0);
            writing += write ? 1 : 0;
            (write ? writeRoom : readRoom).signal();
            return write ? writes.remove() : reads.remove();
        } finally {
            lock.unlock();
        }
    }

    /** A write that was taken is over. */
    void writeOver() {
        lock.lock();
        try {
            writing--;
            tellWritesOver();
        } finally {
            lock.unlock();
        }
    }

    private void tellWritesOver() {
        if (writes.isEmpty() && writing == 0) {
            writesOver.signalAll();
        }
    }

    /** Waits until no write is left; false when the deadline passed. */
    boolean awaitWrites(Deadline deadline) {
        lock.lock();
        try {
            while (!writes.isEmpty() || writing > 0) {
                if (!await(writesOver, deadline)) {
                    return false;
                }
            }
            return true;
        } finally {
            lock.unlock();
        }
    }

    /** Takes everything that waits, and lets nothing in any more. */
    List<SsdTicket> drain() {
        lock.lock();
        try {
            refusing = true;
            List<SsdTicket> all = new ArrayList<>(reads);
            all.addAll(writes);
            reads.clear();
            writes.clear();
            readRoom.signalAll();
            writeRoom.signalAll();
            tellWritesOver();
            return all;
        } finally {
            lock.unlock();
        }
    }

    /** Lets nothing in any more. */
    void close() {
        lock.lock();
        try {
            closed = true;
            work.signalAll();
            readRoom.signalAll();
            writeRoom.signalAll();
        } finally {
            lock.unlock();
        }
    }

    private static boolean await(Condition condition, Deadline deadline) {
        long nanos = deadline.remainingNanos();
        if (nanos == 0) {
            return false;
        }
        try {
            // Whoever woke too early, or too late, looks again.
            return condition.awaitNanos(nanos) > Long.MIN_VALUE;
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return false;
        }
    }
}
