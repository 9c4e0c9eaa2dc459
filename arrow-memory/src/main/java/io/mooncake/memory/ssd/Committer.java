// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory.ssd;

import io.mooncake.base.Deadline;
import io.mooncake.memory.BlockKey;
import java.io.IOException;
import java.util.Arrays;
import java.util.BitSet;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Makes records and removals durable, many at a time, on a thread of its own: syncs the segments that were written to, then writes the
 * entries to the journal, syncs that, and only then says so and frees the slots of what was removed. So an entry that survives a power cut is
 * of a record that did.
 *
 * <p>After a failure it is not known what the device has. The records of that commit are taken out and reported as failed, and the index is
 * written anew into the other file, at once and then every {@code retryMillis}, until that works.
 */
final class Committer implements Runnable {
    /** What a commit needs of the store. */
    interface Segments {
        /** Syncs the segments in {@code dirty}. */
        void sync(BitSet dirty) throws IOException;

        /** A sync or a write of the index failed. */
        void commitFailed(IOException failure);

        /** Something that must not happen did. */
        void defect(Throwable cause);

        /** One worked. */
        void committed();
    }

    private final SlotTable table;
    private final IndexJournal journal;
    private final Segments segments;
    private final LongSupplier nanoClock;
    private final long intervalNanos;
    private final long retryNanos;
    final LongAdder commits = new LongAdder();
    final LongAdder checkpoints = new LongAdder();
    private volatile long damagedPages;

    // Guarded by this.
    private int[] waiting = new int[64];
    private int waitingCount;
    private BitSet dirty = new BitSet();
    private long asked;
    private long finished;
    private boolean hurry;
    private boolean closed;
    /** Nothing queued from now on is looked at. */
    private boolean ended;

    /** Commits that failed: what was written before one may have been dropped by it. */
    private long failures;

    private boolean checkWanted;
    private int checkResult;
    private long checks;

    /** Who waits for the sync of what is in a slot, a list each; and the slots whose commit is not over. */
    private final @Nullable SsdTicket[] tickets;

    private final BitSet uncommitted = new BitSet();

    // Of its own thread.

    private int[] group = new int[64];
    private int groupCount;
    private BitSet groupDirty = new BitSet();
    private int[] retained = new int[64];
    private int retainedCount;
    private boolean broken;
    private long lastNanos;
    private long retryAtNanos;

    Committer(SlotTable table, IndexJournal journal, Segments segments, SsdSettings settings, LongSupplier nanoClock) {
        this.table = table;
        this.journal = journal;
        this.segments = segments;
        this.nanoClock = nanoClock;
        tickets = new SsdTicket[settings.slots()];
        intervalNanos = settings.commitMillis() * 1_000_000L;
        retryNanos = settings.retryMillis() * 1_000_000L;
        lastNanos = nanoClock.getAsLong() - intervalNanos;
        damagedPages = journal.damagedPages();
        // A damaged index is written anew at once, while what was in it is known: the next damage may hit what stood in
        // for it.
        broken = damagedPages > 0;
        retryAtNanos = lastNanos;
    }

    /** Bytes of what it has for each slot: a reference, at most eight bytes, and a bit. */
    static long heapBytes(int slots) {
        return (long) Long.BYTES * slots + slots / Byte.SIZE;
    }

    // -------------------------------------------------------------------------------------------------- from others

    /** Commits that have failed so far: asked for before a record is written, and given to {@link #stored}. */
    synchronized long failures() {
        return failures;
    }

    /**
     * The record in {@code slot} was written to {@code segment}: it can be read from now on; {@code ticket}, if any, waits for its sync. Who
     * removes it after it can be read is queued behind it, because both happen under this lock.
     *
     * @param failuresBefore {@link #failures()} before it was written: after a failed sync the device may have dropped it, and the next sync
     *     says nothing of it
     * @return null, or why it is not in, its slot free again: REMOVED meanwhile, FAILED, or CLOSED
     */
    @Nullable
    synchronized SsdOutcome stored(
            int slot, long generation, int crc, int segment, long failuresBefore, @Nullable SsdTicket ticket) {
        if (ended || failures != failuresBefore) {
            table.failed(slot);
            return ended ? SsdOutcome.CLOSED : SsdOutcome.FAILED;
        }
        tickets[slot] = ticket;
        if (!table.stored(slot, generation, crc)) {
            tickets[slot] = null;
            return SsdOutcome.REMOVED;
        }
        dirty.set(segment);
        uncommitted.set(slot);
        enqueue(slot << 1);
        return null;
    }

