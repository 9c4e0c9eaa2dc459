// SPDX-License-Identifier: Apache-2.0
package io.mooncake.benchmarks.transfer;

import com.sun.management.ThreadMXBean;
import java.lang.management.ManagementFactory;
import java.util.Arrays;

/** Calls something until a time is over, and keeps how long each call took. Allocates nothing while it does. */
final class Stopwatch {
    private static final int MAX_SAMPLES = 1 << 20;

    private final ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
    private final long[] samples = new long[MAX_SAMPLES];

    /** One call of an engine. */
    @FunctionalInterface
    interface Call {
        /** @param turn calls before this one */
        void make(long turn);
    }

    /** Bytes that the living threads of this process have allocated, without those of thread {@code but}; 0: all. */
    long allocatedBytes(long but) {
        long[] ids = threads.getAllThreadIds();
        long[] bytes = threads.getThreadAllocatedBytes(ids);
        long sum = 0;
        for (int i = 0; i < ids.length; i++) {
            sum += ids[i] == but ? 0 : Math.max(0, bytes[i]);
        }
        return sum;
    }

    /** Measures; the answer is the line that {@link Measurement#parse} takes. */
    String measure(Call call, long millis) {
        // What asking itself allocates is taken off.
        long asked = allocatedBytes(0);
        long before = allocatedBytes(0);
        long start = System.nanoTime();
        long end = start + millis * 1_000_000;
        long last = start;
        long calls = 0;
        do {
            call.make(calls);
            long now = System.nanoTime();
            samples[(int) (calls & (MAX_SAMPLES - 1))] = now - last;
            last = now;
            calls++;
        } while (last < end);
        long allocated = Math.max(0, allocatedBytes(0) - before - (before - asked));
        int kept = (int) Math.min(calls, MAX_SAMPLES);
        Arrays.sort(samples, 0, kept);
        return "result " + calls + " " + (last - start) + " " + samples[kept / 2] + " "
                + samples[(int) (kept * 99L / 100)] + " " + allocated;
    }
}
