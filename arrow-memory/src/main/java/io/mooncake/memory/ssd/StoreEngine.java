// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory.ssd;

import io.mooncake.base.Deadline;
import io.mooncake.memory.BlockKey;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.LongSupplier;
import org.apache.arrow.memory.util.MemoryUtil;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The threads of a store: those that read and write, the committer, the scrubber, and a keeper that watches for stalls. And what they do when
 * the device fails: reads that fail too often take the store out for good; writes that do are paused and tried again, one at a time.
 */
final class StoreEngine {
    private static final Logger LOG = LoggerFactory.getLogger(StoreEngine.class);
    private static final long KEEPER_MILLIS = 50;
    private static final long LOG_NANOS = 10_000_000_000L;
    private static final long PATIENCE_MILLIS = 3_600_000;
    private static final long LAST_COMMIT_MILLIS = 3_000;

    private final SsdSettings settings;
    private final SlotTable table;
    private final SegmentFiles segments;
    private final LongSupplier nanoClock;
    private final SsdChecks checks;
    private final IoQueue queue;
    private final DeviceHealth health;
    private final IoWatch watch;
    private final Committer committer;
    private final Scrubber scrubber;
    private final AtomicLong generations;
    private final List<Thread> workers = new ArrayList<>();
    private final List<Thread> others = new ArrayList<>();
    final LongAdder stored = new LongAdder();
    final LongAdder loaded = new LongAdder();
    final LongAdder misses = new LongAdder();
    final LongAdder full = new LongAdder();
    final LongAdder paused = new LongAdder();
    /** Null while open; set once. Written under this. */
    private volatile @Nullable SsdStatus ended;

    // Guarded by this.
    private boolean writesPaused;
    private long retryAtNanos;
    private String pauseReason = "";
    private boolean keeperStops;
    private final AtomicLong lastLogNanos;

    StoreEngine(
            SsdSettings settings,
            SlotTable table,
            IndexJournal journal,
            SegmentFiles segments,
            IoWatch watch,
            LongSupplier nanoClock,
            SsdChecks checks) {
        this.settings = settings;
        this.table = table;
        this.segments = segments;
        this.nanoClock = nanoClock;
        this.checks = checks;
        queue = new IoQueue(settings.queueRecords());
        health = new DeviceHealth(settings, nanoClock);
        this.watch = watch;
        committer = new Committer(table, journal, new CommitTarget(), settings, nanoClock);
        scrubber = new Scrubber(settings, this, table, watch.scrubber());
        generations = new AtomicLong(journal.maxGeneration());
        lastLogNanos = new AtomicLong(nanoClock.getAsLong() - LOG_NANOS);
    }

    void start() {
        for (int i = 0; i < settings.ioThreads(); i++) {
            int index = i;
            workers.add(thread("io-" + i, () -> work(index)));
        }
        others.add(thread("commit", committer));
        others.add(thread("scrub", scrubber));
        others.add(thread("keeper", this::keep));
        // The index is there before the first record, so that a path that can't be written shows at once.
        workers.forEach(Thread::start);
        others.forEach(Thread::start);
    }

    private static Thread thread(String name, Runnable body) {
        Thread thread = new Thread(body, "mooncake-ssd-" + name);
        thread.setDaemon(true);
        return thread;
    }

    IoQueue queue() {
        return queue;
    }

    Committer committer() {
        return committer;
    }

    Scrubber scrubber() {
        return scrubber;
    }

    DeviceHealth health() {
        return health;
    }

    // ----------------------------------------------------------------------------------------------- I/O threads

    private void work(int index) {
        RecordDescriptor descriptor = new RecordDescriptor(settings.identityDigest(), settings.recordBytes());
        for (SsdTicket ticket = queue.take(); ticket != null; ticket = queue.take()) {
            boolean write = ticket.write;
            SsdOutcome outcome = refusalOfDevice();
            try {
                if (outcome == null) {
                    // A small object, and nothing else, is allocated an operation: the JDK takes buffers only.
                    int bytes = ticket.peekBytes > 0 ? ticket.peekBytes : settings.recordBytes();
                    ByteBuffer memory = MemoryUtil.directBuffer(ticket.address, bytes);
                    outcome =
                            write ? write(ticket, memory, descriptor, index) : load(ticket, memory, descriptor, index);
                }
            } catch (RuntimeException | Error e) {
                LOG.error("defect in the SSD store", e);
                outcome = SsdOutcome.FAILED;
            }
            if (outcome != null) {
                ticket.endHere(outcome);
            }
            if (write) {
                queue.writeOver();
            }
        }
    }

