// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory.ssd;

import io.mooncake.memory.ssd.SsdDevice.SsdFile;
import java.io.IOException;
import java.util.BitSet;
import java.util.concurrent.atomic.AtomicReferenceArray;
import java.util.function.LongSupplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The files that hold the records. They are made one by one as slots are needed, each allocated whole, so that a disk that fills up is met
 * here and never in the middle of a write.
 */
final class SegmentFiles implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(SegmentFiles.class);

    private final SsdDevice device;
    private final SsdSettings settings;
    private final SlotTable table;
    private final IoWatch watch;
    private final LongSupplier nanoClock;
    private final int segmentSlots;
    private final AtomicReferenceArray<SsdFile> files;
    // Guarded by this.
    private int made;
    private boolean refused;
    private long retryAtNanos;
    private volatile String noRoom = "";
    private volatile boolean making;
    // Guarded by this.
    private boolean closed;

    SegmentFiles(
            SsdDevice device,
            SsdSettings settings,
            int segmentSlots,
            SlotTable table,
            IoWatch watch,
            LongSupplier nanoClock) {
        this.device = device;
        this.settings = settings;
        this.table = table;
        this.watch = watch;
        this.nanoClock = nanoClock;
        this.segmentSlots = segmentSlots;
        files = new AtomicReferenceArray<>((settings.slots() + segmentSlots - 1) / segmentSlots);
    }

    /** Opens the files that recovered records are in, and deletes those that hold none. */
    void recover() throws IOException {
        for (String name : device.names()) {
            int segment = number(name);
            if (segment >= files.length()) {
                // The capacity was larger.
                device.delete(name);
            }
        }
        for (int segment = 0; segment < files.length(); segment++) {
            recover(segment, device.names().contains(RecordDescriptor.segment(segment)));
        }
    }

    private void recover(int segment, boolean there) throws IOException {
        int from = segment * segmentSlots;
        int to = Math.min(settings.slots(), from + segmentSlots);
        if (!there) {
            table.recoverLoss(from, to);
            return;
        }
        SsdFile file = device.open(RecordDescriptor.segment(segment));
        int slots = (int) Math.min(to - from, file.bytes() / settings.recordBytes());
        table.recoverLoss(from + slots, to);
        if (slots < to - from && table.none(from, to)) {
            // Its making was cut short, or the capacity was smaller: made anew when it is needed.
            file.close();
            device.delete(RecordDescriptor.segment(segment));
            return;
        }
        files.set(segment, file);
        made++;
        table.openSlots(from, from + slots);
    }

    private static int number(String name) {
        String prefix = RecordDescriptor.segment(0)
                .substring(0, RecordDescriptor.segment(0).length() - 1);
        String digits = name.startsWith(prefix) ? name.substring(prefix.length()) : "";
        return digits.matches("[0-9]{1,9}") ? Integer.parseInt(digits) : -1;
    }

    /** Makes one more file unless slots are free; false when none can be made now. */
    synchronized boolean grow() {
        return table.freeCount() > 0 || make();
    }

    /** Makes the file that was refused, if it is time to try again. */
    void retry() {
        if (!noRoom.isEmpty()) {
            synchronized (this) {
                if (refused) {
                    make();
                }
            }
        }
    }

    /** Whether somebody is making a file. A device that stalls holds it, and whoever closes this meanwhile. */
    boolean busy() {
        return making;
    }

    private boolean make() {
        making = true;
        try {
            return makeNext();
        } finally {
            making = false;
        }
    }

    private boolean makeNext() {
        // After the close the folder may be another one's.
        if (closed || made == files.length() || (refused && nanoClock.getAsLong() - retryAtNanos < 0)) {
            return false;
        }
        int segment = 0;
        while (files.get(segment) != null) {
            segment++;
        }
        int from = segment * segmentSlots;
        int slots = Math.min(settings.slots() - from, segmentSlots);
        long bytes = (long) slots * settings.recordBytes();
        watch.begin(watch.growth());
        try {
            if (!device.hasRoom(bytes)) {
                refuse("no room for " + bytes + " more bytes below " + settings.maxUsePercent()
                        + " % of the file system");
                return false;
            }
            files.set(segment, device.create(RecordDescriptor.segment(segment), bytes));
        } catch (IOException e) {
            refuse(String.valueOf(e.getMessage()));
            return false;
        } finally {
            watch.end(watch.growth());
        }
        made++;
        refused = false;
        noRoom = "";
        table.openSlots(from, from + slots);
        return true;
    }

    private void refuse(String reason) {
        if (!refused) {
            LOG.warn("SSD store in {} does not grow: {}; it is tried again", settings.path(), reason);
        }
        refused = true;
        noRoom = reason;
        retryAtNanos = nanoClock.getAsLong() + settings.retryMillis() * 1_000_000L;
    }

    /** Why the store could not grow when it was tried last; empty when it could. */
    String noRoom() {
        return noRoom;
    }

    int segment(int slot) {
        return slot / segmentSlots;
    }

    /** Offset of a slot in its file. */
    long offset(int slot) {
        return (long) (slot % segmentSlots) * settings.recordBytes();
    }

    SsdFile file(int slot) throws IOException {
        SsdFile file = files.get(segment(slot));
        if (file == null) {
            throw new IOException("no segment for slot " + slot);
        }
        return file;
    }

    /** Syncs the files in {@code dirty}. */
    void sync(BitSet dirty) throws IOException {
        for (int segment = dirty.nextSetBit(0); segment >= 0; segment = dirty.nextSetBit(segment + 1)) {
            SsdFile file = files.get(segment);
            if (file != null) {
                file.sync();
            }
        }
    }

    /** Makes no more files. After a file that is being made. */
    @Override
    public synchronized void close() {
        closed = true;
        for (int segment = 0; segment < files.length(); segment++) {
            SsdFile file = files.get(segment);
            if (file != null) {
                file.close();
            }
        }
    }
}
