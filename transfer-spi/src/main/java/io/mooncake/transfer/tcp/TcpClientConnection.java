// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.tcp;

import io.mooncake.transfer.TransferStatus;
import io.mooncake.transfer.internal.Counters;
import io.mooncake.transfer.internal.DirectViews;
import io.mooncake.transfer.internal.TransferBatch;
import io.mooncake.transfer.internal.TransferBatch.Slice;
import java.io.EOFException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.ClosedByInterruptException;
import java.nio.channels.SocketChannel;
import java.util.zip.CRC32C;
import org.jspecify.annotations.Nullable;

/**
 * The asking end of a data connection. One thread at a time drives it; several requests are on the wire at once and answers come in order.
 *
 * <p>The payload goes from the socket into the caller's memory; the scattering read that ends a payload also takes its trailer and the next
 * response, so a stream of slices costs little more than its bytes. When {@link #drive} returns, its thread has left all buffers.
 */
final class TcpClientConnection extends WatchedChannel {
    private static final int WINDOW = 4;
    private static final int CONTROL_BYTES = TcpFrameDescriptor.TRAILER_BYTES + TcpFrameDescriptor.RESPONSE_BYTES;

    private final Counters counters;
    private final ByteBuffer out =
            ByteBuffer.allocateDirect(WINDOW * TcpFrameDescriptor.REQUEST_BYTES).order(ByteOrder.LITTLE_ENDIAN);
    /** Trailer and response bytes, in the order of arrival; position..limit is unread. */
    private final ByteBuffer in = ByteBuffer.allocateDirect(CONTROL_BYTES).order(ByteOrder.LITTLE_ENDIAN);

    private final ByteBuffer[] pair = new ByteBuffer[2];
    private final Slice[] window = new Slice[WINDOW];
    private final CRC32C crc = new CRC32C();
    private long sent;
    private long answered;
    private boolean used;
    private boolean heard;

    TcpClientConnection(Watchdog watchdog, SocketChannel channel, Counters counters) {
        super(watchdog, channel);
        this.counters = counters;
        for (int i = 0; i < WINDOW; i++) {
            window[i] = new Slice();
        }
        in.limit(0);
        watch();
    }

    /** How driving a connection ended. */
    enum Outcome {
        /** Nothing left to take; the connection is good for the next batch. */
        REUSABLE,
        /** It broke before a byte came back, and it had been idle: the unanswered slices were given back. */
        STALE,
        /** It broke; the unanswered slices have failed. */
        BROKEN
    }

    void discard() {
        unwatch();
        cut();
    }

    /** Takes slices of {@code batch} until there are none. */
    Outcome drive(TransferBatch batch) {
        boolean wasIdle = used;
        used = true;
        heard = false;
        arm(batch.deadlineNanos());
        try {
            while (true) {
                askMore(batch);
                if (answered == sent) {
                    break;
                }
                Slice slice = window[(int) (answered % WINDOW)];
                TransferStatus status = batch.write() ? awaitWritten() : awaitRead(slice);
                answered++;
                if (status == TransferStatus.COMPLETED) {
                    batch.arrived(slice, crc);
                } else {
                    batch.failed(slice, status);
                }
            }
            if (disarm()) {
                return Outcome.REUSABLE;
            }
            discard();
            return Outcome.BROKEN;
        } catch (ClosedByInterruptException e) {
            discard();
            return fail(batch, TransferStatus.CANCELED);
        } catch (IOException e) {
            discard();
            if (fired()) {
                return fail(batch, batch.deadlineStatus());
            }
            if (wasIdle && !heard) {
                for (; answered < sent; answered++) {
                    batch.giveBack(window[(int) (answered % WINDOW)]);
                }
                return Outcome.STALE;
            }
            return fail(batch, TransferStatus.PEER_UNREACHABLE);
        }
    }

    private Outcome fail(TransferBatch batch, TransferStatus status) {
        for (; answered < sent; answered++) {
            batch.failed(window[(int) (answered % WINDOW)], status);
        }
        batch.abort(status);
        return Outcome.BROKEN;
    }

    private void askMore(TransferBatch batch) throws IOException {
        out.clear();
        while (sent - answered < WINDOW) {
            Slice slice = window[(int) (sent % WINDOW)];
            if (!batch.next(slice)) {
                break;
            }
            sent++;
            TcpFrameDescriptor.putRequest(
                    out, batch.write(), sent, slice.handle(), slice.offset(), slice.length(), crc);
            if (batch.write()) {
                sendWith(DirectViews.view(slice.localAddress(), slice.length()));
            }
        }
        out.flip();
        while (out.hasRemaining()) {
            channel.write(out);
        }
    }

    private void sendWith(ByteBuffer payload) throws IOException {
        out.flip();
        pair[0] = out;
        pair[1] = payload;
        while (payload.hasRemaining()) {
            channel.write(pair);
        }
        out.clear();
        counters.writtenTcp.add(payload.limit());
    }

    private TransferStatus awaitWritten() throws IOException {
        awaitControl(TcpFrameDescriptor.RESPONSE_BYTES, TcpFrameDescriptor.RESPONSE_BYTES, null);
        int at = takeControl(TcpFrameDescriptor.RESPONSE_BYTES);
        TransferStatus status = TcpFrameDescriptor.responseStatus(in, at, answered + 1, 0, crc);
        return requireValid(status);
    }

    private TransferStatus awaitRead(Slice slice) throws IOException {
        awaitControl(TcpFrameDescriptor.RESPONSE_BYTES, TcpFrameDescriptor.RESPONSE_BYTES, null);
        int at = takeControl(TcpFrameDescriptor.RESPONSE_BYTES);
        TransferStatus status =
                requireValid(TcpFrameDescriptor.responseStatus(in, at, answered + 1, slice.length(), crc));
        if (status != TransferStatus.COMPLETED) {
            return status;
        }
        ByteBuffer target = DirectViews.view(slice.localAddress(), slice.length());
        boolean more = sent - answered > 1;
        awaitControl(TcpFrameDescriptor.TRAILER_BYTES, more ? CONTROL_BYTES : TcpFrameDescriptor.TRAILER_BYTES, target);
        counters.readTcp.add(slice.length());
        at = takeControl(TcpFrameDescriptor.TRAILER_BYTES);
        return requireValid(TcpFrameDescriptor.trailerStatus(in, at, answered + 1));
    }

    private static TransferStatus requireValid(@Nullable TransferStatus status) throws IOException {
        if (status == null) {
            throw new IOException("the answer is no answer to the request");
        }
        return status;
    }

    /** Reads until {@code target} is full and {@code bytes} control bytes are unread; takes up to {@code atMost} of them. */
    private void awaitControl(int bytes, int atMost, @Nullable ByteBuffer target) throws IOException {
        in.compact();
        // The buffer now fills from its position; what was unread lies before it.
        in.limit(Math.max(in.position(), atMost));
        try {
            while ((target != null && target.hasRemaining()) || in.position() < bytes) {
                long read;
                if (target != null && target.hasRemaining()) {
                    pair[0] = target;
                    pair[1] = in;
                    read = channel.read(pair);
                } else {
                    read = channel.read(in);
                }
                if (read < 0) {
                    throw new EOFException("the peer hung up");
                }
                heard |= read > 0;
            }
        } finally {
            in.flip();
        }
    }

    private int takeControl(int bytes) {
        int at = in.position();
        in.position(at + bytes);
        return at;
    }
}
