// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory;

import io.mooncake.base.Deadline;
import io.mooncake.base.MooncakeException;
import io.mooncake.memory.block.BlockSlab;
import io.mooncake.memory.ssd.SsdOutcome;
import io.mooncake.memory.ssd.SsdStatistics;
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
 * Write-behind: takes blocks from a bounded queue, holds each in place while it is written, and makes room on the SSD for the next ones. When
 * the queue is empty it writes what is missing on the SSD for another reason, {@link TierBacklog}; and it looks now and then what the store has
 * lost by itself.
 *
 * <p>Nobody waits for it: a block that finds the queue full is counted, and written later if memory still has it. Threading: {@link #offer} from
 * any thread; each of its own threads holds at most one block.
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

    final TierBacklog backlog;

    private volatile boolean stopped;

    final LongAdder written = new LongAdder();
    final LongAdder dropped = new LongAdder();
    final LongAdder failed = new LongAdder();
    final LongAdder evicted = new LongAdder();

    // Written by the first thread alone.
    private long faultsBefore;
    private SsdStatus.State stateBefore = SsdStatus.State.OPEN;

    TierWriter(LocalKvPool pool, SsdStore ssd, TierCatalog catalog, Predicate<StoredBlock> admission, int queueBlocks) {
        this.pool = pool;
        this.ssd = ssd;
        this.catalog = catalog;
        this.admission = admission;
        queue = new ArrayBlockingQueue<>(queueBlocks);
        backlog = new TierBacklog(pool.store().nanoClock);
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
            backlog.due(key);
            pending.decrementAndGet();
            dropped.increment();
        }
    }

    /** Blocks that wait or are being written. */
    int pending() {
        return pending.get() + backlog.size();
    }

    /** Waits until all that was offered is written or could not be; false when the deadline passed before. */
    boolean drain(Deadline deadline) {
        // In this order: what leaves the backlog is pending before.
        while ((backlog.hopeful() && ssd.takesWrites()) || pending.get() > 0) {
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
            BlockKey key = queue.poll();
            if (key != null) {
                write(key, true);
            } else if (!sweep()) {
                key = await();
                if (key != null) {
                    write(key, true);
                }
            }
            if (watches) {
                reconcile();
            }
        }
    }

    private @Nullable BlockKey await() {
        try {
            return queue.poll(IDLE_MILLIS, TimeUnit.MILLISECONDS);
        } catch (InterruptedException e) {
            return null;
        }
    }

    /** Writes one block that nobody offers any more; false when there is none, or it is not the time. */
    private boolean sweep() {
        if (!ssd.takesWrites()) {
            return false;
        }
        // That there is room again is found out without somebody storing more.
        ssd.retryRoom();
        pending.incrementAndGet();
        boolean first = true;
        BlockKey key = backlog.pollDue();
        if (key == null) {
            first = false;
            key = backlog.pollFailed();
        }
        if (key == null) {
            pending.decrementAndGet();
            return false;
        }
        write(key, first);
        return true;
    }

    /** Writes a pending block; it counts as failed the first time only. */
    private void write(BlockKey key, boolean first) {
        try {
            if (!tryWrite(key) && first) {
                failed.increment();
            }
        } catch (RuntimeException e) {
            failed.increment();
            if (!(e instanceof MooncakeException)) {
                LOG.error("defect in the SSD tier", e);
            } // else the pool is closed
        } finally {
            pending.decrementAndGet();
        }
    }

    /** False when it was to be written and was not. */
    private boolean tryWrite(BlockKey key) {
        if (catalog.onSsd(key)) {
            return true;
        }
        SsdTicket ticket = new SsdTicket();
        pool.handles().open(ticket, KIND);
        // Before it is leased: from here on a removal either finds this, or keeps it from the lease.
        TierTransits.Transit transit = catalog.down(key);
        int slot = BlockSlab.NONE;
        try {
            slot = pool.store().leaseByKey(key);
            return slot == BlockSlab.NONE || write(slot, ticket);
        } finally {
            if (slot != BlockSlab.NONE) {
                pool.store().release(slot);
            }
            catalog.end(transit);
            pool.handles().close(ticket);
        }
    }

    private boolean write(int slot, SsdTicket ticket) {
        StoredBlock block = pool.store().describe(slot);
        if (!admission.test(block) || ssd.taken() > mostTaken(ssd.slotsNow()) && !catalog.admits(block)) {
            return true;
        }
        TenantAccount payer = pool.store().accounts.of(block.tenant());
        if (!catalog.takeRoom(block, payer, this::takeOff)) {
            return true;
        }
        makeRoom(ssd.slots());
        SsdOutcome outcome = put(block.key(), slot, ticket);
        for (int i = 1; i < ROOM_TRIES && outcome == SsdOutcome.FULL; i++) {
            makeRoom(ssd.slotsNow());
            // A slot is free when the removal is durable.
            ssd.flush(Deadline.ofMillis(ROOM_MILLIS));
            outcome = put(block.key(), slot, ticket);
        }
        boolean stored = outcome == SsdOutcome.STORED;
        if (stored || outcome == SsdOutcome.PRESENT) {
            written.add(stored ? 1 : 0);
            backlog.succeeded();
            BlockSlab slab = pool.store().slab;
            if (!catalog.written(block, payer, () -> slab.isSealed(slot) && ssd.contains(block.key()))) {
                writtenInVain(block.key(), slab.isSealed(slot));
            }
            return true;
        }
        payer.giveSsd();
        // Before the block is let go, so that it leaves the backlog with memory's copy.
        backlog.failed(block.key());
        return false;
    }

    private void takeOff(BlockKey key) {
        ssd.remove(key);
        evicted.increment();
    }

    /** A commit that failed has taken the record out by now, or the block was removed while it was written. */
    private void writtenInVain(BlockKey key, boolean stillThere) {
        if (!stillThere) {
            catalog.gone(key, () -> {
                ssd.remove(key);
                return true;
            });
        }
        if (stillThere || pool.contains(key)) {
            backlog.due(key);
        }
    }

    /** Waits as long as the device has the block's memory: it can't be taken from it. */
    private SsdOutcome put(BlockKey key, int slot, SsdTicket ticket) {
        ssd.put(key, pool.store().slab.headerAddress(slot), ticket, Deadline.ofMillis(QUEUE_MILLIS));
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
        while (ssd.taken() > mostTaken(slots)) {
            BlockKey victim = catalog.takeVictim(ssd::remove);
            if (victim == null) {
                return;
            }
            evicted.increment();
        }
    }

    /** Places of {@code slots} that may be taken before one more is written. */
    private static int mostTaken(int slots) {
        return slots - 1 - Math.min(MAX_SPARE, slots / 8);
    }

    /** What the store took out by itself is not held any more, and is written again where memory has it. */
    private void reconcile() {
        SsdStatus.State state = ssd.status().state();
        if (state == SsdStatus.State.DISABLED) {
            backlog.clear();
            if (stateBefore != state) {
                // Memory is the only tier from now on.
                pool.store().admitByPolicy();
                catalog.allGone();
            }
        } else {
            SsdStatistics statistics = ssd.statistics();
            // A commit that fails takes its records out.
            long faults = statistics.damaged() + statistics.writeErrors();
            if (faults != faultsBefore) {
                faultsBefore = faults;
                catalog.ssdKeys().stream().filter(key -> !ssd.contains(key)).forEach(this::lost);
            }
        }
        stateBefore = state;
    }

    private void lost(BlockKey key) {
        if (catalog.gone(key, () -> !ssd.contains(key)) && pool.contains(key)) {
            backlog.due(key);
        }
    }
}
