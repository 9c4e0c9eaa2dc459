// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory.ssd;

import io.mooncake.base.Deadline;
import io.mooncake.base.MooncakeException;
import io.mooncake.base.MooncakeException.Code;
import io.mooncake.memory.BlockKey;
import java.io.IOException;
import java.security.SecureRandom;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Blocks of one identity on an SSD. Records have one length and lie in preallocated segment files; they are written and read by direct I/O
 * from and to the caller's memory, behind a bounded queue, by several threads. A journaled index finds them again after a restart.
 *
 * <p>What it promises: bytes that are {@link SsdOutcome#LOADED} are those that were stored under the key, by a checksum over identity, key,
 * generation, length, place and bytes; whatever does not give it is a miss and is taken out. What was reported {@link SsdOutcome#SYNCED}
 * is found again after a power cut, unless it was removed or the device lost it. Nothing a device does is an error of the caller's: the
 * outcome says what happened.
 *
 * <p>Shapes: keys name their bytes, so a key that is there is not written again. Memory is page-aligned and {@code recordBytes} long.
 *
 * <p>Ownership: the caller owes a {@link #close()}. Memory named in {@link #put} and {@link #load} belongs to the operation until the ticket is
 * not {@link SsdTicket#busy() busy} any more. Threading: safe for all threads. Each operation ends its ticket exactly once; a stalled
 * device ends it late, never never: the wait has the caller's deadline.
 */
public final class SsdStore implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(SsdStore.class);

    private final SsdSettings settings;
    private final SsdDevice device;
    private final SlotTable table;
    private final IndexJournal journal;
    private final SegmentFiles segments;
    private final StoreEngine engine;
    private final long recovered;
    private final long recoveryNanos;
    private final LongAdder misses = new LongAdder();
    private final LongAdder removed = new LongAdder();
    private final LongAdder busy = new LongAdder();
    private final LongAdder pausedPuts = new LongAdder();
    private boolean closed;

    private SsdStore(
            SsdSettings settings,
            SsdDevice device,
            SlotTable table,
            IndexJournal journal,
            SegmentFiles segments,
            StoreEngine engine,
            long recoveryNanos) {
        this.settings = settings;
        this.device = device;
        this.table = table;
        this.journal = journal;
        this.segments = segments;
        this.engine = engine;
        this.recovered = table.live();
        this.recoveryNanos = recoveryNanos;
    }

    /**
     * Opens the store, with what is there.
     *
     * @throws MooncakeException CONFIGURATION when the path is missing, can't be written, is open elsewhere, or holds another node's records or
     *     records of another length; CORRUPT when the device fails to read the index
     */
    public static SsdStore open(SsdSettings settings) {
        return open(settings, null);
    }

    /**
     * As {@link #open(SsdSettings)}, and where there is no room for a file more, {@code formers} give theirs.
     *
     * @param formers null: none
     */
    public static SsdStore open(SsdSettings settings, @Nullable FormerStores formers) {
        // The flag would close the files that are read here.
        boolean interrupted = Thread.interrupted();
        try {
            return openOn(settings, FileDevice.open(settings, formers));
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    private static SsdStore openOn(SsdSettings settings, FileDevice device) {
        try {
            return open(settings, device, System::nanoTime, SsdChecks.ALL);
        } catch (RuntimeException e) {
            device.close();
            throw e;
        } catch (OutOfMemoryError e) {
            device.close();
            throw new MooncakeException(
                    Code.EXHAUSTED,
                    "ssd capacity bytes: " + settings.capacityBytes() + ": " + e.getMessage()
                            + " (expected: a Java heap with " + heapBytes(settings.slots()) + " bytes free)",
                    e);
        }
    }

    /** For tests: over any device, by any clock. The device is closed with the store. */
    static SsdStore open(SsdSettings settings, SsdDevice device, LongSupplier nanoClock, SsdChecks checks) {
        long start = System.nanoTime();
        SlotTable table = new SlotTable(settings.slots());
        IoWatch watch = new IoWatch(settings.ioThreads(), nanoClock);
        // Of this thread, then of the committer's alone.
        IndexJournal journal = new IndexJournal(
                new WatchedDevice(device, watch, watch.committer()), settings, new SecureRandom().nextLong());
        SegmentFiles segments = null;
        try {
            journal.recover(table);
            segments = new SegmentFiles(device, settings, journal.segmentSlots(), table, watch, nanoClock);
            segments.recover();
        } catch (IOException e) {
            throw failed(settings, journal, segments, e);
        } catch (RuntimeException e) {
            journal.close();
            throw e;
        }
        StoreEngine engine = new StoreEngine(settings, table, journal, segments, watch, nanoClock, checks);
        SsdStore store = new SsdStore(settings, device, table, journal, segments, engine, System.nanoTime() - start);
        engine.start();
        LOG.info(
                "SSD store in {}: {} records found in {} ms, room for {} of {} bytes, {}",
                settings.path(),
                store.recovered,
                store.recoveryNanos / 1_000_000,
                settings.slots(),
                settings.recordBytes(),
                device.direct() ? "direct I/O" : "through the page cache");
        return store;
    }

    private static MooncakeException failed(
            SsdSettings settings, IndexJournal journal, @Nullable SegmentFiles segments, IOException cause) {
        journal.close();
        if (segments != null) {
            segments.close();
        }
        return new MooncakeException(
                Code.CORRUPT,
                "ssd path: " + settings.path() + ": " + cause.getMessage() + " (expected: a device that reads)",
                cause);
    }

    /** Bytes of the Java heap that the index of a store with {@code slots} places takes, all of it once it is open, empty or not. */
    public static long heapBytes(int slots) {
        return SlotTable.heapBytes(slots) + Committer.heapBytes(slots);
    }

    // ------------------------------------------------------------------------------------------------ operations

    /**
     * Starts writing a record; refused as BUSY when the queue is full, or a record of the key is being written. Where one is there it is PRESENT:
     * for a ticket that waits until it is synced, once that one is.
     *
     * @param address of {@code recordBytes} bytes, page-aligned, that do not change before the ticket's end
     * @param ticket ends as STORED or SYNCED, PRESENT, BUSY, FULL, REMOVED, FAILED, PAUSED, DISABLED or CLOSED; maybe before this returns
     */
    public void put(BlockKey key, long address, SsdTicket ticket) {
        start(true, key, address, 0, ticket, null);
    }

    /** As {@link #put(BlockKey, long, SsdTicket)}, waiting until {@code deadline} for a place in the queue. */
    public void put(BlockKey key, long address, SsdTicket ticket, Deadline deadline) {
        start(true, key, address, 0, ticket, deadline);
    }

    /**
     * Starts reading a record; refused as BUSY when the queue is full.
     *
     * @param address of {@code recordBytes} bytes, page-aligned; they hold rubbish unless the outcome is LOADED
     * @param ticket ends as LOADED, MISS, DAMAGED, BUSY, FAILED, DISABLED or CLOSED; maybe before this returns
     */
    public void load(BlockKey key, long address, SsdTicket ticket) {
        start(false, key, address, 0, ticket, null);
    }

    /** As {@link #load(BlockKey, long, SsdTicket)}, waiting until {@code deadline} for a place in the queue. */
    public void load(BlockKey key, long address, SsdTicket ticket, Deadline deadline) {
        start(false, key, address, 0, ticket, deadline);
    }

    private void start(
            boolean write, BlockKey key, long address, int peekBytes, SsdTicket ticket, @Nullable Deadline deadline) {
        if (address == 0 || address % SsdSettings.ALIGNMENT != 0) {
            throw MooncakeException.invalid("ssd record address", address, "a multiple of " + SsdSettings.ALIGNMENT);
        }
        ticket.begin(write, key, address, peekBytes);
        SsdOutcome early = early(write, key, ticket);
        if (early == SsdOutcome.PENDING) {
            // It waits for the commit of the record there is, and may be over.
            return;
        }
        if (early == null && !engine.queue().offer(ticket, deadline)) {
            early = engine.refusal();
            early = early == null ? SsdOutcome.BUSY : early;
        }
        if (early != null) {
            count(early);
            ticket.end(early);
        }
    }

    /** What can be said without asking the device. */
    private @Nullable SsdOutcome early(boolean write, BlockKey key, SsdTicket ticket) {
        SsdOutcome refusal = engine.refusal();
        if (refusal != null) {
            return refusal;
        }
        if (!write) {
            return table.readable(key) ? null : SsdOutcome.MISS;
        }
        SsdOutcome standing = table.known(key) ? engine.committer().standing(key, ticket) : null;
        if (standing != null) {
            return standing;
        }
        return engine.writesPaused() ? SsdOutcome.PAUSED : null;
    }

    private void count(SsdOutcome early) {
        switch (early) {
            case MISS -> misses.increment();
            case BUSY -> busy.increment();
            case PAUSED -> pausedPuts.increment();
            case PENDING, STORED, SYNCED, PRESENT, LOADED, DAMAGED, FULL, REMOVED, FAILED, DISABLED, CLOSED -> {}
        }
    }

    /**
     * Takes a record out; whether there was one. Its slot is free once that is durable, with the next commit. A write of the key that has not
     * been begun is not stopped.
     */
    public boolean remove(BlockKey key) {
        int slot = table.remove(key);
        if (slot >= 0) {
            engine.committer().removed(slot);
        }
        if (slot != SlotTable.NONE) {
            removed.increment();
        }
        return slot != SlotTable.NONE;
    }

    /** Whether a record of {@code key} can be read. No I/O, no allocation. */
    public boolean contains(BlockKey key) {
        return engine.refusal() == null && table.readable(key);
    }

    /**
     * Starts reading the first bytes of a record. They are not verified: the checksum is over the whole record.
     *
     * @param address of {@code bytes} bytes, page-aligned; the device's until the ticket is not busy any more
     * @param bytes a multiple of {@link SsdSettings#ALIGNMENT}, at most {@link #recordBytes()}
     * @param ticket ends as LOADED, MISS, BUSY, FAILED, DISABLED or CLOSED; maybe before this returns
     * @param deadline until which it waits for a place in the queue
     */
    public void peek(BlockKey key, long address, int bytes, SsdTicket ticket, Deadline deadline) {
        if (bytes <= 0 || bytes > settings.recordBytes() || bytes % SsdSettings.ALIGNMENT != 0) {
            throw MooncakeException.invalid(
                    "ssd bytes to peek at", bytes, "a multiple of 4096 up to " + settings.recordBytes());
        }
        start(false, key, address, bytes, ticket, deadline);
    }

    /** As {@link #peek(BlockKey, long, int, SsdTicket, Deadline)}, and waits for the end, interrupted or not; BUSY after {@code stallMillis}. */
    public SsdOutcome peek(BlockKey key, long address, int bytes) {
        SsdTicket ticket = new SsdTicket();
        // A channel closes itself when the thread that reads is interrupted, so callers read nothing by themselves.
        boolean interrupted = Thread.interrupted();
        try {
            peek(key, address, bytes, ticket, Deadline.ofMillis(settings.stallMillis()));
            while (ticket.busy()) {
                ticket.await(Deadline.ofMillis(settings.stallMillis()));
                interrupted |= Thread.interrupted();
            }
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
        return ticket.outcome();
    }

    /** Whether a {@link #put} would get as far as the device: neither out, nor between two tries of writes that fail. No I/O. */
    public boolean takesWrites() {
        return engine.refusal() == null && !engine.writesPaused();
    }

    /** Records for which there is room, files that are not made yet included. */
    public int slots() {
        return settings.slots();
    }

    /** As {@link #slots()}, without those of files for which the device had no room when it was asked last. */
    public int slotsNow() {
        return segments.noRoom().isEmpty() ? settings.slots() : table.opened();
    }

    /**
     * Looks whether there is room by now, where the device had none when it was asked last; a put does the same once no slot is free. Waits for
     * the device.
     */
    public void retryRoom() {
        segments.retry();
    }

    /** Records that are there or being written; not those removed whose slots are not free yet. */
    public int taken() {
        return table.taken();
    }

    /** Calls {@code visitor} for each record that can be read; those that come or go meanwhile may be missing or there. Without a lock. */
    public void forEach(Visitor visitor) {
        for (int slot = 0; slot < settings.slots(); slot++) {
            BlockKey key = table.pinSlot(slot);
            if (key != null) {
                try {
                    visitor.record(key, table.generation(slot));
                } finally {
                    table.unpin(slot);
                }
            }
        }
    }

    /** Sees the records of a store. */
    @FunctionalInterface
    public interface Visitor {
        /** One record. */
        void record(BlockKey key, long generation);
    }

    /** Waits until all that was put and removed before is durable, or has failed; false when the deadline passed before. */
    public boolean flush(Deadline deadline) {
        return engine.queue().awaitWrites(deadline) && engine.committer().flush(deadline);
    }

    /**
     * Reads all records and the index as the device has them, takes damaged records out and writes a damaged index anew.
     *
     * @return damaged records and pages found, or -1 when the deadline passed, or the caller was interrupted, before all were read
     */
    public int scrub(Deadline deadline) {
        int records = engine.scrubber().pass(deadline);
        int pages = records < 0 ? -1 : engine.committer().check(deadline);
        return records < 0 || pages < 0 ? -1 : records + pages;
    }

    // ------------------------------------------------------------------------------------------------------ state

    /** What it does at the moment. */
    public SsdStatus status() {
        return engine.status();
    }

    /** Whether I/O goes past the page cache. */
    public boolean directIo() {
        return device.direct();
    }

    /** Length of a record. */
    public int recordBytes() {
        return settings.recordBytes();
    }

    /** Counters. */
    public SsdStatistics statistics() {
        return new SsdStatistics(
                table.live(),
                table.opened(),
                settings.slots(),
                engine.stored.sum(),
                engine.loaded.sum(),
                misses.sum() + engine.misses.sum(),
                removed.sum(),
                engine.health().damaged.sum(),
                engine.committer().damagedPages(),
                engine.health().readErrors.sum(),
                engine.health().writeErrors.sum(),
                busy.sum(),
                engine.full.sum(),
                pausedPuts.sum() + engine.paused.sum(),
                engine.committer().commits.sum(),
                engine.committer().checkpoints.sum(),
                engine.scrubber().scrubbed(),
                recovered,
                recoveryNanos);
    }

    /**
     * Ends what is queued, makes it durable and closes the files. Waits {@code stallMillis}, and three seconds at most for the last commit,
     * for a device that stalls, interrupted or not, and leaves the files open to it until it answers. Idempotent.
     */
    @Override
    public synchronized void close() {
        if (closed) {
            return;
        }
        closed = true;
        if (engine.stop(settings.stallMillis()) && !segments.busy()) {
            closeFiles();
            return;
        }
        // Closing a file waits for the operations on it.
        LOG.warn(
                "SSD store in {}: the device still holds an operation, with {} ms to answer; its files stay open, and the folder locked,"
                        + " until it answers",
                settings.path(),
                settings.stallMillis());
        Thread late = new Thread(
                () -> {
                    engine.awaitEnd();
                    closeFiles();
                },
                "mooncake-ssd-late-close");
        late.setDaemon(true);
        late.start();
    }

    private void closeFiles() {
        segments.close();
        journal.close();
        device.close();
    }
}
