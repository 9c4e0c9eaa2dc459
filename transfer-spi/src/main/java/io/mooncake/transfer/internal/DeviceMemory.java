// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.internal;

import java.io.IOException;
import java.nio.ByteBuffer;
import org.jspecify.annotations.Nullable;

/**
 * What it takes to move the bytes of a region that lies on a device, where no CPU reaches: addresses of such a region are for the device's
 * driver alone. Data plane.
 */
public interface DeviceMemory {
    /** Where the device sits on the bus, as sysfs names it: {@code 0000:41:00.0}. */
    String pciAddress();

    /** Whether the engine's network card reaches the memory itself, so that transports which use the card may give it these addresses. */
    boolean direct();

    /** Takes the buffers of one access by a peer; null when none is free by then. The caller owes a close. One thread. */
    @Nullable
    Passage open(long deadlineNanos);

    /** What a network card has written becomes visible to the device's programs; false when the device fails. */
    boolean flushRemoteWrites();

    /** Pinned memory of the host that bytes pass through, a piece at a time. */
    interface Passage extends AutoCloseable {
        /**
         * Gives the range to {@code sink} in pieces, in order, while the next piece is copied from the device.
         *
         * @return false when the device failed; the sink has got zeros from there on, {@code length} bytes in any case
         */
        boolean send(long deviceAddress, int length, Sink sink) throws IOException;

        /**
         * Has {@code source} fill pieces, in order, while the one before is copied to the device. All copies have ended on return, however
         * it returns.
         *
         * @return false when the device failed, and nothing more was asked of the source
         */
        boolean receive(long deviceAddress, int length, Source source) throws IOException;

        @Override
        void close();
    }

    /** Takes pieces. */
    @FunctionalInterface
    interface Sink {
        /** Takes all that remains of the buffer, which is not its own beyond the call. */
        void take(ByteBuffer piece) throws IOException;
    }

    /** Fills pieces. */
    @FunctionalInterface
    interface Source {
        /** Fills all that remains of the buffer; false when there shall be no more, and none of this piece. */
        boolean fill(ByteBuffer piece) throws IOException;
    }
}
