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
        long pauseMillis = Math.max(PAUSE_MILLIS, settings.recordBytes() * 1000L / settings.scrubBytesPerSecond());
        long records = Math.max(1, settings.scrubBytesPerSecond() * pauseMillis / 1000 / settings.recordBytes());
        int slot = 0;
        while (!sleep(pauseMillis)) {
            long until = scrubbed.sum() + records;
            for (int looked = 0; looked < SLOTS_A_PAUSE && scrubbed.sum() < until && table.live() > 0; looked++) {
                check(slot);
                slot = (slot + 1) % settings.slots();
            }
        }
    }

    private synchronized boolean sleep(long millis) {
        if (!closed) {
            try {
                wait(millis);
            } catch (InterruptedException e) {
                closed = true;
            }
        }
        return closed;
    }

    private synchronized boolean closed() {
        return closed;
    }

    synchronized void close() {
        closed = true;
        notifyAll();
    }

    /** Reads all slots now; how many records were damaged, or -1 when the deadline passed before. */
    int pass(Deadline deadline) {
        int damaged = 0;
        for (int slot = 0; slot < settings.slots(); slot++) {
            if (deadline.expired() || closed()) {
                return -1;
            }
            damaged += check(slot) ? 1 : 0;
        }
        return damaged;
    }

    /** Whether the record in {@code slot} was damaged, and so is out. */
    private boolean check(int slot) {
        BlockKey key = table.pinSlot(slot);
        if (key == null) {
            return false;
        }
        try {
            // Two passes at once share the buffer.
            synchronized (buffer) {
                buffer.clear();
                boolean damaged = engine.read(slot, key, buffer, descriptor, watchIndex) == SsdOutcome.DAMAGED;
                scrubbed.increment();
                return damaged;
            }
        } catch (IOException e) {
            return false;
        } finally {
            table.unpin(slot);
        }
    }
}