    private SsdOutcome load(SsdTicket ticket, ByteBuffer memory, RecordDescriptor descriptor, int index) {
        BlockKey key = ticket.requireKey();
        int slot = table.pin(key);
        if (slot == SlotTable.NONE) {
            misses.increment();
            return SsdOutcome.MISS;
        }
        try {
            if (ticket.peekBytes > 0) {
                fetch(slot, memory, index);
                return SsdOutcome.LOADED;
            }
            SsdOutcome outcome = read(slot, key, memory, descriptor, index);
            if (outcome == SsdOutcome.LOADED) {
                loaded.increment();
            }
            return outcome;
        } catch (IOException e) {
            return SsdOutcome.FAILED;
        } finally {
            table.unpin(slot);
        }
    }

    /** Reads and verifies a pinned slot. What fails its checksum is taken out; an error of the device's is counted and thrown. */
    SsdOutcome read(int slot, BlockKey key, ByteBuffer memory, RecordDescriptor descriptor, int index)
            throws IOException {
        long generation = table.generation(slot);
        int expected = table.crc(slot);
        fetch(slot, memory, index);
        if (descriptor.checksum(memory, key, generation, slot) == expected || !checks.checksums()) {
            return SsdOutcome.LOADED;
        }
        if (table.removeSlot(slot, generation)) {
            committer.removed(slot);
            if (health.damaged()) {
                disable("records come back damaged");
            }
        }
        return SsdOutcome.DAMAGED;
    }

    /** Fills {@code memory} from a pinned slot; an error is counted and thrown. */
    private void fetch(int slot, ByteBuffer memory, int index) throws IOException {
        watch.begin(index);
        try {
            DeviceIo.read(segments.file(slot), memory, segments.offset(slot));
        } catch (IOException e) {
            if (health.readFailed()) {
                disable("reads fail: " + e.getMessage());
            }
            logFault("read", e);
            throw e;
        } finally {
            watch.end(index);
        }
    }

    /** Null when the end comes with the commit. */
    private @Nullable SsdOutcome write(SsdTicket ticket, ByteBuffer memory, RecordDescriptor descriptor, int index) {
        BlockKey key = ticket.requireKey();
        int slot = table.begin(key);
        while (slot == SlotTable.NONE) {
            SsdOutcome standing = committer.standing(key, ticket);
            if (standing != null) {
                return standing == SsdOutcome.PENDING ? null : standing;
            }
            if (!segments.grow()) {
                full.increment();
                return SsdOutcome.FULL;
            }
            slot = table.begin(key);
        }
        if (!mayWrite()) {
            table.failed(slot);
            paused.increment();
            return SsdOutcome.PAUSED;
        }
        long failures = committer.failures();
        long generation = generations.incrementAndGet();
        int crc = descriptor.checksum(memory, key, generation, slot);
        watch.begin(index);
        try {
            DeviceIo.write(segments.file(slot), memory, segments.offset(slot));
        } catch (IOException e) {
            table.failed(slot);
            writeFailed(e);
            return SsdOutcome.FAILED;
        } finally {
            watch.end(index);
        }
        boolean waits = ticket.waitsForSync();
        SsdOutcome refusal =
                committer.stored(slot, generation, crc, segments.segment(slot), failures, waits ? ticket : null);
        if (refusal != null) {
            return refusal;
        }
        stored.increment();
        return waits ? null : SsdOutcome.STORED;
    }

    // ---------------------------------------------------------------------------------------------------- faults

    private final class CommitTarget implements Committer.Segments {
        @Override
        public void sync(BitSet dirty) throws IOException {
            watch.begin(watch.committer());
            try {
                segments.sync(dirty);
            } finally {
                watch.end(watch.committer());
            }
        }

        @Override
        public void commitFailed(IOException failure) {
            writeFailed(failure);
        }

        @Override
        public void defect(Throwable cause) {
            LOG.error("defect in the SSD store", cause);
            disable("defect: " + cause);
        }

        @Override
        public void committed() {
            writeWorked();
        }
    }

    private void writeFailed(IOException failure) {
        if (health.writeFailed()) {
            synchronized (this) {
                writesPaused = true;
                retryAtNanos = nanoClock.getAsLong() + settings.retryMillis() * 1_000_000L;
                pauseReason = String.valueOf(failure.getMessage());
            }
        }
        logFault("write", failure);
    }

    private synchronized void writeWorked() {
        writesPaused = false;
    }

    /** Whether writes are paused, and it is not time to try one. */
    synchronized boolean writesPaused() {
        return writesPaused && nanoClock.getAsLong() - retryAtNanos < 0;
    }

