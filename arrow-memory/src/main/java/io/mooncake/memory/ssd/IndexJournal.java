// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory.ssd;

import io.mooncake.base.MooncakeException;
import io.mooncake.base.MooncakeException.Code;
import io.mooncake.memory.BlockKey;
import io.mooncake.memory.ssd.IndexDescriptor.Header;
import io.mooncake.memory.ssd.SsdDevice.SsdFile;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedChannelException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The index on the device: two files that take turns, each a snapshot and the commits after it (see {@link IndexDescriptor}). When one is
 * full the other is written anew.
 *
 * <p>Threading: one thread at a time: the one that opens, then the committer.
 */
final class IndexJournal implements AutoCloseable {
    private static final int BUFFER_PAGES = 256;
    private static final int MIN_JOURNAL_PAGES = 256;
    private static final int ATTEMPTS = 3;
    /** Pages that can't be read before it is the device that is broken, and not a few of its sectors. */
    private static final int MAX_UNREADABLE = 64;

    /** Slots that are copied under one lock, and pages that their entries may fill. */
    private static final int SNAPSHOT_SLOTS = 1024;

    private static final int SNAPSHOT_PAGES = SNAPSHOT_SLOTS / IndexDescriptor.ENTRIES + 2;

    private final SsdDevice device;
    private final SsdSettings settings;
    private final @Nullable SsdFile[] files = new SsdFile[2];
    private final long filePages;
    private final ByteBuffer buffer = IndexDescriptor.pages(BUFFER_PAGES);
    private long storeId;
    private int segmentSlots;
    /** Highest epoch ever used, and that of the file that holds. */
    private long epoch;

    private long heldEpoch;
    private int current;
    private long nextPage;
    /** Pages in the buffer that are complete. */
    private int buffered;

    /** Whether one more was begun behind them. */
    private boolean pageBegun;

    private boolean open;

    // What recovery found.
    private long maxGeneration;
    private long damagedPages;
    /** Pages of the present look at the files that can't be read. */
    private int unreadable;

    IndexJournal(SsdDevice device, SsdSettings settings, long newStoreId) {
        this.device = device;
        this.settings = settings;
        this.storeId = newStoreId;
        segmentSlots = settings.segmentSlots();
        long snapshot = snapshotPages(settings.slots());
        filePages = 2 + snapshot + Math.max(MIN_JOURNAL_PAGES, snapshot);
    }

    private static long snapshotPages(long entries) {
        return (entries + IndexDescriptor.ENTRIES - 1) / IndexDescriptor.ENTRIES;
    }

    static String name(int file) {
        return "index-" + file;
    }

    // -------------------------------------------------------------------------------------------------- recovery

    /**
     * Replays the newer of the two files into {@code table}; the header that was found, or null when there was none. Pages that can't be read
     * cost what was in them: header and footer stand in for each other, and a page of entries costs those.
     *
     * @throws MooncakeException CONFIGURATION when the records are another node's or another model's; CORRUPT when the device can't read either
     *     of both, or more than {@value #MAX_UNREADABLE} pages
     */
    @Nullable
    Header recover(SlotTable table) {
        Header newest = null;
        unreadable = 0;
        try {
            List<String> names = device.names();
            for (int i = 0; i < files.length; i++) {
                if (!names.contains(name(i))) {
                    continue;
                }
                SsdFile file = device.open(name(i));
                files[i] = file;
                Header header = header(file);
                if (header != null && (newest == null || header.epoch() > newest.epoch())) {
                    newest = header;
                    current = i;
                }
            }
            if (newest == null && unreadable > 0) {
                // Whether there are records, and whose, is not known: they must not be written over.
                throw new IOException("no header can be read");
            }
            if (newest != null) {
                requireOurs(newest);
                heldEpoch = newest.epoch();
                storeId = newest.storeId();
                segmentSlots = (int) newest.segmentSlots();
            }
            for (int i = 0; i < files.length; i++) {
                SsdFile file = files[i];
                if (file != null) {
                    replay(file, newest != null && i == current ? newest : null, table);
                }
            }
            return newest;
        } catch (IOException e) {
            throw new MooncakeException(
                    Code.CORRUPT,
                    "ssd index in " + settings.path() + ": " + e.getMessage() + " (expected: a device that reads)",
                    e);
        }
    }

    private void requireOurs(Header found) {
        requireEqual("owner", found.owner(), settings.owner());
        requireEqual("identity", found.identityDigest(), settings.identityDigest());
        requireEqual("record bytes", found.recordBytes(), (long) settings.recordBytes());
    }

    private void requireEqual(String what, Object found, Object expected) {
        if (!found.equals(expected)) {
            throw new MooncakeException(
                    Code.CONFIGURATION,
                    "ssd path: " + settings.path() + " holds records with " + what + " " + found + " (expected: "
                            + expected + "; delete them, or name another path)");
        }
    }

