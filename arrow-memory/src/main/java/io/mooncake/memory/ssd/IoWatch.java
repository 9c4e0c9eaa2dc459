// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory.ssd;

import java.util.Arrays;
import java.util.concurrent.atomic.AtomicLongArray;
import java.util.function.LongSupplier;

/**
 * Since when each thread is in an operation of the device; counts those that stall, once for each limit that goes by. Time in which the
 * watching thread itself did not run is not the device's: the process was stopped, or paused to collect garbage.
 */
final class IoWatch {
    private static final long IDLE = 0;
    /** The watching thread looks many times a second; where it comes later than this it was kept from it. */
    private static final long PAUSE_NANOS = 1_000_000_000L;

    private final int ioThreads;
    private final AtomicLongArray since;
    // Of the watching thread alone: start of the operation that each was in, all pauses before it, and stalls counted
    // of it.
    private final long[] watched;
    private final long[] pausedBefore;
    private final long[] counted;
    private long looked;
    private long paused;

    private final LongSupplier nanoClock;

    /** For so and so many threads that read and write, numbered from 0, and the others of a store. */
    IoWatch(int ioThreads, LongSupplier nanoClock) {
        this.ioThreads = ioThreads;
        int threads = ioThreads + 3;
        since = new AtomicLongArray(threads);
        watched = new long[threads];
        pausedBefore = new long[threads];
        counted = new long[threads];
        this.nanoClock = nanoClock;
        looked = nanoClock.getAsLong();
    }

    int scrubber() {
        return ioThreads;
    }

    int committer() {
        return ioThreads + 1;
    }

    /** Whichever thread makes a file; one at a time does. */
    int growth() {
        return ioThreads + 2;
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
        long now = nanoClock.getAsLong();
        long pausedUntilNow = paused;
        paused += now - looked > PAUSE_NANOS ? now - looked : 0;
        looked = now;
        int count = 0;
        for (int i = 0; i < watched.length; i++) {
            long start = since.get(i);
            if (start != watched[i]) {
                watched[i] = start;
                // It may have begun before the pause that just ended.
                pausedBefore[i] = pausedUntilNow;
                counted[i] = 0;
            }
            long limits = start == IDLE ? 0 : (now - start - (paused - pausedBefore[i])) / limitNanos;
            count += (int) Math.max(0, limits - counted[i]);
            counted[i] = Math.max(counted[i], limits);
        }
        return count;
    }

    /** Stalls of the one operation that has had most of them, of those that were under way when it was looked last. Of the watching thread. */
    long longest() {
        return Arrays.stream(counted).max().orElse(0);
    }
}
