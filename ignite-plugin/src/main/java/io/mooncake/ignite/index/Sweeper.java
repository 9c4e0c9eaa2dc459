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
            running = true;
            Thread thread = new Thread(this::run, "mooncake-index-sweep");
            thread.setDaemon(true);
            thread.start();
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
