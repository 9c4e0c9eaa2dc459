// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory.ssd;

import java.util.concurrent.atomic.AtomicLongArray;
import java.util.function.LongSupplier;

/** Since when each thread is in an operation of the device; counts those that stall, once for each limit that goes by. */
final class IoWatch {
    private static final long IDLE = 0;

    private final AtomicLongArray since;
    // Of the watching thread alone: start of the operation that each was in, and stalls counted of it.
    private final long[] watched;
    private final long[] counted;

    private final LongSupplier nanoClock;

    IoWatch(int threads, LongSupplier nanoClock) {
        since = new AtomicLongArray(threads);
        watched = new long[threads];
        counted = new long[threads];
        this.nanoClock = nanoClock;
    }

    void begin(int thread) {
        long now = nanoClock.getAsLong();
        since.set(thread, now == IDLE ? 1 : now);
    }

    void end(int thread) {
        since.set(thread, IDLE);
    }

    /** How many times {@code limitNanos} have gone by in operations of the device since the last call. */
    int stalls(long limitNanos) {
        int count = 0;
        long now = nanoClock.getAsLong();
        for (int i = 0; i < watched.length; i++) {
            long start = since.get(i);
            if (start != watched[i]) {
                watched[i] = start;
                counted[i] = 0;
            }
            long limits = start == IDLE ? 0 : (now - start) / limitNanos;
            count += (int) Math.max(0, limits - counted[i]);
            counted[i] = Math.max(counted[i], limits);
        }
        return count;
    }
}
