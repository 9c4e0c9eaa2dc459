// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory;

import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;

/** What the kernel says of this process's pages. */
final class PageMap {
    private static final Path PAGES = Path.of("/proc/self/pagemap");
    private static final Path MAPPINGS = Path.of("/proc/self/smaps");
    private static final int PAGE_BYTES = 4096;
    /** Bit 63: in memory, bit 62: swapped out. */
    private static final long THERE = 3L << 62;

    private PageMap() {}

    /** Pages of the range that nobody has touched yet, page by page: smaps adds up mappings, which neighbours may have joined. */
    static long missing(long address, long bytes) throws IOException {
        assumeTrue(Files.isReadable(PAGES), "SKIPPED: PRE-TOUCHED PAGES WERE NOT COUNTED. " + PAGES + " is needed");
        int pages = Math.toIntExact(bytes / PAGE_BYTES);
        byte[] entries = new byte[Long.BYTES * pages];
        try (RandomAccessFile file = new RandomAccessFile(PAGES.toFile(), "r")) {
            file.seek(address / PAGE_BYTES * Long.BYTES);
            file.readFully(entries);
        }
        ByteBuffer words = ByteBuffer.wrap(entries).order(ByteOrder.nativeOrder());
        long missing = 0;
        while (words.hasRemaining()) {
            missing += (words.getLong() & THERE) == 0 ? 1 : 0;
        }
        return missing;
    }

    /** Size of the pages of the mapping that {@code address} lies in. */
    static long kernelPageBytes(long address) throws IOException {
        boolean inside = false;
        for (String line : Files.readAllLines(MAPPINGS)) {
            if (line.matches("[0-9a-f]+-[0-9a-f]+ .*")) {
                String[] range = line.substring(0, line.indexOf(' ')).split("-");
                inside = Long.compareUnsigned(Long.parseUnsignedLong(range[0], 16), address) <= 0
                        && Long.compareUnsigned(address, Long.parseUnsignedLong(range[1], 16)) < 0;
            } else if (inside && line.startsWith("KernelPageSize:")) {
                return Long.parseLong(line.replaceAll("\\D", "")) * 1024;
            }
        }
        throw new AssertionError("no mapping at " + Long.toHexString(address));
    }
}