    /**
     * What becomes of a write of {@code key} without one: null when no record stands for it; BUSY when one is being written, which may fail or
     * be removed; PENDING when {@code ticket} ends with the commit of the one that can be read; else PRESENT.
     */
    @Nullable
    synchronized SsdOutcome standing(BlockKey key, SsdTicket ticket) {
        int slot = table.standing(key);
        if (slot == SlotTable.NONE) {
            return null;
        }
        if (slot == SlotTable.UNDER_WAY) {
            return SsdOutcome.BUSY;
        }
        if (!ticket.waitsForSync() || !uncommitted.get(slot)) {
            return SsdOutcome.PRESENT;
        }
        ticket.joined = true;
        ticket.next = tickets[slot];
        tickets[slot] = ticket;
        return SsdOutcome.PENDING;
    }

    /** The record in {@code slot} was taken out. */
    synchronized void removed(int slot) {
        enqueue(slot << 1 | 1);
    }

    private void enqueue(int operation) {
        if (waitingCount == waiting.length) {
            waiting = Arrays.copyOf(waiting, 2 * waitingCount);
        }
        waiting[waitingCount++] = operation;
        asked++;
        notifyAll();
    }

    /** Waits until everything queued before is over, durable or failed; false when the deadline passed. */
    synchronized boolean flush(Deadline deadline) {
        long target = asked;
        hurry = true;
        notifyAll();
        while (finished < target) {
            if (!sleep(deadline)) {
                return false;
            }
        }
        return true;
    }

    /** Checks the pages of the index as the device has them and repairs them; how many were damaged, or -1 when the deadline passed. */
    synchronized int check(Deadline deadline) {
        long before = checks;
        checkWanted = true;
        notifyAll();
        while (checks == before) {
            if (!sleep(deadline)) {
                return -1;
            }
        }
        return checkResult;
    }

    private boolean sleep(Deadline deadline) {
        long millis = deadline.remainingMillis();
        if (millis == 0 || closed) {
            return false;
        }
        try {
            wait(millis);
            return true;
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return false;
        }
    }

    /** Ends the thread after one more commit of what is queued. */
    synchronized void close() {
        closed = true;
        notifyAll();
    }

    /** Damaged pages of the index found so far. */
    long damagedPages() {
        return damagedPages;
    }

    // ------------------------------------------------------------------------------------------------- its own thread

    @Override
    public void run() {
        boolean last = false;
        while (!last) {
            last = awaitWork();
            try {
                turn();
            } catch (RuntimeException | Error e) {
                segments.defect(e);
                failed(new IOException(e));
                retryAtNanos = nanoClock.getAsLong() + retryNanos;
            }
        }
    }

    private void turn() {
        if (broken) {
            repair();
        }
        if (!broken && groupCount > 0) {
            commit();
        }
        if (takeCheck()) {
            checkIndex();
        }
    }

    /** Waits for something to do and takes what is queued; true when this is the last time. */
    private synchronized boolean awaitWork() {
        while (!closed && !checkWanted) {
            long now = nanoClock.getAsLong();
            long pause = Long.MAX_VALUE;
            if (broken) {
                pause = retryAtNanos - now;
            } else if (waitingCount > 0) {
                pause = hurry ? 0 : lastNanos + intervalNanos - now;
            }
            if (pause <= 0) {
                break;
            }
            try {
                wait(pause == Long.MAX_VALUE ? 0 : pause / 1_000_000 + 1);
            } catch (InterruptedException e) {
                // Nobody interrupts this thread; if somebody does, it ends.
                closed = true;
            }
        }
        int[] spare = group;
        group = waiting;
        groupCount = waitingCount;
        waiting = spare;
        waitingCount = 0;
        BitSet clean = groupDirty;
        clean.clear();
        groupDirty = dirty;
        dirty = clean;
        hurry = false;
        ended = closed;
        return closed;
    }

