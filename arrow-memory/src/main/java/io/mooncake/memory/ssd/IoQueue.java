// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory.ssd;

import io.mooncake.base.Deadline;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Operations that wait for an I/O thread: reads first, but every fourth time a write, so that neither waits for ever. Bounded; full queues
 * refuse or let wait.
 */
final class IoQueue {
    private static final int WRITE_TURN = 4;

    private final int capacity;
    private final ArrayDeque<SsdTicket> reads;
    private final ArrayDeque<SsdTicket> writes;
    private int turn;
    /** Writes taken and not over. */
    private int writing;

    private boolean closed;

    IoQueue(int capacity) {
        this.capacity = capacity;
        // Of full size at once: growing allocates.
        reads = new ArrayDeque<>(capacity + 1);
        writes = new ArrayDeque<>(capacity + 1);
    }

    /** Adds an operation; false when its queue is full still at the deadline (null: at once), or closed. */
    synchronized boolean offer(SsdTicket ticket, @Nullable Deadline deadline) {
        ArrayDeque<SsdTicket> queue = ticket.write ? writes : reads;
        while (queue.size() == capacity && !closed) {
            long millis = deadline == null ? 0 : deadline.remainingMillis();
            if (millis == 0 || !sleep(millis)) {
                return false;
            }
        }
        if (closed) {
            return false;
        }
        queue.add(ticket);
        notifyAll();
        return true;
    }

    /** The next operation; null when closed and nothing is left. */
    synchronized @Nullable SsdTicket take() {
        while (reads.isEmpty() && writes.isEmpty()) {
            if (closed) {
                return null;
            }
            sleep(0);
        }
        turn++;
        boolean write = reads.isEmpty() || (!writes.isEmpty() && turn % WRITE_TURN == 0);
        SsdTicket ticket = write ? writes.remove() : reads.remove();
        writing += write ? 1 : 0;
        notifyAll();
        return ticket;
    }

    /** A write that was taken is over. */
    synchronized void writeOver() {
        writing--;
        notifyAll();
    }

    /** Waits until no write is left that was asked for before; false when the deadline passed. */
    synchronized boolean awaitWrites(Deadline deadline) {
        while (!writes.isEmpty() || writing > 0) {
            long millis = deadline.remainingMillis();
            if (millis == 0 || !sleep(millis)) {
                return false;
            }
        }
        return true;
    }

    /** Takes everything that waits. */
    synchronized List<SsdTicket> drain() {
        List<SsdTicket> all = new ArrayList<>(reads);
        all.addAll(writes);
        reads.clear();
        writes.clear();
        notifyAll();
        return all;
    }

    /** Lets nothing in any more. */
    synchronized void close() {
        closed = true;
        notifyAll();
    }

    private boolean sleep(long millis) {
        try {
            wait(millis);
            return true;
        } catch (InterruptedException e) {
            // I/O threads are never interrupted: a file channel would close.
            Thread.currentThread().interrupt();
            return false;
        }
    }
}
