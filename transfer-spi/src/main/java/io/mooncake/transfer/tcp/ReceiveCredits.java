// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.tcp;

import io.mooncake.transfer.TransferStatus;
import java.util.ArrayDeque;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * Bounds what an engine has asked for and not yet received over all peers, so that many owners that answer at once don't overrun its link.
 *
 * <p>A connection takes a credit of a slice's bytes before it asks and gives it back with the answer. When none is left, a connection that
 * has answers to come goes on without; one that has none waits its turn, first come, first served. A peer with nothing on its way is never
 * made to wait, and that slice is not counted: whatever the others do, each gets one. No peer gets more than three quarters of all, and one
 * that has turned out to be slow hardly more than its slice, so that peers whose answers take until the deadline leave the others what they
 * need. Guarded by this; nothing is allocated once the queue has grown.
 */
final class ReceiveCredits {
    /** Bytes on their way at a time, besides the one slice of each peer. */
    static final long BYTES = 64L << 20;

    private final long total;
    private final long mostAPeer;
    private final long mostASlowPeer;
    private long left;
    private final ArrayDeque<TcpClientConnection> waiting = new ArrayDeque<>();

    /** @param mostASlowPeer a slow peer that has this much on its way is given no more */
    ReceiveCredits(long total, long mostASlowPeer) {
        this.total = total;
        this.mostAPeer = total - total / 4;
        this.mostASlowPeer = mostASlowPeer;
        this.left = total;
    }

    /**
     * Takes credit for {@code bytes} if there is any and nobody waits for it, or if the peer has nothing on its way. A slice that is larger
     * than what is left, or than all there is, is let through with any credit at all: the debt is paid back with its answer.
     */
    synchronized boolean tryTake(TcpPeerLink link, int bytes) {
        // Where there is some left, those that wait are at limits of their own.
        if (mayHave(link)) {
            charge(link, bytes);
            return true;
        }
        return false;
    }

    private boolean mayHave(TcpPeerLink link) {
        return link.receivingBytes == 0
                || (left > 0 && link.receivingBytes < (link.slow() ? mostASlowPeer : mostAPeer));
    }

    private void charge(TcpPeerLink link, long bytes) {
        if (link.receivingBytes == 0) {
            link.freeBytes = bytes;
        }
        add(link, bytes);
    }

    private void add(TcpPeerLink link, long bytes) {
        long before = Math.max(0, link.receivingBytes - link.freeBytes);
        link.receivingBytes += bytes;
        left -= Math.max(0, link.receivingBytes - link.freeBytes) - before;
    }

    /** Waits for {@link #tryTake}'s turn; null when the credit is there, else the status for the batch. */
    @Nullable
    TransferStatus take(TcpPeerLink link, TcpClientConnection waiter, int bytes, long deadlineNanos) {
        synchronized (this) {
            if (tryTake(link, bytes)) {
                return null;
            }
            waiter.awaitCredit(bytes);
            waiting.add(waiter);
        }
        while (!waiter.credited) {
            long nanos = deadlineNanos - System.nanoTime();
            boolean interrupted = Thread.currentThread().isInterrupted();
            if (nanos <= 0 || interrupted || !waiter.channel.isOpen()) {
                synchronized (this) {
                    if (waiter.credited || !waiting.remove(waiter)) {
                        return null;
                    }
                }
                return interrupted ? TransferStatus.CANCELED : TransferStatus.TIMEOUT;
            }
            LockSupport.parkNanos(this, Math.min(nanos, 50_000_000L));
        }
        return null;
    }

    /** Gives credit back; less than none where a slice was larger than its credit. */
    synchronized void give(TcpPeerLink link, long bytes) {
        add(link, -bytes);
        if (!waiting.isEmpty()) {
            grant();
        }
    }

    private void grant() {
        for (int rounds = waiting.size(); rounds > 0; rounds--) {
            TcpClientConnection first = waiting.poll();
            if (first == null) {
                return;
            }
            if (mayHave(first.link())) {
                charge(first.link(), first.awaitedBytes());
                first.credit();
            } else {
                // A full round keeps the order.
                waiting.add(first);
            }
        }
    }

    /** Bytes that are on their way, but for one slice a peer. */
    synchronized long taken() {
        return total - left;
    }
}
