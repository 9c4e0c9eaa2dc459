// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory.ssd;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;

/**
 * What a virtual machine wrote to its disk and when it flushed it, as qemu's driver {@code blklogwrites} notes it, in the format of Linux'
 * dm-log-writes: a sector about the log, then for each operation a sector (number of the first sector, number of sectors, flags; 64 bits each,
 * little-endian, the rest 0) and the bytes.
 *
 * <p>From it comes what a disk with a cache of its own may have after its power was cut: all that was written before the last flush, and of what
 * was written after it any of the disk's sectors.
 */
final class WriteLog {
    /** The unit of the log. */
    private static final int SECTOR = 512;
    /** What the disk writes as a whole. */
    private static final int DISK_SECTOR = 4096;

    private static final long FLUSH = 1;

    private WriteLog() {}

    /**
     * What a cut left.
     *
     * @param flushes times at which the machine had its writes made durable
     * @param unflushed sectors that were written after the last of them
     * @param kept of these, sectors that the disk has all the same
     */
    record Cut(int flushes, int unflushed, int kept) {}

    private record Write(long at, long to, int bytes) {}

    /** Brings {@code disk} from what it had before the log began to what it may have after the cut. */
    static Cut replay(Path log, Path disk, SplittableRandom random) throws IOException {
        try (FileChannel from = FileChannel.open(log, StandardOpenOption.READ);
                FileChannel to = FileChannel.open(disk, StandardOpenOption.READ, StandardOpenOption.WRITE)) {
            List<Write> unflushed = new ArrayList<>();
            int flushes = 0;
            ByteBuffer header = ByteBuffer.allocate(SECTOR).order(ByteOrder.LITTLE_ENDIAN);
            long position = SECTOR;
            while (read(from, header, position)) {
                long sector = header.getLong(0);
                long sectors = header.getLong(8);
                long flags = header.getLong(16);
                position += SECTOR;
                if (!plausible(header, to.size())) {
                    // The machine died before it noted this operation but after it had noted a later one.
                    continue;
                }
                Write write = new Write(position, sector * SECTOR, (int) sectors * SECTOR);
                if (position + write.bytes > from.size()) {
                    break;
                }
                position += write.bytes;
                if (write.bytes > 0) {
                    unflushed.add(write);
                }
                if (flags == FLUSH) {
                    flushes++;
                    copy(from, to, unflushed, random, 1);
                    unflushed.clear();
                }
            }
            int lost = unflushed.stream()
                    .mapToInt(write -> write.bytes / DISK_SECTOR)
                    .sum();
            // All or nothing is likely with real disks, and finds other faults than some of it.
            double share = new double[] {0, 0.5, 0.9, 1}[random.nextInt(4)];
            return new Cut(flushes, lost, copy(from, to, unflushed, random, share));
        }
    }

    private static boolean plausible(ByteBuffer header, long diskBytes) {
        long sectors = header.getLong(8);
        long flags = header.getLong(16);
        for (int at = 32; at < SECTOR; at += 8) {
            if (header.getLong(at) != 0) {
                return false;
            }
        }
        return (flags == FLUSH || flags == 0 && sectors > 0)
                && sectors % (DISK_SECTOR / SECTOR) == 0
                && header.getLong(0) >= 0
                && header.getLong(0) + sectors <= diskBytes / SECTOR;
    }

    private static int copy(FileChannel from, FileChannel to, List<Write> writes, SplittableRandom random, double share)
            throws IOException {
        int copied = 0;
        ByteBuffer sector = ByteBuffer.allocate(DISK_SECTOR);
        for (Write write : writes) {
            for (int offset = 0; offset < write.bytes; offset += DISK_SECTOR) {
                if (random.nextDouble() < share && read(from, sector, write.at + offset)) {
                    to.write(sector.flip(), write.to + offset);
                    copied++;
                }
            }
        }
        return copied;
    }

    /** Fills {@code buffer}; false at the end of the log. */
    private static boolean read(FileChannel from, ByteBuffer buffer, long position) throws IOException {
        buffer.clear();
        while (buffer.hasRemaining()) {
            if (from.read(buffer, position + buffer.position()) < 0) {
                return false;
            }
        }
        return true;
    }
}