    /** As {@link #writesPaused}; the one that may try moves the time for all others. */
    private synchronized boolean mayWrite() {
        if (!writesPaused) {
            return true;
        }
        long now = nanoClock.getAsLong();
        if (now - retryAtNanos < 0) {
            return false;
        }
        retryAtNanos = now + settings.retryMillis() * 1_000_000L;
        return true;
    }

    private void disable(String reason) {
        synchronized (this) {
            if (ended != null) {
                return;
            }
            ended = new SsdStatus(SsdStatus.State.DISABLED, reason);
        }
        LOG.error("SSD store in {} is out until it is opened again: {}", settings.path(), reason);
        queue.drain().forEach(ticket -> ticket.endHere(SsdOutcome.DISABLED));
    }

    /** One line in ten seconds; the counters have the rest. */
    private void logFault(String what, IOException failure) {
        long now = nanoClock.getAsLong();
        long last = lastLogNanos.get();
        if (now - last >= LOG_NANOS && lastLogNanos.compareAndSet(last, now)) {
            LOG.warn("SSD store in {}: {} failed: {}", settings.path(), what, failure.toString());
        }
    }

    private void keep() {
        while (true) {
            synchronized (this) {
                if (keeperStops) {
                    return;
                }
                try {
                    wait(KEEPER_MILLIS);
                } catch (InterruptedException e) {
                    return;
                }
            }
            int stalled = watch.stalls(settings.stallMillis() * 1_000_000L);
            // Long stalls of one thread are never many in a minute: what does not come back at all counts by itself.
            boolean out = watch.longest() >= settings.maxErrors();
            for (int i = 0; i < stalled; i++) {
                out |= health.readFailed();
            }
            if (out) {
                disable("operations stall for more than " + settings.stallMillis() + " ms");
            }
        }
    }

    // ----------------------------------------------------------------------------------------------------- state

    /** Why nothing is taken any more: DISABLED or CLOSED; null while it is. */
    @Nullable
    SsdOutcome refusal() {
        SsdStatus end = ended;
        return end == null ? null : end.state() == SsdStatus.State.CLOSED ? SsdOutcome.CLOSED : SsdOutcome.DISABLED;
    }

    /** What is queued when the store is closed is still done, when it is disabled it is not. */
    private @Nullable SsdOutcome refusalOfDevice() {
        SsdStatus end = ended;
        return end != null && end.state() == SsdStatus.State.DISABLED ? SsdOutcome.DISABLED : null;
    }

    SsdStatus status() {
        SsdStatus end = ended;
        if (end != null) {
            return end;
        }
        synchronized (this) {
            if (writesPaused) {
                return new SsdStatus(SsdStatus.State.PAUSED, pauseReason);
            }
        }
        String noRoom = segments.noRoom();
        return noRoom.isEmpty() ? SsdStatus.OPEN : new SsdStatus(SsdStatus.State.NO_ROOM, noRoom);
    }

    /** Ends all threads, after what is queued; false when some are still in the device after {@code millis}, or some seconds more. */
    boolean stop(long millis) {
        synchronized (this) {
            // A store that was taken out stays so for whoever asks why.
            ended = ended == null ? new SsdStatus(SsdStatus.State.CLOSED, "") : ended;
        }
        queue.close();
        Deadline all = Deadline.ofMillis(millis);
        // Threads that stall leave the last commit a quarter of the time.
        boolean over = join(workers, Deadline.ofMillis(millis - millis / 4));
        committer.close();
        scrubber.close();
        synchronized (this) {
            keeperStops = true;
            notifyAll();
        }
        // Counted from here: however late this thread comes, what is stored has its quarter to be committed, and all
        // that others left.
        long least = Math.max(millis / 4, LAST_COMMIT_MILLIS);
        over &= join(others, Deadline.ofMillis(Math.max(all.remainingMillis(), least)));
        queue.drain().forEach(ticket -> ticket.end(SsdOutcome.CLOSED));
        return over;
    }

    /** Waits for the threads that {@link #stop} left in the device, for as long as that takes. */
    void awaitEnd() {
        boolean over = false;
        while (!over) {
            Deadline patience = Deadline.ofMillis(PATIENCE_MILLIS);
            over = join(workers, patience) && join(others, patience);
        }
    }

    /** Whether all have ended by the deadline. An interrupt ends no wait: files would be closed under what is being written. */
    private static boolean join(List<Thread> threads, Deadline deadline) {
        boolean interrupted = Thread.interrupted();
        for (Thread thread : threads) {
            while (thread.isAlive() && !deadline.expired()) {
                try {
                    thread.join(Math.max(1, deadline.remainingMillis()));
                } catch (InterruptedException e) {
                    interrupted = true;
                }
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
        return threads.stream().noneMatch(Thread::isAlive);
    }
}
