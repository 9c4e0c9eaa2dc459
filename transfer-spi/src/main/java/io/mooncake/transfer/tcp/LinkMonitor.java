// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.tcp;

import java.util.Collection;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Looks after links in the background: cuts connections whose rail has gone silent, and asks rails that rest and peers that are skipped
 * whether they are well again. Questions, which may take a second each, are asked on a few threads of their own, so that no peer waits for
 * another.
 *
 * <p>Its thread ticks as long as the engine is used, so that a pause of this process is known for what it is and nobody takes it for the
 * silence of a peer or rail. It sleeps when no call came for a while and no link has several rails or an open breaker. {@code asleep} is set
 * before it looks for a last time, and callers look at it after they have left their trace, so that one of the two sees the other.
 */
final class LinkMonitor implements AutoCloseable {
    /** A rail that moves nothing for so long, though it was asked and others move, has failed. */
    static final long STALL_NANOS = 800_000_000L;

    private static final Logger LOG = LoggerFactory.getLogger(LinkMonitor.class);
    private static final long TICK_NANOS = 50_000_000L;
    private static final int MAX_PROBES = 32;
    /** Peers that nobody asks are not probed. */
    private static final long UNUSED_NANOS = 60_000_000_000L;
    /** So long after the last call began it ticks, and while there are calls. */
    private static final long RECENT_NANOS = 10_000_000_000L;
    /** Calls in quicker succession leave no trace. */
    private static final long TRACE_NANOS = 1_000_000_000L;

    private final Collection<TcpPeerLink> links;
    private final ThreadPoolExecutor probes;
    private final Thread thread;
    private final PauseWatch pauses = new PauseWatch(System.nanoTime());
    private volatile long usedNanos = System.nanoTime() - RECENT_NANOS;
    /** Whether links are to be looked at; cleared before a look, set again by it and by whoever adds something. */
    private volatile boolean looking = true;

    private final AtomicInteger calls = new AtomicInteger();

    private volatile boolean asleep;
    private volatile boolean closed;

    /** @param links those to look after, concurrently modified */
    LinkMonitor(Collection<TcpPeerLink> links) {
        this.links = links;
        this.probes = new ThreadPoolExecutor(
                0, MAX_PROBES, 5, TimeUnit.SECONDS, new SynchronousQueue<>(), task -> daemon(task, "mooncake-probe"));
        this.thread = daemon(this::run, "mooncake-links");
        thread.start();
    }

    private static Thread daemon(Runnable task, String name) {
        Thread thread = new Thread(task, name);
        thread.setDaemon(true);
        return thread;
    }

    /** There is something to look after. */
    void wake() {
        looking = true;
        if (asleep) {
            rouse(System.nanoTime());
        }
    }

    /** A call that was announced by {@link #used} is under way, until {@link #ended}. */
    void began() {
        calls.incrementAndGet();
    }

    void ended() {
        calls.decrementAndGet();
    }

    /** A call begins. */
    void used(long nowNanos) {
        if (nowNanos - usedNanos > TRACE_NANOS) {
            usedNanos = nowNanos;
        }
        if (asleep) {
            rouse(nowNanos);
        }
    }

    /** Whether this process ran since then, a call of {@link #used}, without a pause that is worth the name. */
    boolean ranSince(long fromNanos, long nowNanos) {
        return pauses.ranSince(fromNanos, nowNanos);
    }

    private synchronized void rouse(long nowNanos) {
        if (asleep) {
            pauses.begin(nowNanos);
            asleep = false;
            LockSupport.unpark(thread);
        }
    }

    private void run() {
        while (!closed) {
            long now = System.nanoTime();
            pauses.tick(now);
            if (looking) {
                looking = false;
                for (TcpPeerLink link : links) {
                    if (link.railed() || !link.breaker().closed()) {
                        looking = true;
                        lookAfter(link, now);
                    }
                }
            }
            if (busy(now)) {
                LockSupport.parkNanos(this, TICK_NANOS);
            } else {
                sleep(now);
            }
        }
    }

    private boolean busy(long now) {
        return looking || calls.get() > 0 || now - usedNanos < RECENT_NANOS;
    }

    private void sleep(long now) {
        asleep = true;
        if (busy(now)) {
            rouse(now);
        }
        while (asleep && !closed) {
            LockSupport.park(this);
        }
    }

    private void lookAfter(TcpPeerLink link, long now) {
        Rail suspect = pauses.ranSince(now - STALL_NANOS, now) ? link.examiner().cutStalled(now, STALL_NANOS) : null;
        if (suspect != null) {
            ask(() -> link.examiner().examine(suspect), () -> link.examiner().probed(suspect));
        }
        if (now - link.usedNanos() > UNUSED_NANOS) {
            return;
        }
        Rail rested = link.examiner().startProbe(now);
        if (rested != null) {
            ask(() -> link.examiner().probe(rested), () -> link.examiner().probed(rested));
        }
        if (link.breaker().startProbe(now)) {
            ask(
                    () -> {
                        boolean answers = link.examiner().answers();
                        link.breaker().probed(answers, System.nanoTime());
                        LOG.info(
                                "{} was skipped: {}",
                                link.peer().encode(),
                                answers ? "it is tried again" : "still silent");
                    },
                    () -> link.breaker().probed(false, System.nanoTime()));
        }
    }

    /** Asks on a thread of its own; {@code notAsked} follows where that can't be, or where an error of this JVM ends the question. */
    private void ask(Runnable question, Runnable notAsked) {
        try {
            probes.execute(() -> {
                boolean asked = false;
                try {
                    question.run();
                    asked = true;
                } finally {
                    if (!asked) {
                        notAsked.run();
                    }
                }
            });
        } catch (RejectedExecutionException | OutOfMemoryError e) {
            // All are busy: at one of the next ticks.
            notAsked.run();
        }
    }

    @Override
    public void close() {
        closed = true;
        LockSupport.unpark(thread);
        probes.shutdown();
    }
}
