// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory;

import io.mooncake.base.Deadline;
import io.mooncake.base.MooncakeException;
import io.mooncake.memory.block.BlockDescriptor;
import io.mooncake.memory.block.ChainKeys;
import io.mooncake.memory.ssd.SsdOutcome;
import io.mooncake.memory.ssd.SsdStore;
import io.mooncake.memory.ssd.SsdTicket;
import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.atomic.LongAdder;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Tells the catalogue what an earlier life left on the SSD. The store's index has the keys; parent, depth and tokens are in each block's header,
 * so that is read of each record, oldest first, several at a time, by a thread of its own. A block can be used before its turn.
 *
 * <p>Only what is in the catalogue can leave the SSD for others. So a header that can't be read is tried again, and what can't be read then, or
 * is not the header of its block, is removed: nothing stays that nobody knows.
 */
final class TierRecovery {
    private static final Logger LOG = LoggerFactory.getLogger(TierRecovery.class);

    /** Headers that are read at a time: more than the store has threads, so that none of them waits for this one. */
    private static final int WINDOW = 16;

    private static final int TRIES = 3;
    private static final long RETRY_MILLIS = 200;
    private static final long QUEUE_MILLIS = 10_000;

    private final LocalKvPool pool;
    private final SsdStore ssd;
    private final TierCatalog catalog;
    private final int headerBytes;
    private final Thread thread;
    private final LongAdder announced = new LongAdder();
    private final LongAdder removed = new LongAdder();
    private volatile boolean stopped;

    // Of its own thread.
    private final ChainKeys keys = new ChainKeys();
    private boolean told;

    TierRecovery(LocalKvPool pool, SsdStore ssd, TierCatalog catalog) {
        this.pool = pool;
        this.ssd = ssd;
        this.catalog = catalog;
        headerBytes = BlockDescriptor.headerBytes(pool.layout());
        thread = new Thread(this::run, "mooncake-tier-" + pool.name() + "-recovery");
        thread.setDaemon(true);
    }

    private record Found(BlockKey key, long generation) {}

    /** A header under way, into memory that is its own until the ticket is not busy. */
    private static final class Peek {
        final SsdTicket ticket = new SsdTicket();
        final long address;
        Found record;

        Peek(long address, Found record) {
            this.address = address;
            this.record = record;
        }
    }

    void start() {
        catalog.recoveryBegins();
        thread.start();
    }

    private void run() {
        try {
            List<Found> found = new ArrayList<>();
            ssd.forEach((key, generation) -> found.add(new Found(key, generation)));
            found.sort(Comparator.comparingLong(Found::generation));
            long start = System.nanoTime();
            announce(found);
            if (!found.isEmpty()) {
                LOG.info(
                        "SSD tier of pool {}: {} of {} blocks announced in {} ms, {} removed",
                        pool.name(),
                        announced,
                        found.size(),
                        (System.nanoTime() - start) / 1_000_000,
                        removed);
            }
        } catch (RuntimeException | Error e) {
            LOG.error("SSD tier of pool {}: what it has is not announced any further: a defect", pool.name(), e);
        } finally {
            catalog.recoveryEnds();
        }
    }

    private void announce(List<Found> found) {
        List<Found> left = found;
        try (MemoryRegion memory = MemoryRegion.allocate((long) WINDOW * headerBytes)) {
            for (int i = 0; i < TRIES && !left.isEmpty() && !stopped; i++) {
                pause(i * RETRY_MILLIS);
                left = pass(left, memory);
            }
        }
        if (!stopped) {
            left.forEach(record -> remove(record, "its header can't be read"));
        }
    }

    private synchronized void pause(long millis) {
        try {
            if (millis > 0 && !stopped) {
                wait(millis);
            }
        } catch (InterruptedException e) {
            stopped = true;
        }
    }

    /** Reads the headers of {@code records}; those that could not be read. The memory is nobody's any more when it returns. */
    private List<Found> pass(List<Found> records, MemoryRegion memory) {
        List<Found> failed = new ArrayList<>();
        ArrayDeque<Peek> flying = new ArrayDeque<>(WINDOW);
        try {
            int next = 0;
            for (; next < Math.min(WINDOW, records.size()); next++) {
                Peek peek = new Peek(memory.address() + (long) next * headerBytes, records.get(next));
                begin(peek);
                flying.add(peek);
            }
            // In their order, whichever is read first.
            for (Peek peek = flying.poll(); peek != null; peek = flying.poll()) {
                end(peek, failed);
                if (next < records.size() && !stopped) {
                    peek.record = records.get(next++);
                    begin(peek);
                    flying.add(peek);
                }
            }
        } finally {
            flying.forEach(this::await);
        }
        return failed;
    }

    private void begin(Peek peek) {
        ssd.peek(peek.record.key, peek.address, headerBytes, peek.ticket, Deadline.ofMillis(QUEUE_MILLIS));
    }

    private SsdOutcome await(Peek peek) {
        while (peek.ticket.busy()) {
            // Nobody interrupts this thread; if somebody does, the device has the memory all the same.
            peek.ticket.await(Deadline.ofMillis(QUEUE_MILLIS));
            stopped |= Thread.interrupted();
        }
        return peek.ticket.outcome();
    }

    private void end(Peek peek, List<Found> failed) {
        try {
            switch (await(peek)) {
                case LOADED -> tell(peek);
                case FAILED, BUSY -> failed.add(peek.record);
                case DISABLED, CLOSED -> stopped = true;
                case MISS, REMOVED -> {} // gone meanwhile
                case PENDING, STORED, SYNCED, PRESENT, DAMAGED, FULL, PAUSED ->
                    throw new AssertionError(peek.ticket.outcome());
            }
        } catch (RuntimeException e) {
            if (!told) {
                told = true;
                LOG.error("SSD tier of pool {}: defect; further ones are not told", pool.name(), e);
            }
            failed.add(peek.record);
        }
    }

    private void tell(Peek peek) {
        try {
            pool.handles().enter(); // what was removed may free memory, whose headers that writes
        } catch (MooncakeException e) {
            stopped = true; // the pool is closed
            return;
        }
        try {
            tellHeader(peek);
        } finally {
            pool.handles().leave();
        }
    }

    private void tellHeader(Peek peek) {
        StoredBlock block = block(peek.record, BlockDescriptor.header(peek.address, pool.layout()));
        if (block == null) {
            remove(peek.record, "its header is not that of its block");
        } else if (catalog.recovered(block, () -> ssd.contains(block.key()), pool.operations(), ssd::remove)) {
            announced.increment();
        } else {
            pool.store().events.drain(); // it may have gone with what it followed
        }
    }

    private @Nullable StoredBlock block(Found record, ByteBuffer header) {
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

    private void remove(Found record, String why) {
        // Somebody may have brought it up since, and the catalogue knows it by that.
        if (!catalog.onSsd(record.key) && ssd.remove(record.key)) {
            removed.increment();
            LOG.debug("SSD tier of pool {}: block {} removed: {}", pool.name(), record.key, why);
        }
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
        synchronized (this) {
            stopped = true;
            notifyAll();
        }
        await(deadline);
    }
}
