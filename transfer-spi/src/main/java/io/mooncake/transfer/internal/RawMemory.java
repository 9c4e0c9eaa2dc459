// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.internal;

import java.lang.reflect.Field;
import java.nio.Buffer;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import sun.misc.Unsafe;

/** Copies and words at raw addresses. Who calls holds the memory; nothing here checks anything. */
public final class RawMemory {
    private static final Unsafe UNSAFE = unsafe();
    private static final boolean LITTLE_ENDIAN = ByteOrder.nativeOrder() == ByteOrder.LITTLE_ENDIAN;

    private static final long BUFFER_ADDRESS = bufferAddress();

    private RawMemory() {}

    private static Unsafe unsafe() {
        try {
            Field field = Unsafe.class.getDeclaredField("theUnsafe");
            field.setAccessible(true);
            return (Unsafe) field.get(null);
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException("sun.misc.Unsafe (expected: the module jdk.unsupported)", e);
        }
    }

    @SuppressWarnings("deprecation") // Of a field of a class that is neither hidden nor a record.
    private static long bufferAddress() {
        try {
            return UNSAFE.objectFieldOffset(Buffer.class.getDeclaredField("address"));
        } catch (NoSuchFieldException e) {
            throw new IllegalStateException("java.nio.Buffer.address (expected: a JDK that has it)", e);
        }
    }

    /** Has a direct buffer that was made over raw memory start at {@code address} from now on. */
    static void move(ByteBuffer direct, long address) {
        UNSAFE.putLong(direct, BUFFER_ADDRESS, address);
    }

    /** Copies {@code bytes}; the JVM reaches no safepoint meanwhile, so keep the pieces small. */
    public static void copy(long from, long to, long bytes) {
        UNSAFE.copyMemory(from, to, bytes);
    }

    /** A little-endian word, read after whatever was read before. */
    public static long getLongVolatile(long address) {
        long word = UNSAFE.getLongVolatile(null, address);
        return LITTLE_ENDIAN ? word : Long.reverseBytes(word);
    }

    /** Writes a little-endian word after whatever was written before, and before what is read or written afterwards. */
    public static void putLongVolatile(long address, long word) {
        UNSAFE.putLongVolatile(null, address, LITTLE_ENDIAN ? word : Long.reverseBytes(word));
    }

    /** A little-endian word, in no order with anything else. */
    public static long getLong(long address) {
        long word = UNSAFE.getLong(address);
        return LITTLE_ENDIAN ? word : Long.reverseBytes(word);
    }

    /** Writes a little-endian word, in no order with anything else. */
    public static void putLong(long address, long word) {
        UNSAFE.putLong(address, LITTLE_ENDIAN ? word : Long.reverseBytes(word));
    }

    /** Half a word, of the machine's own order, read after whatever was read before. */
    public static int getIntVolatile(long address) {
        return UNSAFE.getIntVolatile(null, address);
    }

    /** Raises half a word, of the machine's own order, by one; after whatever was written before. */
    public static void increment(long address) {
        UNSAFE.getAndAddInt(null, address, 1);
    }

    /** Keeps reads before the call from being done after it. */
    public static void loadFence() {
        UNSAFE.loadFence();
    }

    /** Bytes out of memory. */
    public static void get(long address, byte[] into) {
        UNSAFE.copyMemory(null, address, into, Unsafe.ARRAY_BYTE_BASE_OFFSET, into.length);
    }

    /** Bytes into memory. */
    public static void put(long address, byte[] from) {
        UNSAFE.copyMemory(from, Unsafe.ARRAY_BYTE_BASE_OFFSET, null, address, from.length);
    }
}
