// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.index;

import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;

/** Clears up behind holders that have gone, in the one thread that all tables of the process share and that ends when it has nothing to do. */
final class Sweeper {
    private static final ThreadPoolExecutor THREAD = thread();

    private final BooleanSupplier sweep;
    // Guarded by this.
    private boolean running;
    private boolean again;

    /** @param sweep does what there is to do; false when there was nothing */
    Sweeper(BooleanSupplier sweep) {
        this.sweep = sweep;
    }

    private static ThreadPoolExecutor thread() {
        ThreadPoolExecutor executor =
                new ThreadPoolExecutor(1, 1, 5, TimeUnit.SECONDS, new LinkedBlockingQueue<>(), task -> {
                    Thread thread = new Thread(task, "mooncake-index-sweep");
                    thread.setDaemon(true);
                    return thread;
                });
        executor.allowCoreThreadTimeOut(true);
        return executor;
    }

    /** There is something to do. */
    synchronized void wake() {
        again = true;
        if (!running) {
            running = true;
            THREAD.execute(this::run);
        }
    }

    private void run() {
        boolean goOn = true;
        while (goOn) {
            synchronized (this) {
                again = false;
            }
            boolean worked = sweep.getAsBoolean();
            synchronized (this) {
                goOn = again || worked;
                if (!goOn) {
                    running = false;
                    notifyAll();
                }
            }
        }
    }

    /** Waits until there is nothing to do. */
    synchronized void awaitIdle() throws InterruptedException {
        while (running) {
            wait();
        }
    }
}
