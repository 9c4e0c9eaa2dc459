// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.internal;

import io.mooncake.base.MooncakeException;
import java.lang.reflect.Constructor;
import java.lang.reflect.Field;
import java.nio.Buffer;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/**
 * Byte buffers over raw addresses, so that a channel reads and writes registered memory itself. A view owns nothing and frees nothing: who
 * makes it keeps the region acquired meanwhile.
 *
 * <p>Needs {@code --add-opens=java.base/java.nio=ALL-UNNAMED}, as Arrow does. One small object a view.
 */
public final class DirectViews {
    private static final Constructor<?> CONSTRUCTOR = constructor();
    private static final boolean LONG_CAPACITY = CONSTRUCTOR.getParameterTypes()[1] == long.class;

    private static final Field ADDRESS = addressField();

    private DirectViews() {}

    private static Field addressField() {
        try {
            Field found = Buffer.class.getDeclaredField("address");
            found.setAccessible(true);
            return found;
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException("java.nio.Buffer has no address", e);
        }
    }

    private static Constructor<?> constructor() {
        Class<?> direct = ByteBuffer.allocateDirect(1).getClass();
        try {
            Constructor<?> found;
            try {
                found = direct.getDeclaredConstructor(long.class, int.class);
            } catch (NoSuchMethodException beforeJava21) {
                found = direct.getDeclaredConstructor(long.class, long.class);
            }
            found.setAccessible(true);
            return found;
        } catch (ReflectiveOperationException | RuntimeException e) {
            throw new MooncakeException(
                    MooncakeException.Code.CONFIGURATION,
                    "java.nio is closed (expected: the JVM flag --add-opens=java.base/java.nio=ALL-UNNAMED)",
                    e);
        }
    }

    /** Whether the JVM flags allow views; throws CONFIGURATION where they don't. */
    public static void requireAvailable() {
        view(0, 0);
    }

    /** {@code length} bytes at {@code address}, little-endian. */
    public static ByteBuffer view(long address, int length) {
        try {
            Object made = LONG_CAPACITY
                    ? CONSTRUCTOR.newInstance(address, (long) length)
                    : CONSTRUCTOR.newInstance(address, length);
            return ((ByteBuffer) made).order(ByteOrder.LITTLE_ENDIAN);
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException("no view of " + length + " bytes", e);
        }
    }

    /** Where a direct buffer's memory lies; the buffer must be kept meanwhile. */
    public static long address(ByteBuffer direct) {
        try {
            return ADDRESS.getLong(direct);
        } catch (IllegalAccessException e) {
            throw new IllegalStateException("the field was opened", e);
        }
    }
}
