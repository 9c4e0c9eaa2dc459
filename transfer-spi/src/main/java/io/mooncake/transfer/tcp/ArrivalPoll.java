// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.tcp;

import java.io.IOException;
import java.io.InputStream;
import java.nio.channels.SocketChannel;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/**
 * Waits for bytes of a socket by asking again and again for a moment, where {@link PollChoice} has found that faster than to sleep at once.
 *
 * <p>A thread that sleeps has to be woken, and so has its processor: on an idle machine that costs more than sending a small answer does.
 * On a busy one the peer may need the very processor that asks.
 *
 * <p>Threading: of the thread that reads. At most half of the processors ask at a time, over all connections of the process.
 */
final class ArrivalPoll {
    private static final int MOST_ASKING = Runtime.getRuntime().availableProcessors() / 2;
    private static final AtomicInteger ASKING = new AtomicInteger();

    private final SocketChannel socket;
    private final PollChoice choice = new PollChoice();
    private @Nullable InputStream stream;
    private long began;

    ArrivalPoll(SocketChannel socket) {
        this.socket = socket;
    }

    /** Before a read that may sleep. */
    void begin() throws IOException {
        began = System.nanoTime();
        if (!choice.ask()) {
            return;
        }
        InputStream in = stream;
        if (in == null) {
            in = socket.socket().getInputStream();
            stream = in;
        }
        try {
            if (ASKING.incrementAndGet() <= MOST_ASKING) {
                // The end of the stream and a close by others are the read's to find, at the latest after this.
                while (in.available() == 0 && System.nanoTime() - began < PollChoice.POLL_NANOS) {
                    Thread.onSpinWait();
                }
            }
        } finally {
            ASKING.decrementAndGet();
        }
    }

    /** After it. */
    void end() {
        choice.waited(System.nanoTime() - began);
    }
}
