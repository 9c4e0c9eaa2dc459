// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory.ssd;

import io.mooncake.memory.BlockKey;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.HexFormat;
import java.util.zip.CRC32C;
import org.jspecify.annotations.Nullable;

/**
 * The bytes of an index file, version 1. All integers little-endian; digests and keys are their 32 bytes in order. A file is pages of 4096
 * bytes, allocated when it is made:
 *
 * <pre>
 *   page 0          header
 *   page 1..S       snapshot: entries of all records there were
 *   page S+1..      journal: entries of each commit from a new page on, so that a synced page is never written again
 *   last page       footer: the header once more
 *
 *   page: offset  bytes
 *              0      8  magic "MCSSDIX1"
 *              8      4  version = 1
 *             12      4  CRC32C over the other 4092 bytes
 *             16      8  epoch of the file: raised with each one written
 *             24      8  number of the page
 *             32      4  kind: 1 header or footer, 2 entries
 *             36      4  entries in it, 0..72
 *             40      8  store id: random, for the store's life
 *             48     16  0
 *             64   4032  body, 0 where unused
 *
 *   header:   64     32  identity digest
 *             96      8  bytes of a record
 *            104      8  slots of a segment
 *            112      8  pages of the snapshot S
 *            120      4  bytes of the owner's name
 *            124    255  the owner's name, UTF-8
 *
 *   entry:     0     32  key
 *             32      8  generation
 *             40      4  slot
 *             44      4  CRC32C of the record, see {@link RecordDescriptor}
 *             48      4  kind: 1 stored, 2 removed
 *             52      4  0
 * </pre>
 *
 * <p>Publication: pages of the snapshot are synced before header and footer are written; the file counts from then on, with either of the
 * two. There are two files, and the one with the higher epoch holds. A page that is not of the file's epoch, of the store, or at its number is
 * not there; one between others that is damaged costs its entries only, because whatever the index says, a record's bytes must give its
 * checksum.
 *
 * <p>Any change of this layout is a new version in a new class; golden files hold this one.
 */
final class IndexDescriptor {
    static final int PAGE_BYTES = 4096;
    static final int VERSION = 1;
    /** "MCSSDIX1" read little-endian. */
    static final long MAGIC = 0x3158_4944_5353_434DL;

    static final int KIND_HEADER = 1;
    static final int KIND_ENTRIES = 2;
    static final int ENTRY_STORED = 1;
    static final int ENTRY_REMOVED = 2;
    static final int ENTRIES = 72;

    private static final int VERSION_OFFSET = 8;
    private static final int CRC_OFFSET = 12;
    private static final int EPOCH_OFFSET = 16;
    private static final int NUMBER_OFFSET = 24;
    private static final int KIND_OFFSET = 32;
    private static final int COUNT_OFFSET = 36;
    private static final int STORE_OFFSET = 40;
    private static final int BODY_OFFSET = 64;
    private static final int RECORD_BYTES_OFFSET = 96;
    private static final int SEGMENT_SLOTS_OFFSET = 104;
    private static final int SNAPSHOT_OFFSET = 112;
    private static final int OWNER_BYTES_OFFSET = 120;
    private static final int OWNER_OFFSET = 124;
    private static final int ENTRY_BYTES = 56;

    private IndexDescriptor() {}

    /** What a header says. */
    record Header(
            long epoch,
            long storeId,
            String identityDigest,
            long recordBytes,
            long segmentSlots,
            long snapshotPages,
            String owner) {}

    /** Writes the common part of page {@code number} at {@code at} and zeroes the rest. */
    static void begin(ByteBuffer page, int at, int kind, long epoch, long storeId, long number) {
        for (int i = 0; i < PAGE_BYTES; i += 8) {
            page.putLong(at + i, 0);
        }
        page.putLong(at, MAGIC);
        page.putInt(at + VERSION_OFFSET, VERSION);
        page.putLong(at + EPOCH_OFFSET, epoch);
        page.putLong(at + NUMBER_OFFSET, number);
        page.putInt(at + KIND_OFFSET, kind);
        page.putLong(at + STORE_OFFSET, storeId);
    }

    /** Writes a header as page {@code number}. */
    static void header(ByteBuffer page, int at, long number, Header header) {
        begin(page, at, KIND_HEADER, header.epoch(), header.storeId(), number);
        page.put(at + BODY_OFFSET, HexFormat.of().parseHex(header.identityDigest()));
        page.putLong(at + RECORD_BYTES_OFFSET, header.recordBytes());
        page.putLong(at + SEGMENT_SLOTS_OFFSET, header.segmentSlots());
        page.putLong(at + SNAPSHOT_OFFSET, header.snapshotPages());
        byte[] owner = header.owner().getBytes(StandardCharsets.UTF_8);
        page.putInt(at + OWNER_BYTES_OFFSET, owner.length);
        page.put(at + OWNER_OFFSET, owner);
        seal(page, at);
    }

