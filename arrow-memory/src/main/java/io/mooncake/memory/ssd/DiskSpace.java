// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory.ssd;

import com.sun.nio.file.ExtendedOpenOption;
import io.mooncake.natives.FileSpace;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.FileStore;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

/** Room on the file system of an SSD: how much of it may be taken, files that are allocated whole, and whether it has direct I/O. */
public final class DiskSpace {
    /** The most of a file system that is filled, where nothing else is said. */
    public static final int MAX_USE_PERCENT = 95;

    private static final int FILL_BYTES = 1 << 20;
    private static final int PATIENCE = 4;

    private DiskSpace() {}

    /** Writes at an offset, as {@link FileChannel#write(ByteBuffer, long)} does. */
    @FunctionalInterface
    public interface Writer {
        /** Writes from page-aligned memory; the bytes written, which may be fewer. */
        int write(ByteBuffer from, long offset) throws IOException;
    }

    /**
     * Bytes that may still be taken: what is free to this process, as long as use stays within {@code maxUsePercent}. Use as people see it:
     * what is taken, over that and what is free to us. {@link Long#MAX_VALUE} where the file system does not say how large it is.
     */
    public static long room(FileStore store, int maxUsePercent) throws IOException {
        long total = store.getTotalSpace();
        if (total == 0) {
            return Long.MAX_VALUE;
        }
        long used = total - store.getUnallocatedSpace();
        long usable = store.getUsableSpace();
        double most = (double) (used + usable) * maxUsePercent / 100;
        return Math.max(0, Math.min(usable, (long) most - used));
    }

    /**
     * Allocates the first {@code bytes} of a new file, so that no write into them meets a full disk. Without the native bridge zeros are
     * written: what is not written is not allocated.
     *
     * @param writer to that file
     * @throws IOException when there is no room
     */
    public static void allocate(Path file, long bytes, Writer writer) throws IOException {
        if (!FileSpace.allocate(file, bytes)) {
            fill(writer, bytes);
        }
    }

    private static void fill(Writer writer, long bytes) throws IOException {
        ByteBuffer zeros = IndexDescriptor.aligned((int) Math.min(FILL_BYTES, bytes));
        int idle = 0;
        for (long at = 0; at < bytes; ) {
            int length = (int) Math.min(zeros.capacity(), bytes - at);
            int done = writer.write(zeros.clear().limit(length), at);
            // Direct I/O can't go on in the middle of a page.
            int whole = done == length ? done : Math.max(0, done) & -SsdSettings.ALIGNMENT;
            idle = whole > 0 ? 0 : idle + 1;
            if (idle == PATIENCE) {
                throw new IOException("short write: " + at + " of " + bytes + " bytes");
            }
            at += whole;
        }
    }

    /** Why a file of {@code store} can't be opened for direct I/O in pages of {@value SsdSettings#ALIGNMENT}; empty when it can. */
    public static String directObstacle(Path file, FileStore store) throws IOException {
        long blockBytes = store.getBlockSize();
        if (blockBytes > SsdSettings.ALIGNMENT) {
            return "blocks of " + blockBytes + " bytes";
        }
        try {
            FileChannel.open(file, StandardOpenOption.READ, ExtendedOpenOption.DIRECT)
                    .close();
            return "";
        } catch (IOException | UnsupportedOperationException e) {
            return String.valueOf(e.getMessage());
        }
    }
}
