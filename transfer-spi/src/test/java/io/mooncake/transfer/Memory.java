// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer;

import io.mooncake.natives.SharedFile;
import io.mooncake.transfer.internal.DirectViews;
import java.lang.reflect.Field;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.function.LongUnaryOperator;
import java.util.zip.CRC32C;
import org.jspecify.annotations.Nullable;
import sun.misc.Unsafe;

/**
 * Off-heap memory of a test, with a canary on both sides and self-identifying contents. Memory of a device has a copy on the host, where it is
 * filled and looked at; the two are made equal before each look and after each change.
 */
class Memory implements AutoCloseable {
    private static final int CANARY_BYTES = 4096;
    private static final byte CANARY = (byte) 0xA5;
    private static final Unsafe UNSAFE = unsafe();

    private final long base;
    private final @Nullable SharedFile file;
    /** Where the host sees it. */
    private final long host;
    /** What transfers are told. */
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
        this(length, folder, null);
    }

    /** On a device where {@code device} gives an address for that many bytes. */
    Memory(int length, @Nullable Path folder, @Nullable LongUnaryOperator device) {
        long bytes = length + 3L * CANARY_BYTES;
        this.length = length;
        this.file = folder == null ? null : SharedFile.create(folder, bytes);
        this.base = (file == null ? UNSAFE.allocateMemory(bytes) : file.address()) + CANARY_BYTES;
        this.host = base + CANARY_BYTES;
        this.address = device == null ? host : device.applyAsLong(length + 2L * CANARY_BYTES) + CANARY_BYTES;
        this.generation = new Generation(base - CANARY_BYTES);
        UNSAFE.setMemory(base, length + 2L * CANARY_BYTES, CANARY);
    }

    /** The host is to look at a range. */
    void fromDevice(long hostAddress, long deviceAddress, long bytes) {}

    /** The host has changed a range. */
    void toDevice(long deviceAddress, long hostAddress, long bytes) {}

    final void look(long offset, long bytes) {
        fromDevice(host + offset, address + offset, bytes);
    }

    final void changed(long offset, long bytes) {
        toDevice(address + offset, host + offset, bytes);
    }

    /** With the canaries. */
    final void changedAll() {
        changed(-CANARY_BYTES, length + 2L * CANARY_BYTES);
    }

    /** Registers all of it, shared when it is. */
    int register(TransferEngine engine) {
        return file == null
                ? engine.registerMemory(address, length, guard())
                : engine.registerMemory(address, length, guard(), file);
    }

    /** Registers all of it under another guard, and not shared. */
    int register(TransferEngine engine, RegionGuard other) {
        return engine.registerMemory(address, length, other);
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

    /** Makes the first bytes untouched again. */
    void blank(int bytes) {
        UNSAFE.setMemory(host, bytes, CANARY);
        changed(0, bytes);
    }

    /** Fills a range with bytes that are a function of {@code name} and the offset. */
    void fill(int name, int offset, int bytes) {
        int words = bytes & ~7;
        for (int i = 0; i < words; i += 8) {
            UNSAFE.putLong(host + offset + i, expectedWord(name, i));
        }
        for (int i = words; i < bytes; i++) {
            UNSAFE.putByte(host + offset + i, expected(name, i));
        }
        changed(offset, bytes);
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
        look(offset, bytes);
        int same = 0;
        while (same <= bytes - 8 && UNSAFE.getLong(host + offset + same) == expectedWord(name, same)) {
            same += 8;
        }
        for (int i = same; i < bytes; i++) {
            if (UNSAFE.getByte(host + offset + i) != expected(name, i)) {
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
        look(offset, bytes);
        for (int i = 0; i < bytes; i++) {
            if (UNSAFE.getByte(host + offset + i) != CANARY) {
                return false;
            }
        }
        return true;
    }

    boolean canariesIntact() {
        look(-CANARY_BYTES, CANARY_BYTES);
        look(length, CANARY_BYTES);
        for (int i = 0; i < CANARY_BYTES; i++) {
            if (UNSAFE.getByte(base + i) != CANARY || UNSAFE.getByte(host + length + i) != CANARY) {
                return false;
            }
        }
        return true;
    }

    /** Reuses all of it as an owner must: the generation goes odd, then come bytes of one value, then an even generation to lease by. */
    void recycle(byte value) {
        generation.incrementAndGet();
        UNSAFE.setMemory(host, length, value);
        changed(0, length);
        generation.incrementAndGet();
        if (value % 4 == 0) {
            java.util.concurrent.locks.LockSupport.parkNanos(2_000_000);
        }
    }

    /** Whether all bytes are the same. */
    boolean uniform() {
        look(0, length);
        byte first = UNSAFE.getByte(host);
        for (int i = 0; i < length; i++) {
            if (UNSAFE.getByte(host + i) != first) {
                return false;
            }
        }
        return true;
    }

    void flip(int offset) {
        look(offset, 1);
        UNSAFE.putByte(host + offset, (byte) (UNSAFE.getByte(host + offset) ^ 1));
        changed(offset, 1);
    }

    long checksumOfAll() {
        CRC32C crc = new CRC32C();
        look(0, length);
        crc.update(DirectViews.view(host, length));
        return crc.getValue();
    }

    int[] checksums(int offset, int bytes, int segment) {
        look(offset, bytes);
        int[] checksums = new int[bytes / segment];
        for (int i = 0; i < checksums.length; i++) {
            CRC32C crc = new CRC32C();
            ByteBuffer view = DirectViews.view(host + offset + (long) i * segment, segment);
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
