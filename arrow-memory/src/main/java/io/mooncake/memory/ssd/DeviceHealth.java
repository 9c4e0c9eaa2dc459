// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory.ssd;

import java.util.concurrent.atomic.LongAdder;
import java.util.function.LongSupplier;

/** Counts the device's faults, and says when there were too many of a kind within a minute. */
final class DeviceHealth {
    private static final long WINDOW_NANOS = 60_000_000_000L;

    private final LongSupplier nanoClock;
    final LongAdder readErrors = new LongAdder();
    final LongAdder writeErrors = new LongAdder();
    final LongAdder damaged = new LongAdder();
    private final Window reads;
    private final Window writes;
    private final Window damages;

    DeviceHealth(SsdSettings settings, LongSupplier nanoClock) {
        this.nanoClock = nanoClock;
        reads = new Window(settings.maxErrors());
        writes = new Window(settings.maxErrors());
        damages = new Window(settings.maxDamaged());
    }

    /** Counts a failed read; whether it is one too many. */
    boolean readFailed() {
        readErrors.increment();
        return reads.add(nanoClock.getAsLong());
    }

    /** Counts a failed write or sync; whether it is one too many. */
    boolean writeFailed() {
        writeErrors.increment();
        return writes.add(nanoClock.getAsLong());
    }

    /** Counts a damaged record; whether it is one too many. */
    boolean damaged() {
        damaged.increment();
        return damages.add(nanoClock.getAsLong());
    }

    /** When each of the last n was. */
    private static final class Window {
        private final long[] times;
        private int count;

        Window(int max) {
            times = new long[Math.min(max, 1 << 16)];
        }

        synchronized boolean add(long now) {
            times[count++ % times.length] = now;
            // Only whether it is full matters.
            count = count == 2 * times.length ? times.length : count;
            return count >= times.length && now - times[count % times.length] < WINDOW_NANOS;
        }
    }
}
