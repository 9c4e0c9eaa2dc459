// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.index;

import java.util.function.BooleanSupplier;

/** Clears up behind holders that have gone, in a thread that ends when it has nothing to do. */
final class Sweeper {
    private final BooleanSupplier sweep;
    // Guarded by this.
    private boolean running;
    private boolean again;

    /** @param sweep does what there is to do; false when there was nothing */
    Sweeper(BooleanSupplier sweep) {
        this.sweep = sweep;
    }

    /** There is something to do. */
    synchronized void wake() {
        again = true;
        if (!running) {
            Thread thread = new Thread(this::run, "mooncake-index-sweep");
            thread.setDaemon(true);
            thread.start();
            running = true;
        }
    }

    private void run() {
        boolean over = false;
        try {
            while (!over) {
                synchronized (this) {
                    again = false;
                }
                boolean worked = sweep.getAsBoolean();
                over = endsAfter(worked);
            }
        } finally {
            if (!over) {
                failed();
            }
        }
    }

    /** Whoever wakes it next tries again. */
    private synchronized void failed() {
        running = false;
        notifyAll();
    }

    private synchronized boolean endsAfter(boolean worked) {
        if (again || worked) {
            return false;
        }
        running = false;
        notifyAll();
        return true;
    }

    /** Waits until there is nothing to do. */
    synchronized void awaitIdle() throws InterruptedException {
        while (running) {
            wait();
        }
    }
}
