// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.feed;

import java.time.Duration;
import java.util.concurrent.Executors;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The feed's thread in a node. */
final class ScheduledFeedThread implements FeedThread {
    private static final Logger LOG = LoggerFactory.getLogger(ScheduledFeedThread.class);
    private static final long CLOSE_SECONDS = 5;

    private final ScheduledExecutorService thread;

    ScheduledFeedThread(String name) {
        thread = Executors.newSingleThreadScheduledExecutor(work -> {
            Thread made = new Thread(work, name);
            made.setDaemon(true);
            return made;
        });
    }

    @Override
    public void execute(Runnable work) {
        try {
            thread.execute(guarded(work));
        } catch (RejectedExecutionException e) {
            LOG.debug("The feed is closed", e);
        }
    }

    @Override
    @SuppressWarnings("FutureReturnValueIgnored") // What it throws is logged by the task itself.
    public void after(Duration delay, Runnable work) {
        try {
            thread.schedule(guarded(work), delay.toNanos(), TimeUnit.NANOSECONDS);
        } catch (RejectedExecutionException e) {
            LOG.debug("The feed is closed", e);
        }
    }

    @Override
    @SuppressWarnings("FutureReturnValueIgnored") // As above.
    public void every(Duration interval, Runnable work) {
        thread.scheduleWithFixedDelay(guarded(work), interval.toNanos(), interval.toNanos(), TimeUnit.NANOSECONDS);
    }

    /** One failure must not end a repeated task. */
    private Runnable guarded(Runnable work) {
        return () -> {
            try {
                work.run();
            } catch (RuntimeException e) {
                if (!thread.isShutdown()) {
                    LOG.warn("The feed goes on after a failure", e);
                }
            }
        };
    }

    @Override
    public void close() {
        thread.shutdownNow();
        try {
            if (!thread.awaitTermination(CLOSE_SECONDS, TimeUnit.SECONDS)) {
                LOG.warn("The feed's thread did not end within {} s", CLOSE_SECONDS);
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
