// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer;

import io.mooncake.natives.SharedFile;
import java.lang.reflect.Field;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;
import sun.misc.Unsafe;

/** Memory of any size whose words say where they belong; 8 bytes of each 4 KiB, and the end. */
final class LargeMemory implements AutoCloseable {
    private static final int STEP = 4096;
    private static final Unsafe UNSAFE = unsafe();

    private final @Nullable SharedFile file;
    final long address;
    final long length;

    /** In a file below {@code folder}, or private where that is null. */
    LargeMemory(long length, @Nullable Path folder) {
        this.length = length;
        this.file = folder == null ? null : SharedFile.create(folder, STEP + length);
        this.address = file == null ? UNSAFE.allocateMemory(length) : file.address() + STEP;
    }

    /** Registers all of it, shared when it is; its generation is 0 for ever. */
    int register(TransferEngine engine) {
        PublishedGuard guard = new PublishedGuard() {
            @Override
            public boolean current(long offset, long bytes, long generation) {
                return generation == 0;
            }

            @Override
            public long generationOffset(long offset, long bytes) {
                return -STEP;
            }
        };
        return file == null
                ? engine.registerMemory(address, length, guard)
                : engine.registerMemory(address, length, guard, file);
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

    void fill(int name) {
        for (long at = 0; at <= length - 8; at += STEP) {
            UNSAFE.putLong(address + at, word(name, at));
        }
        UNSAFE.putLong(address + length - 8, word(name, length - 8));
    }

    private static long word(int name, long at) {
        return at * 0x9E3779B97F4A7C15L + name;
    }

    /** The first word's offset that is another one, or -1. */
    long firstDifference(int name) {
        for (long at = 0; at <= length - 8; at += STEP) {
            if (at <= length - 16 && UNSAFE.getLong(address + at) != word(name, at)) {
                return at;
            }
        }
        return UNSAFE.getLong(address + length - 8) == word(name, length - 8) ? -1 : length - 8;
    }

    @Override
    public void close() {
        if (file == null) {
            UNSAFE.freeMemory(address);
        } else {
            file.close();
        }
    }
}
