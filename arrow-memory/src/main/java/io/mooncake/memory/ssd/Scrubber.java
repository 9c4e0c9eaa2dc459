// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory.ssd;

import io.mooncake.base.Deadline;
import io.mooncake.memory.BlockKey;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.concurrent.atomic.LongAdder;

/** Reads record after record as the device has it, at a limited rate, and takes out what is damaged, before anybody asks for it. */
final class Scrubber implements Runnable {
    private static final long PAUSE_MILLIS = 100;
    private static final int SLOTS_A_PAUSE = 4096;

    private final SsdSettings settings;
    private final StoreEngine engine;
    private final SlotTable table;
    private final int watchIndex;
    private final LongAdder scrubbed = new LongAdder();
    private final ByteBuffer buffer;
    private final RecordDescriptor descriptor;
    // Guarded by this.
    private boolean closed;
    /** Passes asked for, and up to which of them they are over: one pass serves all who asked before it began. */
    private long asked;

    private long finished;
    private int waiters;
    private int result;

    Scrubber(SsdSettings settings, StoreEngine engine, SlotTable table, int watchIndex) {
        this.settings = settings;
        this.engine = engine;
        this.table = table;
        this.watchIndex = watchIndex;
        buffer = IndexDescriptor.aligned(settings.recordBytes());
        descriptor = new RecordDescriptor(settings.identityDigest(), settings.recordBytes());
    }

    long scrubbed() {
        return scrubbed.sum();
    }

    @Override
    public void run() {
        long rate = settings.scrubBytesPerSecond();
        // Without a rate only what is asked for.
        long pauseMillis = rate == 0 ? 0 : Math.max(PAUSE_MILLIS, settings.recordBytes() * 1000L / rate);
        long records = rate == 0 ? 0 : Math.max(1, rate * pauseMillis / 1000 / settings.recordBytes());
        int slot = 0;
        while (!sleep(pauseMillis)) {
            if (wanted()) {
                passNow();
            }
            long until = scrubbed.sum() + records;
            for (int looked = 0; looked < SLOTS_A_PAUSE && scrubbed.sum() < until && table.live() > 0; looked++) {
                check(slot);
                slot = (slot + 1) % settings.slots();
            }
        }
    }

    /** Waits for the next turn, 0: until a pass is wanted; whether it was closed. */
    private synchronized boolean sleep(long millis) {
        if (!closed && !wanted()) {
            try {
                wait(millis);
            } catch (InterruptedException e) {
                closed = true;
            }
        }
        return closed;
    }

    private synchronized boolean wanted() {
        return waiters > 0 && finished < asked;
    }

    private synchronized boolean givenUp() {
        return closed || waiters == 0;
    }

    synchronized void close() {
        closed = true;
        notifyAll();
    }

    /**
     * Has all slots read now, by the scrubber's thread: a device that stalls holds that, and not the caller; and no interrupt of the caller's
     * closes a file. How many records were damaged, or -1 when the deadline passed before.
     */
    synchronized int pass(Deadline deadline) {
        long mine = ++asked;
        waiters++;
        notifyAll();
        try {
            while (finished < mine) {
                long millis = deadline.remainingMillis();
                if (millis == 0 || closed) {
                    return -1;
                }
                wait(millis);
            }
            return result;
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return -1;
        } finally {
            waiters--;
        }
    }

    private void passNow() {
        long serves;
        synchronized (this) {
            serves = asked;
        }
        int damaged = 0;
        for (int slot = 0; slot < settings.slots(); slot++) {
            if (givenUp()) {
                return;
            }
            damaged += check(slot) ? 1 : 0;
        }
        synchronized (this) {
            finished = serves;
            result = damaged;
            notifyAll();
        }
    }

    /** Whether the record in {@code slot} was damaged, and so is out. */
    private boolean check(int slot) {
        BlockKey key = table.pinSlot(slot);
        if (key == null) {
            return false;
        }
        try {
            buffer.clear();
            boolean damaged = engine.read(slot, key, buffer, descriptor, watchIndex) == SsdOutcome.DAMAGED;
            scrubbed.increment();
            return damaged;
        } catch (IOException e) {
            return false;
        } finally {
            table.unpin(slot);
        }
    }
}
