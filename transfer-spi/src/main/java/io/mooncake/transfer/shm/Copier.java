// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.shm;

import io.mooncake.transfer.internal.DirectViews;
import io.mooncake.transfer.internal.RawMemory;
import io.mooncake.transfer.internal.TransferBatch;
import io.mooncake.transfer.internal.TransferBatch.Slice;
import java.nio.ByteBuffer;
import java.util.zip.CRC32C;

/**
 * Copies slices and checks their sums over the private copy, piece by piece, while a piece is still in the CPU's second cache. One thread
 * each. Allocates only when it comes to another part of memory.
 */
final class Copier {
    /** Fits the second cache twice, and the JVM reaches a safepoint at least that often. */
    static final int PIECE_BYTES = 256 << 10;

    /** Views are made for this much at a time; a piece never crosses the end of one. */
    private static final int WINDOW_BYTES = 64 << 20;

    private static final int VIEW_BYTES = WINDOW_BYTES + PIECE_BYTES;

    private final Slice slice = new Slice();
    private final CRC32C crc = new CRC32C();
    private ByteBuffer view = ByteBuffer.allocate(0);
    private long viewAddress = -1;

    /** The slice that this thread works on. */
    Slice slice() {
        return slice;
    }

    /** Copies the slice from {@code source}; whether the copy has the checksums that the batch expects, if it expects any. */
    boolean copy(long source, TransferBatch batch) {
        long target = slice.localAddress();
        int length = slice.length();
        int segment = batch.segmentLength(slice);
        if (segment == 0) {
            for (int at = 0; at < length; at += PIECE_BYTES) {
                RawMemory.copy(source + at, target + at, Math.min(PIECE_BYTES, length - at));
            }
            return true;
        }
        for (int from = 0; from < length; from += segment) {
            int end = from + segment;
            crc.reset();
            for (int at = from; at < end; ) {
                int bytes = Math.min(PIECE_BYTES, end - at);
                RawMemory.copy(source + at, target + at, bytes);
                update(target + at, bytes);
                at += bytes;
            }
            if ((int) crc.getValue() != batch.checksum(slice, from)) {
                return false;
            }
        }
        return true;
    }

    private void update(long address, int bytes) {
        long base = address & -WINDOW_BYTES;
        if (base != viewAddress) {
            view = DirectViews.view(base, VIEW_BYTES);
            viewAddress = base;
        }
        int at = (int) (address - base);
        crc.update(view.limit(at + bytes).position(at));
    }
}
