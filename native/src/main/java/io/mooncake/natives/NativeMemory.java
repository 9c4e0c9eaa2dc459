// SPDX-License-Identifier: Apache-2.0
package io.mooncake.natives;

/** Copies at raw addresses by the C library. Who calls holds the memory; nothing here checks anything. */
public final class NativeMemory {
    private NativeMemory() {}

    /**
     * Copies {@code bytes} between ranges that do not overlap. The C library picks the instructions that suit the processor, so it is faster
     * than the JVM's own copy from a few KiB on. Needs the bridge. The JVM stops for nothing meanwhile: a safepoint does not wait for it.
     */
    public static void copy(long from, long to, long bytes) {
        NativeCalls.copy(from, to, bytes);
    }
}