    private @Nullable Header header(SsdFile file) throws IOException {
        long pages = file.bytes() / IndexDescriptor.PAGE_BYTES;
        Header found = null;
        for (long page : new long[] {0, pages - 1}) {
            if (pages < 2) {
                continue;
            }
            readPages(file, page, 1);
            Header header = IndexDescriptor.readHeader(buffer, 0, page);
            if (header == null) {
                damagedPages += IndexDescriptor.blank(buffer, 0) ? 0 : 1;
            } else if (found == null || header.epoch() > found.epoch()) {
                found = header;
            }
        }
        return found;
    }

    /** Reads all pages of a file: applies those of {@code header}, and learns the highest epoch ever used. */
    private void replay(SsdFile file, @Nullable Header header, SlotTable table) throws IOException {
        long pages = file.bytes() / IndexDescriptor.PAGE_BYTES;
        for (long first = 0; first < pages; first += BUFFER_PAGES) {
            int count = (int) Math.min(BUFFER_PAGES, pages - first);
            readPages(file, first, count);
            for (int i = 0; i < count; i++) {
                int at = i * IndexDescriptor.PAGE_BYTES;
                if (IndexDescriptor.intact(buffer, at)) {
                    epoch = Math.max(epoch, IndexDescriptor.epoch(buffer, at));
                    if (header != null && IndexDescriptor.isEntries(buffer, at, header, first + i)) {
                        apply(at, table);
                        nextPage = first + i + 1;
                    }
                } else if (header != null && first + i > 0 && first + i < pages - 1) {
                    damagedPages += IndexDescriptor.blank(buffer, at) ? 0 : 1;
                }
            }
        }
    }

    private void apply(int at, SlotTable table) {
        int entries = Math.min(IndexDescriptor.count(buffer, at), IndexDescriptor.ENTRIES);
        for (int i = 0; i < entries; i++) {
            int slot = IndexDescriptor.slot(buffer, at, i);
            // The capacity may have been larger.
            if (slot < 0 || slot >= settings.slots()) {
                continue;
            }
            BlockKey key = IndexDescriptor.key(buffer, at, i);
            long generation = IndexDescriptor.generation(buffer, at, i);
            maxGeneration = Math.max(maxGeneration, generation);
            if (IndexDescriptor.entryKind(buffer, at, i) == IndexDescriptor.ENTRY_STORED) {
                table.recover(key, generation, slot, IndexDescriptor.recordCrc(buffer, at, i));
            } else {
                table.recoverRemoval(key, slot);
            }
        }
    }

    /** Reads pages to the start of the buffer. One that can't be read is all ones there: damaged, whatever it was. */
    private void readPages(SsdFile file, long first, int count) throws IOException {
        if (tryRead(file, first, 0, count) == null) {
            return;
        }
        for (int i = 0; i < count; i++) {
            IOException failure = tryRead(file, first + i, i, 1);
            if (failure != null && ++unreadable > MAX_UNREADABLE) {
                throw failure;
            }
            for (int at = 0; failure != null && at < IndexDescriptor.PAGE_BYTES; at += 8) {
                buffer.putLong(i * IndexDescriptor.PAGE_BYTES + at, -1);
            }
        }
    }

