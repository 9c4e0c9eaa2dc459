// SPDX-License-Identifier: Apache-2.0
package io.mooncake.benchmarks.memory;

import com.sun.management.ThreadMXBean;
import io.mooncake.memory.BlockLayout;
import io.mooncake.memory.BufferLease;
import io.mooncake.memory.MemoryPool;
import io.mooncake.memory.MemoryTier;
import io.mooncake.memory.PoolBuffer;
import io.mooncake.memory.block.BlockArena;
import io.mooncake.memory.block.BlockDescriptor;
import io.mooncake.memory.block.BlockSlab;
import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.arrow.memory.AllocationListener;
import org.apache.arrow.memory.ArrowBuf;
import org.apache.arrow.memory.RootAllocator;
import org.apache.arrow.memory.util.MemoryUtil;

/** The loops of {@link MemoryBench}. No byte of the memory is touched, so slab and arena stand over addresses that are none. */
final class MemoryLoops implements AutoCloseable {
    /** Per operation. */
    record Cost(double nanos, double heapBytes) {}

    /** Does an operation {@code count} times, as thread {@code me}. */
    private interface Loop {
        void run(int count, int me);
    }

    private static final int MIB = 1 << 20;
    private static final long ARENA_BYTES = 4L << 30;
    private static final int SLAB_SLOTS = 8192;
    private static final int BATCH = 64;
    private static final int PROBE = 2_000;
    private static final int[] SIZES = {64 << 10, 96 << 10, 128 << 10, 320 << 10};

    private final Map<String, Loop> loops = new HashMap<>();
    private final ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
    private final BlockSlab slab;
    private final BlockArena arena = new BlockArena("DRAM", 0, ARENA_BYTES);
    private final RootAllocator arrow = new RootAllocator(AllocationListener.NOOP, Long.MAX_VALUE, size -> size);
    private final MemoryPool pool = MemoryPool.create(0, 64 * MIB, null, 0);
    private final PoolBuffer buffer = pool.allocate(MIB, MemoryTier.DRAM);
    private final ArrowBuf[] arrowBuffers = {arrow.buffer(MIB), arrow.buffer(MIB)};
    private final long[] leased = new long[2];
    private final AtomicLong word = new AtomicLong();

    MemoryLoops() {
        BlockLayout layout = new BlockLayout(8, 8, 64, 16, 4);
        slab = new BlockSlab(0, 0, SLAB_SLOTS * BlockDescriptor.strideBytes(layout), layout);
        buffer.seal();
        // Far enough apart that two threads do not meet on a line of states.
        for (int i = 0; i < 64; i++) {
            long token = arena.allocate(MIB);
            arena.seal(token);
            leased[i == 0 ? 0 : 1] = token;
        }
        loops.put("slab", this::slab);
        loops.put("arena", this::arena);
        loops.put("arena mixed", this::arenaMixed);
        loops.put("malloc mixed", this::mallocMixed);
        loops.put("lease", this::lease);
        loops.put("lease shared", (count, me) -> lease(count, 0));
        loops.put("buffer", this::buffer);
        loops.put("buffer lease", this::bufferLease);
        loops.put("arrow", this::arrow);
        loops.put("arrow retain", this::arrowRetain);
        loops.put("malloc", this::malloc);
        loops.put("floor", this::floor);
    }

    private void slab(int count, int me) {
        for (int i = 0; i < count; i++) {
            slab.free(slab.allocate());
        }
    }

    private void arena(int count, int me) {
        for (int i = 0; i < count; i++) {
            arena.free(arena.allocate(MIB));
        }
    }

    private void arenaMixed(int count, int me) {
        long[] tokens = new long[BATCH];
        for (int i = 0; i < count; i += BATCH) {
            for (int k = 0; k < BATCH; k++) {
                tokens[k] = arena.allocate(SIZES[k & 3]);
            }
            for (int k = 0; k < BATCH; k++) {
                arena.free(tokens[k]);
            }
        }
    }

    private void mallocMixed(int count, int me) {
        long[] addresses = new long[BATCH];
        for (int i = 0; i < count; i += BATCH) {
            for (int k = 0; k < BATCH; k++) {
                addresses[k] = MemoryUtil.allocateMemory(SIZES[k & 3]);
            }
            for (int k = 0; k < BATCH; k++) {
                MemoryUtil.freeMemory(addresses[k]);
            }
        }
    }

    private void lease(int count, int me) {
        long token = leased[me];
        for (int i = 0; i < count; i++) {
            if (arena.lease(token)) {
                arena.release(token);
            }
        }
    }

    private void buffer(int count, int me) {
        for (int i = 0; i < count; i++) {
            pool.allocate(MIB, MemoryTier.DRAM).close();
        }
    }

    private void bufferLease(int count, int me) {
        for (int i = 0; i < count; i++) {
            try (BufferLease lease = buffer.lease()) {
                word.setPlain(lease.address());
            }
        }
    }

    private void arrow(int count, int me) {
        for (int i = 0; i < count; i++) {
            arrow.buffer(MIB).close();
        }
    }

    private void arrowRetain(int count, int me) {
        ArrowBuf mine = arrowBuffers[me];
        for (int i = 0; i < count; i++) {
            mine.getReferenceManager().retain();
            mine.getReferenceManager().release();
        }
    }

    private void malloc(int count, int me) {
        for (int i = 0; i < count; i++) {
            MemoryUtil.freeMemory(MemoryUtil.allocateMemory(MIB));
        }
    }

    private void floor(int count, int me) {
        for (int i = 0; i < count; i++) {
            long now = word.get();
            word.compareAndSet(now, now + 1);
        }
    }

    /** Runs a loop on {@code count} threads for about {@code nanos}; the mean of the threads. */
    Cost measure(String name, int count, long nanos) throws InterruptedException {
        Loop loop = loops.get(name);
        if (loop == null) {
            throw new IllegalArgumentException("loop: " + name + " (expected: one of " + loops.keySet() + ")");
        }
        double[] times = new double[count];
        double[] heap = new double[count];
        CountDownLatch ready = new CountDownLatch(count);
        List<Thread> running = new ArrayList<>();
        for (int t = 0; t < count; t++) {
            int me = t;
            Thread thread = new Thread(() -> {
                long probe = System.nanoTime();
                loop.run(PROBE, me);
                int repeats = (int) Math.max(1, nanos * PROBE / Math.max(1, System.nanoTime() - probe) / PROBE) * PROBE;
                ready.countDown();
                while (ready.getCount() > 0) {
                    Thread.onSpinWait();
                }
                long bytes = threads.getCurrentThreadAllocatedBytes();
                long start = System.nanoTime();
                loop.run(repeats, me);
                times[me] = (double) (System.nanoTime() - start) / repeats;
                heap[me] = Math.floor((double) (threads.getCurrentThreadAllocatedBytes() - bytes) / repeats);
            });
            thread.start();
            running.add(thread);
        }
        for (Thread thread : running) {
            thread.join();
        }
        double sum = 0;
        double most = 0;
        for (int t = 0; t < count; t++) {
            sum += times[t];
            most = Math.max(most, heap[t]);
        }
        return new Cost(sum / count, most);
    }

    @Override
    public void close() {
        for (ArrowBuf one : arrowBuffers) {
            one.close();
        }
        buffer.close();
        pool.close();
        arrow.close();
    }
}
