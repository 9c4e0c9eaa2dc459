// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer;

import com.sun.management.ThreadMXBean;
import java.lang.management.ManagementFactory;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;

/**
 * Counts what transfers of one request make on the heap: on the calling thread and on all threads of engines that
 * start after this is made. Earlier ones belong to tests before, whose engines may still be ending.
 */
final class Garbage {
    private final ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
    private final Set<Thread> earlier = Thread.getAllStackTraces().keySet();
    /** Where a call puts its status. */
    final TransferStatus[] statuses = new TransferStatus[1];

    /** One transfer. */
    interface Call {
        void run(long deadlineNanos);
    }

    /** Bytes of {@code calls} calls: the least of {@code rounds}, because threads do something by the clock too. */
    long least(Call call, int calls, int rounds) {
        long self = Thread.currentThread().getId();
        long least = Long.MAX_VALUE;
        for (int round = 0; round < rounds && least > 0; round++) {
            Map<Long, Long> before = allocatedByOthers(self);
            long beforeSelf = threads.getThreadAllocatedBytes(self);
            run(call, calls);
            long afterSelf = threads.getThreadAllocatedBytes(self);
            least = Math.min(least, grown(before, allocatedByOthers(self)) + afterSelf - beforeSelf);
        }
        return least;
    }

    /** Makes calls, each of which must complete. */
    void run(Call call, int calls) {
        for (int i = 0; i < calls; i++) {
            call.run(System.nanoTime() + 20_000_000_000L);
            if (statuses[0] != TransferStatus.COMPLETED) {
                throw new AssertionError(statuses[0]);
            }
        }
    }

    /** By thread; one that ends meanwhile takes nothing off. */
    private Map<Long, Long> allocatedByOthers(long self) {
        Map<Long, Long> bytes = new HashMap<>();
        for (Thread thread : Thread.getAllStackTraces().keySet()) {
            if (thread.getId() != self && thread.getName().startsWith("mooncake-") && !earlier.contains(thread)) {
                bytes.put(thread.getId(), threads.getThreadAllocatedBytes(thread.getId()));
            }
        }
        return bytes;
    }

    private static long grown(Map<Long, Long> before, Map<Long, Long> after) {
        return after.entrySet().stream()
                .mapToLong(one -> Math.max(0, one.getValue() - before.getOrDefault(one.getKey(), 0L)))
                .sum();
    }
}
