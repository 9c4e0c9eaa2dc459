// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer;

import io.mooncake.natives.SharedFile;
import io.mooncake.transfer.internal.DirectViews;
import java.lang.reflect.Field;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.zip.CRC32C;
import org.jspecify.annotations.Nullable;
import sun.misc.Unsafe;

/** Off-heap memory of a test, with a canary on both sides and self-identifying contents. */
final class Memory implements AutoCloseable {
    private static final int CANARY_BYTES = 4096;
    private static final byte CANARY = (byte) 0xA5;
    private static final Unsafe UNSAFE = unsafe();

    private final long base;
    private final @Nullable SharedFile file;
    final long address;
    final int length;
    /** The generation that the guard calls current. */
    final Generation generation;

    /** The generation of all of a memory, 8 bytes that peers can map. */
    static final class Generation {
        private final long word;

        Generation(long word) {
            this.word = word;
            UNSAFE.putLong(word, 1);
        }

        long get() {
            return UNSAFE.getLongVolatile(null, word);
        }

        long incrementAndGet() {
            return UNSAFE.getAndAddLong(null, word, 1) + 1;
        }
    }

    Memory(int length) {
        this(length, null);
    }

    /** In a file below {@code folder}, or private where that is null; the generation lies in front of the canary. */
    Memory(int length, @Nullable Path folder) {
        long bytes = length + 3L * CANARY_BYTES;
        this.length = length;
        this.file = folder == null ? null : SharedFile.create(folder, bytes);
        this.base = (file == null ? UNSAFE.allocateMemory(bytes) : file.address()) + CANARY_BYTES;
        this.address = base + CANARY_BYTES;
        this.generation = new Generation(base - CANARY_BYTES);
        UNSAFE.setMemory(base, length + 2L * CANARY_BYTES, CANARY);
    }

    /** Registers all of it, shared when it is. */
    int register(TransferEngine engine) {
        return file == null
                ? engine.registerMemory(address, length, guard())
                : engine.registerMemory(address, length, guard(), file);
    }

    private static Unsafe unsafe() {
        try {
            Field field = Unsafe.class.getDeclaredField("theUnsafe");
            field.setAccessible(true);
            return (Unsafe) field.get(null);
        } catch (ReflectiveOperationException e) {
            throw new AssertionError(e);
        }
    }

    PublishedGuard guard() {
        return new PublishedGuard() {
            @Override
            public boolean current(long offset, long bytes, long wanted) {
                return generation.get() == wanted;
            }

            @Override
            public long generationOffset(long offset, long bytes) {
                return -2L * CANARY_BYTES;
            }
        };
    }

    /** Fills a range with bytes that are a function of {@code name} and the offset. */
    void fill(int name, int offset, int bytes) {
        int words = bytes & ~7;
        for (int i = 0; i < words; i += 8) {
            UNSAFE.putLong(address + offset + i, expectedWord(name, i));
        }
        for (int i = words; i < bytes; i++) {
            UNSAFE.putByte(address + offset + i, expected(name, i));
        }
    }

    /** Eight bytes of {@link #expected} at once, for an {@code i} that 8 divides: each is one more than the one before. */
    private static long expectedWord(int name, int i) {
        long first = (expected(name, i) & 0xff) * 0x0101010101010101L;
        return ((first & 0x7f7f7f7f7f7f7f7fL) + 0x0706050403020100L) ^ (first & 0x8080808080808080L);
    }

    static byte expected(int name, int i) {
        int mixed = (i >>> 3) * 0x9E3779B1 + name * 0x85EBCA6B;
        return (byte) ((mixed >>> 24) + i);
    }

    /** The first offset that does not hold the bytes of {@code name}, or -1. */
    int firstDifference(int name, int offset, int bytes) {
        int same = 0;
        while (same <= bytes - 8 && UNSAFE.getLong(address + offset + same) == expectedWord(name, same)) {
            same += 8;
        }
        for (int i = same; i < bytes; i++) {
            if (UNSAFE.getByte(address + offset + i) != expected(name, i)) {
                return i;
            }
        }
        return -1;
    }

    boolean holds(int name, int offset, int bytes) {
        return firstDifference(name, offset, bytes) == -1;
    }

    /** Whether every byte of the range is still what the constructor wrote. */
    boolean untouched(int offset, int bytes) {
        for (int i = 0; i < bytes; i++) {
            if (UNSAFE.getByte(address + offset + i) != CANARY) {
                return false;
            }
        }
        return true;
    }

    boolean canariesIntact() {
        for (int i = 0; i < CANARY_BYTES; i++) {
            if (UNSAFE.getByte(base + i) != CANARY || UNSAFE.getByte(address + length + i) != CANARY) {
                return false;
            }
        }
        return true;
    }

    /** Reuses all of it as an owner must: the generation goes odd, then come bytes of one value, then an even generation to lease by. */
    void recycle(byte value) {
        generation.incrementAndGet();
        UNSAFE.setMemory(address, length, value);
        generation.incrementAndGet();
        if (value % 4 == 0) {
            java.util.concurrent.locks.LockSupport.parkNanos(2_000_000);
        }
    }

    /** Whether all bytes are the same. */
    boolean uniform() {
        byte first = UNSAFE.getByte(address);
        for (int i = 0; i < length; i++) {
            if (UNSAFE.getByte(address + i) != first) {
                return false;
            }
        }
        return true;
    }

    void flip(int offset) {
        UNSAFE.putByte(address + offset, (byte) (UNSAFE.getByte(address + offset) ^ 1));
    }

    long checksumOfAll() {
        CRC32C crc = new CRC32C();
        crc.update(DirectViews.view(address, length));
        return crc.getValue();
    }

    int[] checksums(int offset, int bytes, int segment) {
        int[] checksums = new int[bytes / segment];
        for (int i = 0; i < checksums.length; i++) {
            CRC32C crc = new CRC32C();
            ByteBuffer view = DirectViews.view(address + offset + (long) i * segment, segment);
            crc.update(view);
            checksums[i] = (int) crc.getValue();
        }
        return checksums;
    }

    @Override
    public void close() {
        if (file == null) {
            UNSAFE.freeMemory(base - CANARY_BYTES);
        } else {
            file.close();
        }
    }
}
