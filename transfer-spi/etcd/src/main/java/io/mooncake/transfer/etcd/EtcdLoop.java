// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.etcd;

import io.mooncake.transfer.metadata.MetadataContext;
import io.mooncake.transfer.metadata.MetadataStatus;
import io.mooncake.transfer.metadata.internal.OwnRecords;
import io.mooncake.transfer.metadata.internal.RecordTable;
import io.mooncake.transfer.metadata.internal.RetryDelays;
import java.time.Duration;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One thread that brings etcd and this node to agreement, again and again: connected, leased, published, followed. Each round does what is
 * missing; nothing is remembered about how it went missing, so that a lost lease, a wiped server, an expired token or a broken connection
 * all end in the same few steps.
 *
 * <pre>
 *            round succeeded                      woken, or a third of the lease time has passed
 *   +---------------------------> SYNCED --------------------------------------------------------+
 *   |                                                                                            |
 * round: connect? grant or keep alive, publish what is pending, list and watch if broken  &lt;-----+
 *   |                                                                                            |
 *   +---------------------------> OUTAGE --- random share of 0.1 s doubled up to 2 s ------------+
 *            a call failed
 * </pre>
 */
final class EtcdLoop implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(EtcdLoop.class);
    private static final Duration FIRST_DELAY = Duration.ofMillis(100);
    private static final Duration LONGEST_DELAY = Duration.ofSeconds(2);
    /** A connection that has failed for so long is made anew. */
    private static final long RECONNECT_NANOS = TimeUnit.SECONDS.toNanos(4);

    private static final long TICK_NANOS = TimeUnit.MILLISECONDS.toNanos(500);

    private final EtcdSettings settings;
    private final RecordTable table;
    private final OwnRecords own;
    private final EtcdPublisher publisher;
    private final EtcdFeed feed;
    private final LongSupplier nanoClock;
    private final RetryDelays delays;
    private final long leaseNanos;
    private final ExecutorService calls;
    private final Thread thread;

    // The loop's thread alone.
    private @Nullable EtcdConnection connection;
    private long connectedNanos;
    private long lease;
    private long keepAliveNanos;

    private final Object lock = new Object();
    // Guarded by lock.
    private boolean woken;
    private boolean closed;
    private boolean outage;
    private boolean everSynced;
    private String detail = "";
    private long leaseLosses;
    private long outages;

    EtcdLoop(EtcdSettings settings, MetadataContext context, RecordTable table, OwnRecords own) {
        this.settings = settings;
        this.table = table;
        this.own = own;
        this.nanoClock = context.nanoClock();
        this.leaseNanos = context.leaseTime().toNanos();
        this.delays = new RetryDelays(FIRST_DELAY, LONGEST_DELAY, context.random());
        this.publisher = new EtcdPublisher(context.cluster(), context.owner(), own);
        this.feed = new EtcdFeed(context.cluster(), context.owner(), table, own, nanoClock, leaseNanos, this::wake);
        this.calls = callThreads();
        this.thread = new Thread(this::run, "mooncake-metadata-etcd");
        this.thread.setDaemon(true);
    }

    private static ExecutorService callThreads() {
        ThreadPoolExecutor executor =
                new ThreadPoolExecutor(2, 2, 10, TimeUnit.SECONDS, new LinkedBlockingQueue<>(), task -> {
                    Thread made = new Thread(task, "mooncake-metadata-etcd-calls");
                    made.setDaemon(true);
                    return made;
                });
        executor.allowCoreThreadTimeOut(true);
        return executor;
    }

    void start() {
        thread.start();
    }

    /** There is something to do. */
    void wake() {
        synchronized (lock) {
            woken = true;
            lock.notifyAll();
        }
    }

    private void run() {
        try {
            while (!isClosed()) {
                pause(round());
                table.dropOverdue();
            }
        } catch (InterruptedException e) {
            // Closing; nobody else interrupts this thread.
            Thread.currentThread().interrupt();
        }
    }

    /** One attempt; returns how long to wait before the next. */
    private long round() throws InterruptedException {
        try {
            EtcdConnection current = connect();
            keepLease(current);
            publisher.publish(current, lease);
            if (feed.broken()) {
                feed.start(current);
                // What the list showed to be missing is published at once.
                publisher.publish(current, lease);
            }
            succeeded();
            return Math.min(TICK_NANOS, Math.max(0, keepAliveNanos - nanoClock.getAsLong()));
        } catch (EtcdFailure e) {
            return failed(e);
        } catch (RuntimeException e) {
            // jetcd throws a few errors instead of completing with them, for example while it is closed.
            return failed(new EtcdFailure(EtcdFailure.Kind.UNAVAILABLE, String.valueOf(e), e));
        }
    }

    private EtcdConnection connect() {
        EtcdConnection current = connection;
        if (current == null) {
            current = new EtcdConnection(settings, calls);
            connection = current;
            connectedNanos = nanoClock.getAsLong();
        }
        return current;
    }

    private void keepLease(EtcdConnection current) throws EtcdFailure, InterruptedException {
        long now = nanoClock.getAsLong();
        if (lease == 0) {
            own.lost();
            lease = current.grant(TimeUnit.NANOSECONDS.toSeconds(leaseNanos + 999_999_999));
        } else if (now - keepAliveNanos >= 0) {
            current.keepAlive(lease);
            feed.probe();
        } else {
            return;
        }
        keepAliveNanos = now + leaseNanos / 3;
    }

    private void succeeded() {
        delays.succeeded();
        table.outageEnds();
        boolean returned;
        synchronized (lock) {
            returned = outage;
            outage = false;
            everSynced = true;
            detail = "";
        }
        if (returned) {
            LOG.info("etcd at {} answers again; own records are published", settings.endpoints());
        }
    }

    private long failed(EtcdFailure failure) {
        if (failure.kind() == EtcdFailure.Kind.LEASE_LOST) {
            // No outage: etcd answered. All is published again under another lease.
            lease = 0;
            synchronized (lock) {
                leaseLosses++;
            }
            LOG.info("The lease of this node is gone; taking another");
            return delays.failures() == 0 ? delays.nextNanos() / 100 : delays.nextNanos();
        }
        table.outageBegins();
        boolean first;
        synchronized (lock) {
            first = !outage;
            outage = true;
            outages += first ? 1 : 0;
            detail = String.valueOf(failure.getMessage());
        }
        if (first) {
            LOG.warn("etcd at {} cannot be used, known peers stay: {}", settings.endpoints(), failure.getMessage());
        }
        if (failure.kind() == EtcdFailure.Kind.UNAUTHENTICATED
                || nanoClock.getAsLong() - connectedNanos > RECONNECT_NANOS) {
            disconnect();
        }
        return delays.nextNanos();
    }

    private void disconnect() {
        feed.stop();
        EtcdConnection current = connection;
        connection = null;
        if (current != null) {
            current.close();
        }
    }

    private void pause(long nanos) throws InterruptedException {
        synchronized (lock) {
            boolean retrying = delays.failures() > 0;
            long end = System.nanoTime() + nanos;
            // A wish does not shorten the pause before a retry: the pauses are there to spare etcd.
            while (!closed && (retrying || !woken)) {
                long left = end - System.nanoTime();
                if (left <= 0) {
                    break;
                }
                lock.wait(left / 1_000_000 + 1);
            }
            woken = false;
        }
    }

    private boolean isClosed() {
        synchronized (lock) {
            return closed;
        }
    }

    MetadataStatus status() {
        int records = table.size();
        int unpublished = own.unpublished();
        long resyncs = table.resyncs();
        synchronized (lock) {
            MetadataStatus.State state = closed
                    ? MetadataStatus.State.CLOSED
                    : outage
                            ? MetadataStatus.State.OUTAGE
                            : everSynced ? MetadataStatus.State.SYNCED : MetadataStatus.State.STARTING;
            return new MetadataStatus(state, detail, records, unpublished, resyncs, leaseLosses, outages);
        }
    }

    /** Ends the loop and takes the lease back, which removes all own records. */
    @Override
    public void close() {
        synchronized (lock) {
            if (closed) {
                return;
            }
            closed = true;
            lock.notifyAll();
        }
        boolean interrupted = false;
        try {
            thread.interrupt();
            thread.join(2000);
            feed.stop();
            EtcdConnection current = connection;
            if (current != null && lease != 0) {
                current.revoke(lease);
            }
        } catch (EtcdFailure e) {
            LOG.info("The lease is not taken back, it runs out: {}", e.getMessage());
        } catch (InterruptedException e) {
            interrupted = true;
        }
        disconnect();
        calls.shutdown();
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }
}