    private void commit() {
        try {
            if (!groupDirty.isEmpty()) {
                segments.sync(groupDirty);
            }
            if (journal.hasRoom(groupCount)) {
                for (int i = 0; i < groupCount; i++) {
                    addEntry(group[i] >> 1, (group[i] & 1) != 0);
                }
                journal.commit();
                markSynced();
            } else {
                // The snapshot is of synced records; those of this group are on the device by now.
                markSynced();
                checkpoint();
            }
            commits.increment();
            succeeded();
            segments.committed();
        } catch (IOException e) {
            failed(e);
            retryAtNanos = nanoClock.getAsLong();
        }
        lastNanos = nanoClock.getAsLong();
    }

    private void checkpoint() throws IOException {
        journal.checkpoint(table);
        checkpoints.increment();
    }

    private void addEntry(int slot, boolean removal) throws IOException {
        // What was removed before it was committed has its removal further on.
        if (removal || table.state(slot) == SlotTable.STORED) {
            journal.add(
                    table.key(slot),
                    table.generation(slot),
                    slot,
                    table.crc(slot),
                    removal ? IndexDescriptor.ENTRY_REMOVED : IndexDescriptor.ENTRY_STORED);
        }
    }

    private void markSynced() {
        for (int i = 0; i < groupCount; i++) {
            if ((group[i] & 1) == 0) {
                table.synced(group[i] >> 1);
            }
        }
    }

    private void succeeded() {
        for (int i = 0; i < groupCount; i++) {
            int slot = group[i] >> 1;
            if ((group[i] & 1) == 0) {
                end(slot, table.state(slot) == SlotTable.SYNCED ? SsdOutcome.SYNCED : SsdOutcome.REMOVED);
            } else {
                table.removalDurable(slot);
            }
        }
        over();
    }

    /**
     * Takes the group's records out, and those that wait: a failed sync may have dropped what was written before it, whoever asks for the next
     * one. Their slots stay taken until an index without them is durable.
     */
    private void failed(IOException failure) {
        broken = true;
        journal.abort();
        takeWaiting();
        if (retained.length < retainedCount + groupCount) {
            retained = Arrays.copyOf(retained, 2 * (retainedCount + groupCount));
        }
        for (int i = 0; i < groupCount; i++) {
            int slot = group[i] >> 1;
            boolean removal = (group[i] & 1) != 0;
            if (removal || table.removeSlot(slot, table.generation(slot))) {
                retained[retainedCount++] = slot;
            }
            if (!removal) {
                end(slot, SsdOutcome.FAILED);
            }
        }
        over();
        segments.commitFailed(failure);
    }

    /** Adds what is queued to the group; what is being written now is refused by {@link #stored}. */
    private synchronized void takeWaiting() {
        failures++;
        if (group.length < groupCount + waitingCount) {
            group = Arrays.copyOf(group, 2 * (groupCount + waitingCount));
        }
        System.arraycopy(waiting, 0, group, groupCount, waitingCount);
        groupCount += waitingCount;
        waitingCount = 0;
        dirty.clear();
    }

    private void end(int slot, SsdOutcome outcome) {
        SsdTicket ticket;
        synchronized (this) {
            ticket = tickets[slot];
            tickets[slot] = null;
            uncommitted.clear(slot);
        }
        while (ticket != null) {
            SsdTicket next = ticket.next;
            ticket.next = null;
            ticket.endHere(ticket.joined && outcome == SsdOutcome.SYNCED ? SsdOutcome.PRESENT : outcome);
            ticket = next;
        }
    }

    private void over() {
        synchronized (this) {
            finished += groupCount;
            notifyAll();
        }
        groupCount = 0;
    }

    private void repair() {
        try {
            checkpoint();
            for (int i = 0; i < retainedCount; i++) {
                table.removalDurable(retained[i]);
            }
            retainedCount = 0;
            broken = false;
            segments.committed();
        } catch (IOException e) {
            failed(e);
            retryAtNanos = nanoClock.getAsLong() + retryNanos;
        }
    }

    private synchronized boolean takeCheck() {
        boolean wanted = checkWanted;
        checkWanted = false;
        return wanted;
    }

    private void checkIndex() {
        int damaged = 0;
        try {
            damaged = broken ? 0 : journal.check();
            if (damaged > 0) {
                // All of it is in memory still.
                checkpoint();
            }
        } catch (IOException e) {
            failed(e);
            retryAtNanos = nanoClock.getAsLong();
        }
        damagedPages = journal.damagedPages();
        synchronized (this) {
            checkResult = damaged;
            checks++;
            notifyAll();
        }
    }
}