    /** Reads pages to page {@code at} of the buffer; why that is not possible, or null. */
    private @Nullable IOException tryRead(SsdFile file, long first, int at, int count) throws ClosedChannelException {
        IOException failure = null;
        for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
            try {
                int start = at * IndexDescriptor.PAGE_BYTES;
                buffer.clear().position(start).limit(start + count * IndexDescriptor.PAGE_BYTES);
                DeviceIo.read(file, buffer, first * IndexDescriptor.PAGE_BYTES);
                return null;
            } catch (ClosedChannelException e) {
                // That is us and not the device: no record may be lost over it.
                throw e;
            } catch (IOException e) {
                failure = e;
            } finally {
                buffer.clear();
            }
        }
        return failure;
    }

    /** Slots of a segment: what the records there were laid out with, or what is set. */
    int segmentSlots() {
        return segmentSlots;
    }

    /** Highest generation that recovery found. */
    long maxGeneration() {
        return maxGeneration;
    }

    /** Pages that were damaged, in recovery and in checks since. */
    long damagedPages() {
        return damagedPages;
    }

    // ---------------------------------------------------------------------------------------------------- writing

    /** Whether a commit of {@code entries} fits the current file. */
    boolean hasRoom(int entries) {
        return open && nextPage + snapshotPages(entries) < filePages;
    }

    /** Adds an entry to the commit in the making. */
    void add(BlockKey key, long generation, int slot, int crc, int kind) throws IOException {
        int at = buffered * IndexDescriptor.PAGE_BYTES;
        if (!pageBegun) {
            IndexDescriptor.begin(buffer, at, IndexDescriptor.KIND_ENTRIES, epoch, storeId, nextPage + buffered);
            pageBegun = true;
        }
        IndexDescriptor.add(buffer, at, key, generation, slot, crc, kind);
        if (IndexDescriptor.count(buffer, at) == IndexDescriptor.ENTRIES) {
            endPage();
            if (buffered == BUFFER_PAGES) {
                writeOut();
            }
        }
    }

    private void endPage() {
        IndexDescriptor.seal(buffer, buffered * IndexDescriptor.PAGE_BYTES);
        buffered++;
        pageBegun = false;
    }

    private void writeOut() throws IOException {
        buffer.clear().limit(buffered * IndexDescriptor.PAGE_BYTES);
        DeviceIo.write(file(current), buffer, nextPage * IndexDescriptor.PAGE_BYTES);
        buffer.clear();
        if (pageBegun) {
            // The page in the making moves to the start with all that is in it; its number stays right.
            buffer.put(0, buffer, buffered * IndexDescriptor.PAGE_BYTES, IndexDescriptor.PAGE_BYTES);
        }
        nextPage += buffered;
        buffered = 0;
    }

    /** Makes everything added durable. After a failure only {@link #checkpoint} may follow. */
    void commit() throws IOException {
        if (pageBegun) {
            endPage();
        }
        if (buffered > 0) {
            writeOut();
        }
        file(current).sync();
    }

    /** Forgets what was added, after a failure. */
    void abort() {
        // A write that failed leaves its limit.
        buffer.clear();
        buffered = 0;
        pageBegun = false;
        open = false;
    }

    /** Writes all synced records of {@code table} into the other file, which holds from then on. */
    void checkpoint(SlotTable table) throws IOException {
        abort();
        // The one that holds stays until the new one does.
        int target = epoch == 0 ? 0 : 1 - current;
        epoch++;
        try {
            SsdFile file = ready(target);
            if (files[1 - target] == null) {
                // Both from the first day: a disk that is full later must not stop a commit.
                ready(1 - target);
            }
            blankHeaders(file);
            current = target;
            nextPage = 1;
            for (int from = 0; from < settings.slots(); from += SNAPSHOT_SLOTS) {
                // No I/O while the table is locked.
                if (buffered > BUFFER_PAGES - SNAPSHOT_PAGES) {
                    writeOut();
                }
                table.snapshot(from, Math.min(settings.slots(), from + SNAPSHOT_SLOTS), this);
            }
            if (pageBegun) {
                endPage();
            }
            if (buffered > 0) {
                writeOut();
            }
            file.sync();
            writeHeaders(file);
            file.sync();
            heldEpoch = epoch;
            open = true;
        } finally {
            if (!open) {
                abort();
                current = 1 - target;
            }
        }
    }

    /**
     * A checkpoint that failed may have left a header, which holds when it is the newest: it must be gone before the pages that it speaks of are
     * written over.
     */
    private void blankHeaders(SsdFile file) throws IOException {
        for (int i = 0; i < IndexDescriptor.PAGE_BYTES; i += 8) {
            buffer.putLong(i, 0);
        }
        writePage(file, 0);
        writePage(file, filePages - 1);
        file.sync();
    }

    /** Writes the first page of the buffer as page {@code page}. */
    private void writePage(SsdFile file, long page) throws IOException {
        buffer.clear().limit(IndexDescriptor.PAGE_BYTES);
        DeviceIo.write(file, buffer, page * IndexDescriptor.PAGE_BYTES);
        buffer.clear();
    }

    private SsdFile ready(int target) throws IOException {
        SsdFile file = files[target];
        long bytes = filePages * IndexDescriptor.PAGE_BYTES;
        if (file != null && file.bytes() == bytes) {
            return file;
        }
        if (file != null) {
            file.close();
            files[target] = null;
        }
        SsdFile made = device.create(name(target), bytes);
        files[target] = made;
        return made;
    }

    private void writeHeaders(SsdFile file) throws IOException {
        Header header = new Header(
                epoch,
                storeId,
                settings.identityDigest(),
                settings.recordBytes(),
                segmentSlots,
                nextPage - 1,
                settings.owner());
        for (long page : new long[] {0, filePages - 1}) {
            IndexDescriptor.header(buffer, 0, page, header);
            writePage(file, page);
        }
    }

    /** Reads the file that holds as the device has it: how many of the pages that count are damaged. */
    int check() throws IOException {
        SsdFile file = files[current];
        if (file == null) {
            // Nothing was ever committed.
            return 0;
        }
        unreadable = 0;
        int damaged = 0;
        // The one that was found may be of another size than those that are made.
        long pages = file.bytes() / IndexDescriptor.PAGE_BYTES;
        for (long first = 0; first < pages; first += BUFFER_PAGES) {
            int count = (int) Math.min(BUFFER_PAGES, pages - first);
            readPages(file, first, count);
            for (int i = 0; i < count; i++) {
                boolean counts = first + i < nextPage || first + i == pages - 1;
                boolean good = IndexDescriptor.intact(buffer, i * IndexDescriptor.PAGE_BYTES)
                        && IndexDescriptor.epoch(buffer, i * IndexDescriptor.PAGE_BYTES) == heldEpoch;
                damaged += counts && !good ? 1 : 0;
            }
        }
        damagedPages += damaged;
        return damaged;
    }

    private SsdFile file(int index) throws IOException {
        SsdFile file = files[index];
        if (file == null) {
            throw new IOException(name(index) + " is not open");
        }
        return file;
    }

    @Override
    public void close() {
        List<SsdFile> open = new ArrayList<>(Arrays.asList(files));
        for (SsdFile file : open) {
            if (file != null) {
                file.close();
            }
        }
    }
}
