// SPDX-License-Identifier: Apache-2.0
package io.mooncake.benchmarks.memory;

import com.sun.management.ThreadMXBean;
import io.mooncake.base.Deadline;
import io.mooncake.memory.BlockWriter;
import io.mooncake.memory.KvDataType;
import io.mooncake.memory.KvIdentity;
import io.mooncake.memory.LocalKvPool;
import io.mooncake.memory.MemoryRegion;
import io.mooncake.memory.PrefixLease;
import io.mooncake.memory.ReuseMode;
import java.lang.management.ManagementFactory;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Objects;
import java.util.SplittableRandom;

/**
 * Look-ups in a pool as it is used: tokens checked, prefix found, each block leased, the look-up counted; then the lease is closed. Blocks have 16
 * tokens and next to no payload, so that 20,000 of them fit; {@value #OTHERS} prompts beside share the beginnings of the two that are looked up.
 */
final class PoolLoops implements AutoCloseable {
    /** What is looked up, by its name in the report. */
    enum LookUp {
        LONG("cached prompt of 131,072 tokens", 131_072),
        SHORT("cached prompt of 4,096 tokens", 4_096),
        MISS("miss on the first block, prompt of 1,024 tokens", 0);

        final String text;
        final int tokens;

        LookUp(String text, int tokens) {
            this.text = text;
            this.tokens = tokens;
        }
    }

    /** Per look-up: {@code acquire}, closing the lease, and what both leave on the Java heap. */
    record Cost(double acquireNanos, double closeNanos, double heapBytes) {}

    private static final int BLOCK_TOKENS = 16;
    private static final int VOCABULARY = 128_256;
    private static final int BLOCKS = 20_000;
    private static final int OTHERS = 400;
    private static final long SEED = 20_261_130;

    private final ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
    private final SplittableRandom random = new SplittableRandom(SEED);
    private final Map<LookUp, int[]> prompts = new LinkedHashMap<>();
    private final LocalKvPool pool;

    PoolLoops() {
        KvIdentity identity = new KvIdentity(
                "ab".repeat(32),
                "cd".repeat(32),
                "",
                "bench-1",
                "rope(base=10000)",
                ReuseMode.FAST,
                KvDataType.F16,
                1,
                1,
                1,
                BLOCK_TOKENS,
                1,
                0);
        long bytes = BLOCKS * LocalKvPool.blockStrideBytes(identity);
        try (MemoryRegion region = MemoryRegion.allocate(bytes)) {
            pool = LocalKvPool.create("bench", identity, VOCABULARY, region, 0, bytes);
        }
        for (LookUp lookUp : LookUp.values()) {
            int[] prompt = tokens(lookUp.tokens == 0 ? 1_024 : lookUp.tokens + 1);
            prompts.put(lookUp, prompt);
            if (lookUp.tokens > 0) {
                store(prompt);
            }
        }
        for (int i = 0; i < OTHERS; i++) {
            int[] from = prompts.get(i % 2 == 0 ? LookUp.LONG : LookUp.SHORT);
            int shared = random.nextInt(4_096);
            int[] other = Arrays.copyOf(from, shared + 160);
            System.arraycopy(tokens(160), 0, other, shared, 160);
            store(other);
        }
    }

    private int[] tokens(int count) {
        return random.ints(count, 0, VOCABULARY).toArray();
    }

    private void store(int[] tokens) {
        try (PrefixLease hit = pool.acquire(tokens, Deadline.ofMillis(1_000));
                BlockWriter writer = pool.extend(hit, tokens)) {
            while (writer.hasNext()) {
                writer.next();
            }
            writer.publish();
        }
    }

    /** Looks {@code what} up for about {@code nanos}. */
    Cost measure(LookUp what, long nanos) {
        int[] prompt = Objects.requireNonNull(prompts.get(what));
        Deadline deadline = Deadline.ofMillis(1_000);
        long acquiring = 0;
        long closing = 0;
        int count = 0;
        long heap = threads.getCurrentThreadAllocatedBytes();
        while (acquiring + closing < nanos) {
            long start = System.nanoTime();
            PrefixLease lease = pool.acquire(prompt, deadline);
            long held = System.nanoTime();
            lease.close();
            closing += System.nanoTime() - held;
            acquiring += held - start;
            if (lease.matchedTokens() != what.tokens) {
                throw new IllegalStateException(what + ": " + lease.matchedTokens());
            }
            count++;
        }
        heap = threads.getCurrentThreadAllocatedBytes() - heap;
        return new Cost((double) acquiring / count, (double) closing / count, (double) heap / count);
    }

    @Override
    public void close() {
        pool.close();
    }
}
