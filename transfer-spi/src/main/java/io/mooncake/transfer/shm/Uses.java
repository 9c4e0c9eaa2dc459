// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.shm;

import java.util.concurrent.atomic.AtomicInteger;

/**
 * Counts who uses a mapping now; the top bit means that no more may start. Ended and zero is terminal and runs {@code last} once: whoever
 * gets there by its own update does it.
 */
final class Uses {
    private static final int ENDED = 1 << 31;

    private final AtomicInteger users = new AtomicInteger();
    private final Runnable last;

    Uses(Runnable last) {
        this.last = last;
    }

    /** Becomes a user, or false when it has ended. Each success owes a {@link #release}. */
    boolean acquire() {
        while (true) {
            int now = users.get();
            if (now < 0) {
                return false;
            }
            if (users.compareAndSet(now, now + 1)) {
                return true;
            }
        }
    }

    void release() {
        if (users.decrementAndGet() == ENDED) {
            last.run();
        }
    }

    /** Whether no more may start. */
    boolean ended() {
        return users.get() < 0;
    }

    /** No new users. Idempotent. */
    void end() {
        while (true) {
            int now = users.get();
            if (now < 0) {
                return;
            }
            if (users.compareAndSet(now, now | ENDED)) {
                if (now == 0) {
                    last.run();
                }
                return;
            }
        }
    }
}
