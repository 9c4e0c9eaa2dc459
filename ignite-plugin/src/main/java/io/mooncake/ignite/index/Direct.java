// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.index;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import org.jspecify.annotations.Nullable;

/** Memory off the heap, given back by the garbage collector when nobody can read it any more. */
final class Direct {
    private Direct() {}

    /** Zeros; null where {@code -XX:MaxDirectMemorySize} or the machine has no more. */
    static @Nullable ByteBuffer allocate(int bytes) {
        try {
            return ByteBuffer.allocateDirect(bytes).order(ByteOrder.nativeOrder());
        } catch (OutOfMemoryError e) {
            return null;
        }
    }
}
