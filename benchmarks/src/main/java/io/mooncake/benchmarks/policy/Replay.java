// SPDX-License-Identifier: Apache-2.0
package io.mooncake.benchmarks.policy;

import com.sun.management.ThreadMXBean;
import io.mooncake.benchmarks.policy.Trace.TraceRequest;
import io.mooncake.memory.policy.EvictionPolicy;
import java.lang.management.ManagementFactory;
import java.util.concurrent.atomic.AtomicLong;

/**
 * What one replay gave.
 *
 * @param first share of the blocks asked for that were hits, in the first half of the requests
 * @param whole the same in all of them
 * @param second the same in the second half
 * @param nanosABlock processor time a block asked for, the pool's own book-keeping included
 * @param bytesABlock heap allocated a block asked for, the pool's own included
 */
record Replay(double first, double whole, double second, double nanosABlock, double bytesABlock) {
    private static final long NANOS_A_MILLI = 1_000_000;

    /** Replays {@code trace} through {@code contestant} from a cold start. */
    static Replay of(Trace trace, Contestant contestant, int blocks) {
        ThreadMXBean thread = (ThreadMXBean) ManagementFactory.getThreadMXBean();
        AtomicLong clock = new AtomicLong();
        EvictionPolicy policy = contestant.maker().make(blocks, clock::get);
        ReplayedPool pool = new ReplayedPool(policy, blocks, trace.distinctBlocks());
        int[] hits = new int[trace.requests().size()];
        long id = Thread.currentThread().getId();
        long bytes = thread.getThreadAllocatedBytes(id);
        long nanos = thread.getCurrentThreadCpuTime();
        for (int i = 0; i < hits.length; i++) {
            TraceRequest request = trace.requests().get(i);
            // Arrivals of one millisecond come one after the other.
            clock.set(request.millis() * NANOS_A_MILLI + i);
            hits[i] = pool.serve(request, clock.get());
        }
        nanos = thread.getCurrentThreadCpuTime() - nanos;
        bytes = thread.getThreadAllocatedBytes(id) - bytes;
        double uses = trace.blockUses();
        return of(trace, hits, nanos / uses, bytes / uses);
    }

    /** Shares of {@code hits}, counted by request. */
    static Replay of(Trace trace, int[] hits, double nanosABlock, double bytesABlock) {
        long[] used = new long[2];
        long[] hit = new long[2];
        for (int i = 0; i < hits.length; i++) {
            int half = i < hits.length / 2 ? 0 : 1;
            used[half] += trace.requests().get(i).blocks().length;
            hit[half] += hits[i];
        }
        return new Replay(
                (double) hit[0] / used[0],
                (double) (hit[0] + hit[1]) / (used[0] + used[1]),
                (double) hit[1] / used[1],
                nanosABlock,
                bytesABlock);
    }
}
