// SPDX-License-Identifier: Apache-2.0
package io.mooncake.benchmarks.ssd;

import io.mooncake.base.Deadline;
import io.mooncake.memory.BlockWriter;
import io.mooncake.memory.KvDataType;
import io.mooncake.memory.KvIdentity;
import io.mooncake.memory.LocalKvPool;
import io.mooncake.memory.MemoryRegion;
import io.mooncake.memory.PrefixLease;
import io.mooncake.memory.ReuseMode;
import io.mooncake.memory.SsdTier;
import io.mooncake.memory.Tenant;
import io.mooncake.memory.ssd.SsdSettings;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.SplittableRandom;

/** Fills the SSD below a pool with small blocks, and finds out how long a start takes until all of them are announced. */
final class TierRuns {
    private static final int VOCABULARY = 32_000;
    private static final int BLOCK_TOKENS = 16;
    private static final int PROMPT_BLOCKS = 100;
    private static final int MEMORY_BLOCKS = 4_096;
    private static final long PATIENCE_MILLIS = 120_000;
    private static final KvIdentity IDENTITY = new KvIdentity(
            "ab".repeat(32),
            "cd".repeat(32),
            "",
            "bench-1",
            "rope(base=10000)",
            ReuseMode.EXACT,
            KvDataType.F16,
            1,
            1,
            64,
            BLOCK_TOKENS,
            1,
            0);

    private final Path folder;
    private final int blocks;
    private long written;

    /** @param blocks a multiple of a hundred */
    TierRuns(Path folder, int blocks) {
        this.folder = folder;
        this.blocks = blocks;
    }

    private static LocalKvPool pool() {
        long bytes = MEMORY_BLOCKS * LocalKvPool.blockStrideBytes(IDENTITY);
        try (MemoryRegion region = MemoryRegion.allocate(bytes)) {
            return LocalKvPool.create("bench", IDENTITY, VOCABULARY, region, 0, bytes, "lru");
        }
    }

    private SsdTier tier(LocalKvPool pool) {
        // An eighth stays free.
        long bytes = (blocks + blocks / 4) * LocalKvPool.blockStrideBytes(IDENTITY);
        SsdSettings settings = SsdTier.settings(pool, folder, "bench", bytes)
                .scrubBytesPerSecond(0)
                .build();
        return SsdTier.open(pool, settings, List.of());
    }

    /** Writes all blocks. */
    void fill() throws IOException {
        SplittableRandom random = new SplittableRandom(1);
        try (LocalKvPool pool = pool();
                SsdTier tier = tier(pool)) {
            for (int done = 0; done < blocks; done += PROMPT_BLOCKS) {
                int[] tokens =
                        random.ints(PROMPT_BLOCKS * BLOCK_TOKENS, 0, VOCABULARY).toArray();
                try (PrefixLease none = pool.acquire(Tenant.DEFAULT, tokens);
                        BlockWriter writer = pool.extend(Tenant.DEFAULT, none, tokens)) {
                    while (writer.hasNext()) {
                        writer.next();
                    }
                    writer.publish();
                }
                // What memory gave up before it was written would be lost.
                if (tier.statistics().queued() > MEMORY_BLOCKS / 2) {
                    flush(tier);
                }
            }
            flush(tier);
            written = tier.statistics().blocks();
            // A write that the device kept waiting may be tried again when memory has given the block up.
            if (written < blocks - blocks / 100) {
                throw new IOException("blocks written: " + tier.statistics() + " (expected: " + blocks + ")");
            }
        }
    }

    private static void flush(SsdTier tier) throws IOException {
        if (!tier.flush(Deadline.ofMillis(PATIENCE_MILLIS))) {
            throw new IOException("blocks are not written after " + PATIENCE_MILLIS + " ms");
        }
    }

    /** Milliseconds from the start of the tier, whose memory is empty, until everything is announced. */
    double announceMillis() throws IOException {
        try (LocalKvPool pool = pool()) {
            long start = System.nanoTime();
            try (SsdTier tier = tier(pool)) {
                if (!tier.awaitRecovery(Deadline.ofMillis(PATIENCE_MILLIS))) {
                    throw new IOException("blocks are not announced after " + PATIENCE_MILLIS + " ms");
                }
                double millis = (System.nanoTime() - start) / 1e6;
                if (tier.statistics().recovered() != written) {
                    throw new IOException(
                            "blocks announced: " + tier.statistics().recovered() + " (expected: " + written + ")");
                }
                return millis;
            }
        }
    }
}
