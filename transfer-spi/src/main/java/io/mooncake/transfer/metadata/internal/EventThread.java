// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.metadata.internal;

import java.util.concurrent.Executor;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;

/** A store's event thread: a daemon that ends when it has been idle for ten seconds. After {@link #close} tasks are dropped. */
public final class EventThread implements Executor, AutoCloseable {
    private final ThreadPoolExecutor executor;

    /** @param name of the thread */
    public EventThread(String name) {
        executor = new ThreadPoolExecutor(
                1,
                1,
                10,
                TimeUnit.SECONDS,
                new LinkedBlockingQueue<>(),
                task -> {
                    Thread thread = new Thread(task, name);
                    thread.setDaemon(true);
                    return thread;
                },
                new ThreadPoolExecutor.DiscardPolicy());
        executor.allowCoreThreadTimeOut(true);
    }

    @Override
    public void execute(Runnable task) {
        executor.execute(task);
    }

    @Override
    public void close() {
        executor.shutdown();
    }
}
