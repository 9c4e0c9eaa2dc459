// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory;

import io.mooncake.base.Deadline;
import io.mooncake.base.MooncakeException;
import io.mooncake.memory.block.BlockSlab;
import io.mooncake.memory.ssd.SsdOutcome;
import io.mooncake.memory.ssd.SsdStatus;
import io.mooncake.memory.ssd.SsdStore;
import io.mooncake.memory.ssd.SsdTicket;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Write-behind: takes blocks from a bounded queue, holds each in place while it is written, and makes room on the SSD for the next ones. And
 * looks now and then what the store has lost by itself.
 *
 * <p>Nobody waits for it: a block that finds the queue full stays in memory only, and is counted. Threading: {@link #offer} from any thread; each
 * of its own threads holds at most one block.
 */
final class TierWriter {
    private static final Logger LOG = LoggerFactory.getLogger(TierWriter.class);
    private static final String KIND = "write to the SSD";
    private static final int THREADS = 2;
    private static final int ROOM_TRIES = 4;
    /** Slots kept free, so that a write does not wait for the commit of a removal: an eighth of the slots, at most this many. */
    private static final int MAX_SPARE = 32;

    private static final long IDLE_MILLIS = 250;
    private static final long QUEUE_MILLIS = 1_000;
    private static final long ROOM_MILLIS = 1_000;

    private final LocalKvPool pool;
    private final SsdStore ssd;
    private final TierCatalog catalog;
    private final Predicate<StoredBlock> admission;
    private final ArrayBlockingQueue<BlockKey> queue;
    private final List<Thread> threads = new ArrayList<>();
    /** Offered, and neither written nor dropped yet. */
    private final AtomicInteger pending = new AtomicInteger();

    private volatile boolean stopped;

    final LongAdder written = new LongAdder();
    final LongAdder dropped = new LongAdder();
    final LongAdder failed = new LongAdder();
    final LongAdder evicted = new LongAdder();

    // Written by the first thread alone.
    private long damagedBefore;
    private SsdStatus.State stateBefore = SsdStatus.State.OPEN;

    TierWriter(LocalKvPool pool, SsdStore ssd, TierCatalog catalog, Predicate<StoredBlock> admission, int queueBlocks) {
        this.pool = pool;
        this.ssd = ssd;
        this.catalog = catalog;
        this.admission = admission;
        queue = new ArrayBlockingQueue<>(queueBlocks);
    }

    void start() {
        for (int i = 0; i < THREADS; i++) {
            boolean watches = i == 0;
            Thread thread = new Thread(() -> run(watches), "mooncake-tier-" + pool.name() + "-" + i);
            thread.setDaemon(true);
            threads.add(thread);
            thread.start();
        }
    }

    /** Asks for {@code key} to be written; at once. */
    void offer(BlockKey key) {
        pending.incrementAndGet();
        if (stopped || !queue.offer(key)) {
            pending.decrementAndGet();
            dropped.increment();
        }
    }

    /** Blocks that wait or are being written. */
    int pending() {
        return pending.get();
    }

    /** Waits until all that was offered is written or dropped; false when the deadline passed before. */
    boolean drain(Deadline deadline) {
        while (pending.get() > 0) {
            if (deadline.expired() || stopped) {
                return false;
            }
            try {
                Thread.sleep(1);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                return false;
            }
        }
        return true;
    }

    /** Takes nothing any more; what is being written goes on until the store has ended it. */
    void stop() {
        stopped = true;
    }

    /** Waits for the threads to end; those that are in the device may not. */
    void join(Deadline deadline) {
        for (Thread thread : threads) {
            try {
                thread.join(Math.max(1, deadline.remainingMillis()));
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                return;
            }
        }
    }

    private void run(boolean watches) {
        while (!stopped) {
            BlockKey key = poll();
            if (key != null) {
                try {
                    write(key);
                } catch (RuntimeException e) {
                    failed.increment();
                    if (!(e instanceof MooncakeException)) {
                        LOG.error("defect in the SSD tier", e);
                    } // else the pool is closed
                } finally {
                    pending.decrementAndGet();
                }
            }
            if (watches) {
                reconcile();
            }
        }
    }

    private @Nullable BlockKey poll() {
        try {
            return queue.poll(IDLE_MILLIS, TimeUnit.MILLISECONDS);
        } catch (InterruptedException e) {
            return null;
        }
    }

    private void write(BlockKey key) {
        if (catalog.onSsd(key)) {
            return;
        }
        SsdTicket ticket = new SsdTicket();
        pool.handles().open(ticket, KIND);
        int slot = BlockSlab.NONE;
        try {
            slot = pool.store().leaseByKey(key);
            if (slot != BlockSlab.NONE) {
                write(slot, ticket);
            }
        } finally {
            if (slot != BlockSlab.NONE) {
                pool.store().release(slot);
            }
            pool.handles().close(ticket);
        }
    }

    private void write(int slot, SsdTicket ticket) {
        StoredBlock block = pool.store().describe(slot);
        if (!admission.test(block)) {
            return;
        }
        makeRoom(ssd.slots());
        ssd.put(block.key(), pool.store().slab.headerAddress(slot), ticket, Deadline.ofMillis(QUEUE_MILLIS));
        SsdOutcome outcome = end(ticket);
        for (int i = 1; i < ROOM_TRIES && outcome == SsdOutcome.FULL; i++) {
            makeRoom(ssd.slotsNow());
            // A slot is free when the removal is durable.
            ssd.flush(Deadline.ofMillis(ROOM_MILLIS));
            ssd.put(block.key(), pool.store().slab.headerAddress(slot), ticket, Deadline.ofMillis(QUEUE_MILLIS));
            outcome = end(ticket);
        }
        if (outcome == SsdOutcome.STORED || outcome == SsdOutcome.PRESENT) {
            catalog.written(block, () -> ssd.contains(block.key()));
            if (outcome == SsdOutcome.STORED) {
                written.increment();
            }
        } else {
            failed.increment();
        }
    }

    /** Waits as long as the device has the block's memory: it can't be taken from it. */
    private static SsdOutcome end(SsdTicket ticket) {
        while (ticket.busy()) {
            ticket.await(Deadline.ofMillis(QUEUE_MILLIS));
        }
        return ticket.outcome();
    }

    /**
     * Takes blocks off until one more, and the spare ones, have a place among {@code slots}. Places that are being given back count as free: a
     * device that is slow to commit costs no block more.
     */
    private synchronized void makeRoom(int slots) {
        int most = slots - 1 - Math.min(MAX_SPARE, slots / 8);
        while (ssd.taken() > most) {
            BlockKey victim = catalog.takeVictim();
            if (victim == null) {
                return;
            }
            ssd.remove(victim);
            evicted.increment();
        }
    }

    /** What the store took out by itself is not held any more. */
    private void reconcile() {
        SsdStatus.State state = ssd.status().state();
        if (state == SsdStatus.State.DISABLED) {
            if (stateBefore != state) {
                catalog.allGone();
            }
        } else {
            long damaged = ssd.statistics().damaged();
            if (damaged != damagedBefore) {
                damagedBefore = damaged;
                catalog.ssdKeys().stream().filter(key -> !ssd.contains(key)).forEach(catalog::gone);
            }
        }
        stateBefore = state;
    }
}
