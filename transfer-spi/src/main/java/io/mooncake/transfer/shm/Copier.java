// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.shm;

import io.mooncake.natives.NativeMemory;
import io.mooncake.transfer.internal.DirectViews;
import io.mooncake.transfer.internal.RawMemory;
import io.mooncake.transfer.internal.TransferBatch;
import io.mooncake.transfer.internal.TransferBatch.Slice;
import java.nio.ByteBuffer;
import java.util.zip.CRC32C;

/**
 * Copies slices and checks their sums over the private copy, piece by piece, while a piece is still in the CPU's cache. One thread
 * each. Allocates only when it comes to another part of memory.
 */
final class Copier {
    /** What is copied between two looks at whether to go on. */
    static final int PIECE_BYTES = 256 << 10;

    /** Of copies that are summed: the sum finds the copy in the cache. No native loop that does both at once is faster. */
    private static final int SUMMED_BYTES = 32 << 10;

    /** Below this the JVM's own copy is faster: the call costs more than the better instructions gain. */
    private static final int NATIVE_BYTES = 4 << 10;

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
            copy(source, target, length);
            return true;
        }
        for (int from = 0; from < length; from += segment) {
            int end = from + segment;
            crc.reset();
            for (int at = from; at < end; ) {
                int bytes = Math.min(SUMMED_BYTES, end - at);
                copy(source + at, target + at, bytes);
                update(target + at, bytes);
                at += bytes;
            }
            if ((int) crc.getValue() != batch.checksum(slice, from)) {
                return false;
            }
        }
        return true;
    }

    /** Copies between memories, neither of which is a device's; whoever calls has the bridge, for it has mapped one of them. */
    static void copy(long source, long target, long bytes) {
        if (bytes < NATIVE_BYTES) {
            RawMemory.copy(source, target, bytes);
        } else {
            NativeMemory.copy(source, target, bytes);
        }
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
