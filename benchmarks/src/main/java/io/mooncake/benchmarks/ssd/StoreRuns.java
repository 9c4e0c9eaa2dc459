// SPDX-License-Identifier: Apache-2.0
package io.mooncake.benchmarks.ssd;

import io.mooncake.base.Deadline;
import io.mooncake.examples.cli.Refusal;
import io.mooncake.memory.BlockKey;
import io.mooncake.memory.MemoryRegion;
import io.mooncake.memory.ssd.SsdOutcome;
import io.mooncake.memory.ssd.SsdStore;
import io.mooncake.memory.ssd.SsdTicket;
import java.util.SplittableRandom;
import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.arrow.memory.util.MemoryUtil;

/** Writes and reads all records of a store, so and so many at once. */
final class StoreRuns implements AutoCloseable {
    private static final long PATIENCE_MILLIS = 120_000;

    private final SsdStore store;
    private final int records;
    private final MemoryRegion memory;
    private final Slot[] slots;
    private final Semaphore free;
    private final AtomicLong wrong = new AtomicLong();

    StoreRuns(SsdStore store, int records, int depth) {
        this.store = store;
        this.records = records;
        memory = MemoryRegion.allocate((long) depth * store.recordBytes());
        slots = new Slot[depth];
        free = new Semaphore(depth);
        SplittableRandom random = new SplittableRandom(1);
        for (int i = 0; i < depth; i++) {
            slots[i] = new Slot(memory.address() + (long) i * store.recordBytes());
            for (long at = 0; at < store.recordBytes(); at += 8) {
                MemoryUtil.putLong(slots[i].address + at, random.nextLong());
            }
        }
    }

    /** A place in memory, and the operation on it. */
    private final class Slot extends SsdTicket {
        private final long address;
        private volatile SsdOutcome wanted = SsdOutcome.PENDING;

        Slot(long address) {
            this.address = address;
        }

        @Override
        protected void done(SsdOutcome how) {
            if (how != wanted) {
                wrong.incrementAndGet();
            }
            free.release();
        }
    }

    static BlockKey key(long number) {
        return new BlockKey(number * 0x9E37_79B9_7F4A_7C15L, number, ~number, 1);
    }

    /** Writes all records; bytes a second until the last one is stored. */
    double write(int generation) {
        return run(SsdOutcome.STORED, generation);
    }

    /** Reads all records in another order than they were written. */
    double read(int generation) {
        return run(SsdOutcome.LOADED, generation);
    }

    private double run(SsdOutcome wanted, int generation) {
        long start = System.nanoTime();
        for (int i = 0; i < records; i++) {
            free.acquireUninterruptibly();
            Slot slot = idle();
            slot.wanted = wanted;
            BlockKey key = key((long) generation * records + (wanted == SsdOutcome.LOADED ? scattered(i) : i));
            Deadline deadline = Deadline.ofMillis(PATIENCE_MILLIS);
            if (wanted == SsdOutcome.STORED) {
                store.put(key, slot.address, slot, deadline);
            } else {
                store.load(key, slot.address, slot, deadline);
            }
        }
        free.acquireUninterruptibly(slots.length);
        long nanos = System.nanoTime() - start;
        free.release(slots.length);
        if (wrong.get() > 0) {
            throw new Refusal(wrong + " operations of the SSD store did not end as " + wanted + ": "
                    + store.statistics() + " " + store.status());
        }
        return records * (double) store.recordBytes() * 1e9 / nanos;
    }

    /** Each once, far from each other: the step has no factor in common with a power of two, or is made so. */
    private long scattered(int i) {
        return records % 7919 == 0 ? i : (long) i * 7919 % records;
    }

    private Slot idle() {
        while (true) {
            for (Slot slot : slots) {
                if (!slot.busy()) {
                    return slot;
                }
            }
            Thread.onSpinWait();
        }
    }

    void removeAll(int generation) {
        for (int i = 0; i < records; i++) {
            store.remove(key((long) generation * records + i));
        }
        flush();
    }

    void flush() {
        if (!store.flush(Deadline.ofMillis(PATIENCE_MILLIS))) {
            throw new Refusal("SSD store: no commit within " + PATIENCE_MILLIS + " ms");
        }
    }

    @Override
    public void close() {
        memory.close();
    }
}
