// SPDX-License-Identifier: Apache-2.0
package io.mooncake.natives;

import java.util.concurrent.atomic.AtomicBoolean;

/** A descriptor of device memory for other devices. What was registered with it lives on when it is closed. */
public final class DmaBuf implements AutoCloseable {
    private final int descriptor;
    private final long offset;
    private final AtomicBoolean closed = new AtomicBoolean();

    DmaBuf(int descriptor, long offset) {
        this.descriptor = descriptor;
        this.offset = offset;
    }

    /** Where in it the range begins that was asked for. */
    public long offset() {
        return offset;
    }

    /** The number of the operating system. */
    public int descriptor() {
        return descriptor;
    }

    @Override
    public void close() {
        if (closed.compareAndSet(false, true)) {
            CudaCalls.closeDescriptor(descriptor);
        }
    }
}
