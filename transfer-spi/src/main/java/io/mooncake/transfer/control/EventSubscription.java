// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.control;

import io.mooncake.transfer.ControlPlane;
import java.util.ArrayDeque;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One listener and the events that wait for it, bounded: beyond that the newest are dropped, as the transport may do anyway.
 *
 * <p>At most one task of it is on the executor at a time, which keeps the order. The listener runs under {@code calling}, and so does the
 * end of {@link #close}: when close has returned, no call is under way, unless the listener itself closes.
 */
final class EventSubscription implements ControlPlane.Subscription {
    private static final Logger LOG = LoggerFactory.getLogger(EventSubscription.class);
    private static final int MAX_WAITING = 4096;
    private static final int MAX_WAITING_BYTES = 64 << 20;
    private static final int CALLS_A_TURN = 64;

    private final String topic;
    private final ControlPlane.EventListener listener;
    private final Executor executor;
    private final Runnable onClose;
    private final ReentrantLock calling = new ReentrantLock();

    // Guarded by waiting.
    private final ArrayDeque<byte[]> waiting = new ArrayDeque<>();
    private long waitingBytes;
    private boolean scheduled;
    private volatile boolean closed;

    EventSubscription(String topic, ControlPlane.EventListener listener, Executor executor, Consumer onClose) {
        this.topic = topic;
        this.listener = listener;
        this.executor = executor;
        this.onClose = () -> onClose.closed(this);
    }

    /** Told when a subscription ends. */
    @FunctionalInterface
    interface Consumer {
        void closed(EventSubscription subscription);
    }

    String topic() {
        return topic;
    }

    void offer(byte[] payload) {
        synchronized (waiting) {
            if (closed || waiting.size() >= MAX_WAITING || waitingBytes + payload.length > MAX_WAITING_BYTES) {
                return;
            }
            waiting.add(payload);
            waitingBytes += payload.length;
            if (scheduled) {
                return;
            }
            scheduled = true;
        }
        schedule();
    }

    private void schedule() {
        try {
            executor.execute(this::deliver);
        } catch (RejectedExecutionException e) {
            synchronized (waiting) {
                scheduled = false;
            }
        }
    }

    private void deliver() {
        for (int i = 0; i < CALLS_A_TURN; i++) {
            byte[] next = take();
            if (next == null) {
                return;
            }
            calling.lock();
            try {
                if (!closed) {
                    listener.onEvent(next);
                }
            } catch (RuntimeException e) {
                LOG.warn("The listener of {} failed", topic, e);
            } finally {
                calling.unlock();
            }
        }
        schedule();
    }

    private byte @Nullable [] take() {
        synchronized (waiting) {
            byte[] next = waiting.poll();
            if (next == null) {
                scheduled = false;
                return null;
            }
            waitingBytes -= next.length;
            return next;
        }
    }

    @Override
    public void close() {
        if (closed) {
            return;
        }
        closed = true;
        onClose.run();
        calling.lock();
        calling.unlock();
    }
}
