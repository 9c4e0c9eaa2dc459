// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.node;

import java.util.List;
import java.util.concurrent.Executor;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The node's own threads: one for time, a few for work that blocks. All daemons with the node's name. */
final class NodeThreads implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(NodeThreads.class);
    private static final int WORKERS = 8;
    private static final long IDLE_SECONDS = 30;
    private static final long DRAIN_SECONDS = 2;

    private final ScheduledThreadPoolExecutor scheduler;
    private final ThreadPoolExecutor workers;
    private final ThreadFactory lastThread;

    NodeThreads(String node) {
        scheduler = new ScheduledThreadPoolExecutor(1, factory("mooncake-timer-" + node));
        scheduler.setRemoveOnCancelPolicy(true);
        workers = new ThreadPoolExecutor(
                WORKERS,
                WORKERS,
                IDLE_SECONDS,
                TimeUnit.SECONDS,
                new LinkedBlockingQueue<>(),
                factory("mooncake-worker-" + node),
                new ThreadPoolExecutor.DiscardPolicy());
        workers.allowCoreThreadTimeOut(true);
        lastThread = factory("mooncake-last-" + node);
    }

    private static ThreadFactory factory(String name) {
        AtomicInteger number = new AtomicInteger();
        return work -> {
            Thread thread = new Thread(work, name + "-" + number.incrementAndGet());
            thread.setDaemon(true);
            return thread;
        };
    }

    ScheduledExecutorService scheduler() {
        return scheduler;
    }

    Executor workers() {
        return workers;
    }

    /** Work that waits is still done, for somebody may wait for it; what runs longer than some seconds is interrupted. Returns in time. */
    @Override
    public void close() {
        scheduler.shutdownNow();
        workers.shutdown();
        try {
            if (workers.awaitTermination(DRAIN_SECONDS, TimeUnit.SECONDS)) {
                return;
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        List<Runnable> waiting = workers.shutdownNow();
        if (!waiting.isEmpty()) {
            // Somebody waits for what has not begun, too, but nobody for this thread longer than that.
            Thread rest = lastThread.newThread(() -> waiting.forEach(NodeThreads::runQuietly));
            rest.start();
            try {
                rest.join(TimeUnit.SECONDS.toMillis(DRAIN_SECONDS));
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        }
    }

    private static void runQuietly(Runnable work) {
        try {
            work.run();
        } catch (RuntimeException e) {
            LOG.debug("Work of a node that has stopped failed", e);
        }
    }
}
