// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory;

import io.mooncake.base.MooncakeException;
import io.mooncake.base.MooncakeException.Code;
import org.apache.arrow.memory.ArrowBuf;

/**
 * Arrow buffers over slots that a lease or a writer holds: nothing is copied, and they end together. An access after that is refused by Arrow's
 * own check, because the slot may be another tenant's by then. They can't be retained: who wants the bytes for longer holds the lease.
 *
 * <p>Threading: views are used by one thread at a time; {@link #end} may come from any.
 */
final class BorrowedViews extends ViewReferences {
    private final String holder;
    private volatile boolean open = true;

    /** Views of what {@code holder} holds. */
    BorrowedViews(String holder) {
        this.holder = holder;
    }

    /** A view of {@code bytes} bytes. */
    ArrowBuf of(long address, int bytes) {
        return new ArrowBuf(this, null, bytes, address);
    }

    /** No view gives or takes a byte from now on. Before the slots go. */
    void end() {
        open = false;
    }

    @Override
    public int getRefCount() {
        return open ? 1 : 0;
    }

    @Override
    public long getSize() {
        return 0;
    }

    @Override
    void add(int count) {
        throw refused("retained");
    }

    @Override
    boolean drop(int count) {
        throw refused("released");
    }

    private MooncakeException refused(String what) {
        return new MooncakeException(
                Code.ILLEGAL_STATE, "view: " + what + " (expected: neither, it is borrowed from its " + holder + ")");
    }
}
