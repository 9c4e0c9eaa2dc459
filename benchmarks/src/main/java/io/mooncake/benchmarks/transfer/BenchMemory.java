// SPDX-License-Identifier: Apache-2.0
package io.mooncake.benchmarks.transfer;

import io.mooncake.natives.SharedFile;
import io.mooncake.transfer.PublishedGuard;
import io.mooncake.transfer.TransferEngine;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.zip.CRC32C;
import org.apache.arrow.memory.util.MemoryUtil;
import org.jspecify.annotations.Nullable;

/**
 * Memory of one generation, touched, with the same bytes at the same offset in every process: what a transfer writes is what was there, so
 * that checksums hold for good. Private pages, or a file that others can map.
 */
final class BenchMemory implements AutoCloseable {
    /** In front of the shared memory, with its generation; whole huge pages, so that the rest is aligned to them. */
    static final int HEAD_BYTES = 2 << 20;

    private static final long GENERATION = 1;
    private static final int PAGE = 4096;

    private final ByteBuffer bytes;
    private final @Nullable SharedFile file;
    final long address;
    final int length;

    private BenchMemory(ByteBuffer bytes, @Nullable SharedFile file) {
        this.bytes = bytes.order(ByteOrder.LITTLE_ENDIAN);
        this.file = file;
        this.address = MemoryUtil.getByteBufferAddress(bytes);
        this.length = bytes.capacity();
        for (int i = 0; i < length; i += Long.BYTES) {
            this.bytes.putLong(i, i * 0x9E3779B97F4A7C15L);
        }
    }

    static BenchMemory ofPrivatePages(int length) {
        return new BenchMemory(
                ByteBuffer.allocateDirect(length + PAGE).alignedSlice(PAGE).slice(0, length), null);
    }

    static BenchMemory shared(int length) {
        SharedFile file = SharedFile.create(SharedFile.DEFAULT_FOLDER, (long) HEAD_BYTES + length);
        MemoryUtil.directBuffer(file.address(), Long.BYTES)
                .order(ByteOrder.LITTLE_ENDIAN)
                .putLong(0, GENERATION);
        return new BenchMemory(MemoryUtil.directBuffer(file.address() + HEAD_BYTES, length), file);
    }

    int register(TransferEngine engine) {
        PublishedGuard guard = new PublishedGuard() {
            @Override
            public boolean current(long offset, long size, long generation) {
                return generation == GENERATION;
            }

            @Override
            public long generationOffset(long offset, long size) {
                return -HEAD_BYTES;
            }
        };
        return file == null
                ? engine.registerMemory(address, length, guard)
                : engine.registerMemory(address, length, guard, file);
    }

    long generation() {
        return GENERATION;
    }

    /** The path of the file, or {@code -}. */
    String path() {
        return file == null ? "-" : file.path().toString();
    }

    int[] checksums(int offset, int size, int segment) {
        int[] sums = new int[size / segment];
        for (int i = 0; i < sums.length; i++) {
            CRC32C sum = new CRC32C();
            sum.update(bytes.slice(offset + i * segment, segment));
            sums[i] = (int) sum.getValue();
        }
        return sums;
    }

    /** Removes the file, if there is one. Private pages go with the process. */
    @Override
    public void close() {
        if (file != null) {
            file.close();
        }
    }
}
