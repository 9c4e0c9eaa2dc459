// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory;

import io.mooncake.base.Deadline;
import io.mooncake.memory.block.BlockDescriptor;
import io.mooncake.memory.block.ChainKeys;
import io.mooncake.memory.ssd.SsdOutcome;
import io.mooncake.memory.ssd.SsdStore;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.atomic.LongAdder;
import org.jspecify.annotations.Nullable;

/**
 * Tells the catalogue what an earlier life left on the SSD. The store's index has the keys; parent, depth and tokens are in each block's header,
 * so that is read of each record, oldest first, by a thread of its own. A block can be used before its turn.
 */
final class TierRecovery {
    private final LocalKvPool pool;
    private final SsdStore ssd;
    private final TierCatalog catalog;
    private final Thread thread;
    private final LongAdder announced = new LongAdder();
    private volatile boolean stopped;

    TierRecovery(LocalKvPool pool, SsdStore ssd, TierCatalog catalog) {
        this.pool = pool;
        this.ssd = ssd;
        this.catalog = catalog;
        thread = new Thread(this::run, "mooncake-tier-" + pool.name() + "-recovery");
        thread.setDaemon(true);
    }

    private record Found(BlockKey key, long generation) {}

    void start() {
        thread.start();
    }

    private void run() {
        List<Found> found = new ArrayList<>();
        ssd.forEach((key, generation) -> found.add(new Found(key, generation)));
        found.sort(Comparator.comparingLong(Found::generation));
        int headerBytes = BlockDescriptor.headerBytes(pool.layout());
        try (MemoryRegion memory = MemoryRegion.allocate(headerBytes)) {
            ByteBuffer header = BlockDescriptor.header(memory.address(), pool.layout());
            ChainKeys keys = new ChainKeys();
            for (Found record : found) {
                if (stopped) {
                    return;
                }
                SsdOutcome outcome = ssd.peek(record.key, memory.address(), headerBytes);
                StoredBlock block = outcome == SsdOutcome.LOADED ? block(record, header, keys) : null;
                if (block != null) {
                    catalog.written(block, () -> ssd.contains(record.key));
                    announced.increment();
                } else if (outcome == SsdOutcome.LOADED) {
                    // Its header is not what was written, or never was that of a block.
                    ssd.remove(record.key);
                }
            }
        }
    }

    private @Nullable StoredBlock block(Found record, ByteBuffer header, ChainKeys keys) {
        if (BlockDescriptor.problem(header, pool.layout()) != null
                || !BlockDescriptor.key(header).equals(record.key)) {
            return null;
        }
        BlockKey parent = BlockDescriptor.parent(header);
        int[] tokens = BlockDescriptor.tokens(header, pool.layout());
        return keys.next(parent, tokens, 0, tokens.length).equals(record.key)
                ? new StoredBlock(record.key, parent, BlockDescriptor.depth(header), tokens, record.generation, "")
                : null;
    }

    long announced() {
        return announced.sum();
    }

    boolean running() {
        return thread.isAlive();
    }

    /** Whether it has ended by the deadline. */
    boolean await(Deadline deadline) {
        try {
            thread.join(Math.max(1, deadline.remainingMillis()));
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        return !thread.isAlive();
    }

    void stop(Deadline deadline) {
        stopped = true;
        await(deadline);
    }
}
