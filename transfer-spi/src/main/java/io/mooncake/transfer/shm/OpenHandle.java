// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.shm;

import io.mooncake.transfer.RemoteHandle;
import java.util.Arrays;

/**
 * A handle that its owner has verified for this engine.
 *
 * @param generationOffset where its generation is published, from the start of the region
 * @param endNanos when its term ends here, counted from before the owner was asked
 */
record OpenHandle(RemoteHandle handle, long generationOffset, long endNanos) {
    /** Whether it is exactly {@code other}, by value. */
    boolean is(RemoteHandle other) {
        return handle == other
                || (handle.region() == other.region()
                        && handle.generation() == other.generation()
                        && handle.offset() == other.offset()
                        && handle.length() == other.length()
                        && handle.writable() == other.writable()
                        && handle.expiresAtNanos() == other.expiresAtNanos()
                        && Arrays.equals(handle.capability(), other.capability()));
    }
}