    /** Adds an entry to a page that was begun and has room. */
    static void add(ByteBuffer page, int at, BlockKey key, long generation, int slot, int crc, int kind) {
        int count = page.getInt(at + COUNT_OFFSET);
        int entry = at + BODY_OFFSET + count * ENTRY_BYTES;
        key.write(page, entry);
        page.putLong(entry + 32, generation);
        page.putInt(entry + 40, slot);
        page.putInt(entry + 44, crc);
        page.putInt(entry + 48, kind);
        page.putInt(at + COUNT_OFFSET, count + 1);
    }

    /** Checksums a page that is complete. */
    static void seal(ByteBuffer page, int at) {
        page.putInt(at + CRC_OFFSET, crc(page, at));
    }

    private static int crc(ByteBuffer page, int at) {
        CRC32C crc = new CRC32C();
        crc.update(page.slice(at, CRC_OFFSET));
        crc.update(page.slice(at + CRC_OFFSET + 4, PAGE_BYTES - CRC_OFFSET - 4));
        return (int) crc.getValue();
    }

    /** Whether this is a page of version 1 as it was written. */
    static boolean intact(ByteBuffer page, int at) {
        return page.getLong(at) == MAGIC
                && page.getInt(at + VERSION_OFFSET) == VERSION
                && page.getInt(at + CRC_OFFSET) == crc(page, at);
    }

    /** Whether all of the page is zero: never written. */
    static boolean blank(ByteBuffer page, int at) {
        for (int i = 0; i < PAGE_BYTES; i += 8) {
            if (page.getLong(at + i) != 0) {
                return false;
            }
        }
        return true;
    }

    static long epoch(ByteBuffer page, int at) {
        return page.getLong(at + EPOCH_OFFSET);
    }

    /** Whether an intact page is page {@code number} of that file, with entries. */
    static boolean isEntries(ByteBuffer page, int at, Header header, long number) {
        return page.getInt(at + KIND_OFFSET) == KIND_ENTRIES
                && epoch(page, at) == header.epoch()
                && page.getLong(at + STORE_OFFSET) == header.storeId()
                && page.getLong(at + NUMBER_OFFSET) == number;
    }

    /** The header in an intact page that should be number {@code number}; null when it is something else. */
    static @Nullable Header readHeader(ByteBuffer page, int at, long number) {
        int owner = page.getInt(at + OWNER_BYTES_OFFSET);
        if (!intact(page, at)
                || page.getInt(at + KIND_OFFSET) != KIND_HEADER
                || page.getLong(at + NUMBER_OFFSET) != number
                || owner < 0
                || owner > SsdSettings.MAX_OWNER_BYTES) {
            return null;
        }
        byte[] digest = new byte[32];
        page.get(at + BODY_OFFSET, digest);
        byte[] name = new byte[owner];
        page.get(at + OWNER_OFFSET, name);
        return new Header(
                epoch(page, at),
                page.getLong(at + STORE_OFFSET),
                HexFormat.of().formatHex(digest),
                page.getLong(at + RECORD_BYTES_OFFSET),
                page.getLong(at + SEGMENT_SLOTS_OFFSET),
                page.getLong(at + SNAPSHOT_OFFSET),
                new String(name, StandardCharsets.UTF_8));
    }

    static int count(ByteBuffer page, int at) {
        return page.getInt(at + COUNT_OFFSET);
    }

    private static int entry(int at, int index) {
        return at + BODY_OFFSET + index * ENTRY_BYTES;
    }

    static BlockKey key(ByteBuffer page, int at, int index) {
        return BlockKey.read(page, entry(at, index));
    }

    static long generation(ByteBuffer page, int at, int index) {
        return page.getLong(entry(at, index) + 32);
    }

    static int slot(ByteBuffer page, int at, int index) {
        return page.getInt(entry(at, index) + 40);
    }

    static int recordCrc(ByteBuffer page, int at, int index) {
        return page.getInt(entry(at, index) + 44);
    }

    static int entryKind(ByteBuffer page, int at, int index) {
        return page.getInt(entry(at, index) + 48);
    }

    /** Page-aligned memory off the heap, little-endian. */
    static ByteBuffer pages(int pages) {
        return aligned(Math.multiplyExact(pages, PAGE_BYTES));
    }

    static ByteBuffer aligned(int bytes) {
        return ByteBuffer.allocateDirect(bytes + PAGE_BYTES)
                .alignedSlice(PAGE_BYTES)
                .slice(0, bytes)
                .order(ByteOrder.LITTLE_ENDIAN);
    }
}
