// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.ignite.messages;

import io.mooncake.transfer.TransferEngine;
import java.util.UUID;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.LongAdder;
import org.apache.ignite.spi.IgniteSpiContext;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** What all lanes of a node share: engine, Ignite, threads, counters. */
final class LaneContext implements AutoCloseable {
    static final String SERVICE = "mooncake.ignite.lane";

    private static final Logger LOG = LoggerFactory.getLogger(LaneContext.class);
    private static final int WORKERS = 4;
    private static final int READERS = 8;

    final TransferEngine engine;
    final IgniteSpiContext ignite;
    final EngineMessages.Stock stock;
    final UUID localId;
    /** How long a peer may read a part that it said it reads. */
    final long readMillis;
    /** How long a lane tries before TCP takes over. */
    final long patienceNanos;

    final LongAdder sent = new LongAdder();
    final LongAdder received = new LongAdder();
    final LongAdder bytesSent = new LongAdder();
    final LongAdder piecesSent = new LongAdder();
    final LongAdder repeated = new LongAdder();
    final LongAdder duplicates = new LongAdder();
    final LongAdder takeovers = new LongAdder();
    final LongAdder returns = new LongAdder();

    private final ThreadPoolExecutor workers = pool("mooncake-lane", WORKERS);
    private final ThreadPoolExecutor readers = pool("mooncake-lane-read", READERS);
    private final ThreadPoolExecutor takers = pool("mooncake-lane-tcp", READERS);
    private final ScheduledThreadPoolExecutor timer =
            new ScheduledThreadPoolExecutor(1, task -> daemon(task, "mooncake-lane-timer"));

    LaneContext(
            TransferEngine engine,
            IgniteSpiContext ignite,
            EngineMessages.Stock stock,
            UUID localId,
            long readMillis,
            long patienceNanos) {
        this.engine = engine;
        this.ignite = ignite;
        this.stock = stock;
        this.localId = localId;
        this.readMillis = readMillis;
        this.patienceNanos = patienceNanos;
        timer.setRemoveOnCancelPolicy(true);
    }

    private static Thread daemon(Runnable task, String name) {
        Thread thread = new Thread(task, name);
        thread.setDaemon(true);
        return thread;
    }

    private static ThreadPoolExecutor pool(String name, int threads) {
        ThreadPoolExecutor pool = new ThreadPoolExecutor(
                threads, threads, 30, TimeUnit.SECONDS, new LinkedBlockingQueue<>(), task -> daemon(task, name));
        pool.allowCoreThreadTimeOut(true);
        return pool;
    }

    /** Runs what does not block. After the close nothing runs. */
    void work(Runnable task) {
        execute(workers, task);
    }

    /** Runs what waits for bytes of a peer. */
    void read(Runnable task) {
        execute(readers, task);
    }

    /** Runs what waits for Ignite's TCP. */
    void take(Runnable task) {
        execute(takers, task);
    }

    private static void execute(ThreadPoolExecutor pool, Runnable task) {
        try {
            pool.execute(task);
        } catch (RejectedExecutionException e) {
            // Lanes have closed.
        }
    }

    void later(long millis, Runnable task) {
        try {
            timer.schedule(task, millis, TimeUnit.MILLISECONDS);
        } catch (RejectedExecutionException e) {
            // Lanes have closed.
        }
    }

    void every(long millis, Runnable task) {
        timer.scheduleWithFixedDelay(task, millis, millis, TimeUnit.MILLISECONDS);
    }

    MessageStatistics statistics() {
        return new MessageStatistics(
                sent.sum(),
                received.sum(),
                bytesSent.sum(),
                piecesSent.sum(),
                repeated.sum(),
                duplicates.sum(),
                takeovers.sum(),
                returns.sum());
    }

    /** Ends the threads; one that reads or sends ends with its call. */
    @Override
    public void close() {
        timer.shutdownNow();
        workers.shutdownNow();
        readers.shutdownNow();
        takers.shutdownNow();
        try {
            // So that lanes find no read under way when they close.
            if (!readers.awaitTermination(5, TimeUnit.SECONDS)) {
                LOG.warn("A read of a lane does not end");
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
