// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.internal;

import java.nio.ByteBuffer;

/**
 * One byte buffer that is moved over raw memory, so that a channel reads and writes registered memory without an object for each piece. It
 * owns nothing and frees nothing: who moves it keeps the region acquired until the buffer is moved on. One thread.
 */
public final class MovingView {
    private final ByteBuffer buffer = DirectViews.view(0, Integer.MAX_VALUE);

    /** The buffer, now over {@code length} bytes at {@code address}, all remaining; valid until the next call. */
    public ByteBuffer at(long address, int length) {
        RawMemory.move(buffer, address);
        return buffer.limit(length).position(0);
    }
}
