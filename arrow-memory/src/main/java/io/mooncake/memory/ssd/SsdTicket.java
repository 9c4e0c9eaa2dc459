// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory.ssd;

import io.mooncake.base.Deadline;
import io.mooncake.base.MooncakeException;
import io.mooncake.base.MooncakeException.Code;
import io.mooncake.memory.BlockKey;
import java.util.ArrayDeque;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One operation under way, and where its end is waited for. Made once and used for one operation after the other, so that the data plane
 * allocates none.
 *
 * <p>Ownership: from the call until {@link #busy()} is false the memory named in the call belongs to the operation, whoever gave up waiting:
 * a device that stalls may still write into it. Threading: one thread starts operations; all may wait.
 */
public class SsdTicket {
    /** When a write is over. */
    public enum Until {
        /** As soon as it can be read: {@link SsdOutcome#STORED}. */
        STORED,
        /** When it survives a power cut: {@link SsdOutcome#SYNCED}. */
        SYNCED
    }

    private static final Logger LOG = LoggerFactory.getLogger(SsdTicket.class);

    private final Until until;
    private volatile SsdOutcome outcome = SsdOutcome.PENDING;
    private volatile boolean busy;

    /** Outcomes whose callback is to come, and whether a thread is at it: it calls those that come meanwhile. Guarded by this. */
    private final ArrayDeque<SsdOutcome> untold = new ArrayDeque<>(2);

    private boolean telling;

    // Set by the store under its queue's lock before the operation is seen by an I/O thread.
    boolean write;

    @Nullable
    BlockKey key;

    long address;

    /** Whether the record was there already, and only its commit is waited for. */
    boolean joined;

    /** Who waits for the same commit; of the committer's. */
    @Nullable
    SsdTicket next;

    /** Bytes of a read that is not verified; 0: the whole record. */
    int peekBytes;

    /** For reads, and for writes that are over when they are stored. */
    public SsdTicket() {
        this(Until.STORED);
    }

    /** @param until when writes are over */
    public SsdTicket(Until until) {
        this.until = until;
    }

    /** The outcome of the last operation; PENDING while {@link #busy()}. */
    public final SsdOutcome outcome() {
        return outcome;
    }

    /** Whether the operation, and so the memory, is in use. */
    public final boolean busy() {
        return busy;
    }

    /** Waits for the end of the operation; PENDING when the deadline passed before. */
    public final SsdOutcome await(Deadline deadline) {
        synchronized (this) {
            while (busy) {
                long millis = deadline.remainingMillis();
                if (millis == 0) {
                    return SsdOutcome.PENDING;
                }
                try {
                    wait(millis);
                } catch (InterruptedException e) {
                    Thread.currentThread().interrupt();
                    return outcome;
                }
            }
            return outcome;
        }
    }

    /**
     * Called once when an operation is over, by an I/O thread or by the one that asked; the ticket may be used again from within. Never within
     * itself, and never twice at a time: what is over meanwhile is told afterwards, by the same thread. Short, and throws nothing.
     */
    protected void done(SsdOutcome how) {}

    final boolean waitsForSync() {
        return until == Until.SYNCED;
    }

    final void begin(boolean writes, BlockKey name, long memory, int bytesToPeek) {
        synchronized (this) {
            if (busy) {
                throw new MooncakeException(
                        Code.ILLEGAL_STATE, "ticket: in use (expected: one whose operation is over)");
            }
            busy = true;
            outcome = SsdOutcome.PENDING;
        }
        joined = false;
        write = writes;
        key = name;
        address = memory;
        peekBytes = bytesToPeek;
    }

    final BlockKey requireKey() {
        BlockKey name = key;
        if (name == null) {
            throw new MooncakeException(Code.INTERNAL, "ticket without a key");
        }
        return name;
    }

    /** As {@link #end}, on a thread of the store's own: a flag that the callback left would close the file that the thread touches next. */
    final void endHere(SsdOutcome how) {
        end(how);
        Thread.interrupted();
    }

    final void end(SsdOutcome how) {
        synchronized (this) {
            outcome = how;
            busy = false;
            untold.add(how);
            notifyAll();
            if (telling) {
                return;
            }
            telling = true;
        }
        for (SsdOutcome next = nextUntold(); next != null; next = nextUntold()) {
            try {
                done(next);
            } catch (RuntimeException | Error e) {
                LOG.error("the callback of an SSD ticket threw", e);
            }
        }
    }

    private synchronized @Nullable SsdOutcome nextUntold() {
        SsdOutcome next = untold.poll();
        telling = next != null;
        return next;
    }
}
