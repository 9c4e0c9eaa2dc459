// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.tcp;

import io.mooncake.transfer.TransferStatus;
import io.mooncake.transfer.internal.Counters;
import io.mooncake.transfer.internal.MovingView;
import io.mooncake.transfer.internal.TransferBatch;
import io.mooncake.transfer.internal.TransferBatch.Slice;
import java.io.EOFException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.ClosedByInterruptException;
import java.nio.channels.ClosedChannelException;
import java.util.concurrent.locks.LockSupport;
import java.util.zip.CRC32C;
import org.jspecify.annotations.Nullable;

/**
 * The asking end of a data connection. One thread at a time drives it; several requests are on the wire at once and answers come in order.
 *
 * <p>The payload goes from the socket into the caller's memory; the scattering read that ends a payload also takes its trailer and the next
 * response, so a stream of slices costs little more than its bytes. When {@link #drive} returns, its thread has left all buffers.
 */
final class TcpClientConnection extends WatchedChannel {
    /** Requests on the wire at a time. */
    private static final int WINDOW = 16;

    /** Bytes on the wire at a time; one slice may be more. */
    private static final long WINDOW_BYTES = 4L << 20;

    /** Fewer bytes say more about the round trip than about the speed. */
    private static final int MIN_SAMPLE_BYTES = 64 << 10;

    /** So many bytes in a row are a sample of the speed, however long the batch is. */
    private static final int SAMPLE_BYTES = 8 << 20;

    /** Larger requests take so long that it does not matter how fast their end is noticed. */
    private static final int ALONE_BYTES = 128 << 10;

    private static final int CONTROL_BYTES = TcpFrameDescriptor.TRAILER_BYTES + TcpFrameDescriptor.RESPONSE_BYTES;

    private final TcpPeerLink link;
    private final Rail rail;
    private final ReceiveCredits credits;
    private final Counters counters;
    private final ByteBuffer out =
            ByteBuffer.allocateDirect(WINDOW * TcpFrameDescriptor.REQUEST_BYTES).order(ByteOrder.LITTLE_ENDIAN);
    /** Trailer and response bytes, in the order of arrival; position..limit is unread. */
    private final ByteBuffer in = ByteBuffer.allocateDirect(CONTROL_BYTES).order(ByteOrder.LITTLE_ENDIAN);

    /** The response to a request alone. */
    private final ByteBuffer head =
            ByteBuffer.allocateDirect(TcpFrameDescriptor.RESPONSE_BYTES).order(ByteOrder.LITTLE_ENDIAN);

    private final MovingView view = new MovingView();
    private final ByteBuffer[] pair = new ByteBuffer[2];
    private final ByteBuffer[] whole = new ByteBuffer[3];
    private final Slice[] window = new Slice[WINDOW];
    private final CRC32C crc = new CRC32C();
    private long sent;
    private long answered;
    /** Bytes of the slices between. */
    private long outstanding;
    /** The owner's latest word on how many bytes of writes may be outstanding before another one starts. */
    private long writeCreditBytes;

    private long sampleBytes;
    private long sampleNanos;
    /** Whether it may have died unseen while it was idle; of whoever has checked it out. */
    private boolean idled;

    /** Since when the first of the unanswered slices has been the next to come. */
    private long sliceNanos;

    private boolean heard;
    /** Whether the batch is one small request. */
    private boolean alone;

    private @Nullable TransferStatus uncredited;

    // What other threads look at.
    /** Guarded by the link's lock. */
    boolean busy;
    /** Whether a slice is on the wire; written by the driving thread. */
    private volatile boolean waiting;
    /** When the peer last took or gave a byte; written by the driving thread. */
    private volatile long progressNanos = System.nanoTime();

    /** Why it is being closed, where that is not the peer's doing; set before it is closed. */
    private volatile boolean cutHere;

    private volatile boolean stalled;

    // Guarded by the credits, but for the flag.
    private int awaitedBytes;
    private @Nullable Thread waiter;
    volatile boolean credited;

    TcpClientConnection(
            Watchdog watchdog,
            PeerChannel channel,
            TcpPeerLink link,
            Rail rail,
            ReceiveCredits credits,
            Counters counters) {
        super(watchdog, channel);
        this.link = link;
        this.rail = rail;
        this.credits = credits;
        this.counters = counters;
        for (int i = 0; i < WINDOW; i++) {
            window[i] = new Slice();
        }
        in.limit(0);
        writeCreditBytes = channel.writeCreditBytes();
        watch();
    }

    /** How driving a connection ended. */
    enum Outcome {
        /** Nothing left to take; the connection is good for the next batch. */
        REUSABLE,
        /** It broke before a byte came back, and it had been idle: the unanswered slices were given back. */
        STALE,
        /** Its rail failed, and there are others: the unanswered slices were given back. */
        RAIL_FAILED,
        /** It broke; the unanswered slices have failed. */
        BROKEN
    }

    TcpPeerLink link() {
        return link;
    }

    Rail rail() {
        return rail;
    }

    /** It comes from among the idle ones, be it for the first time. */
    void waited() {
        idled = true;
    }

    void discard() {
        unwatch();
        cut();
    }

    /** Ends its transfer for a reason of this side: the slices are not moved another way. */
    void end() {
        cutHere = true;
        cut();
    }

    /** Ends its transfer because its rail moves nothing. */
    void stall() {
        stalled = true;
        cut();
    }

    /** Whether a slice has been on the wire since {@code nanos} and no byte has come or gone since. */
    boolean silentSince(long nanos) {
        return waiting && progressNanos - nanos < 0;
    }

    /** When a byte last came or went. */
    long progressNanos() {
        return progressNanos;
    }

    /**
     * Takes slices of {@code batch} until there are none.
     *
     * @param leader whether it must leave none to others
     */
    Outcome drive(TransferBatch batch, boolean leader) {
        boolean wasIdle = idled;
        idled = true;
        heard = false;
        uncredited = null;
        alone = batch.requests() == 1 && batch.totalBytes() <= ALONE_BYTES;
        channel.expectSoon(alone);
        progressNanos = System.nanoTime();
        arm(batch.deadlineNanos());
        try {
            transfer(batch, leader);
            TransferStatus ended = uncredited;
            if (!disarm()) {
                discard();
                // Without credit there is work left, and the deadline has passed.
                return ended == null ? Outcome.BROKEN : fail(batch, batch.deadlineStatus());
            }
            if (ended != null) {
                batch.abort(ended == TransferStatus.TIMEOUT ? batch.deadlineStatus() : ended);
            }
            return Outcome.REUSABLE;
        } catch (ClosedByInterruptException e) {
            discard();
            return fail(batch, TransferStatus.CANCELED);
        } catch (IOException e) {
            discard();
            if (fired()) {
                return fail(batch, batch.deadlineStatus());
            }
            if (cutHere || !(wasIdle && !heard || link.railed())) {
                return fail(batch, TransferStatus.PEER_UNREACHABLE);
            }
            for (long i = answered; i < sent; i++) {
                batch.giveBack(window[(int) (i % WINDOW)]);
            }
            return wasIdle && !heard && !stalled ? Outcome.STALE : Outcome.RAIL_FAILED;
        } finally {
            waiting = false;
            if (outstanding > 0 && !batch.write()) {
                link.arrivedIn(window[(int) (answered % WINDOW)].length(), System.nanoTime() - sliceNanos);
                credits.give(link, outstanding);
            }
            outstanding = 0;
            answered = sent;
            if (heard) {
                link.heard(progressNanos);
            }
        }
    }

    private void transfer(TransferBatch batch, boolean leader) throws IOException {
        sampleBytes = 0;
        sampleNanos = progressNanos;
        while (true) {
            askMore(batch, leader);
            if (answered == sent) {
                sample();
                return;
            }
            waiting = true;
            Slice slice = window[(int) (answered % WINDOW)];
            TransferStatus status = batch.write() ? awaitWritten() : alone ? awaitAlone(slice) : awaitRead(slice);
            answered++;
            if (!batch.write()) {
                link.arrivedIn(slice.length(), progressNanos - sliceNanos);
                sliceNanos = progressNanos;
            }
            if (status == TransferStatus.COMPLETED) {
                batch.arrived(slice, crc, view);
            } else {
                batch.failed(slice, status);
            }
            waiting = answered != sent;
            outstanding -= slice.length();
            if (!batch.write()) {
                credits.give(link, slice.length());
            }
            if (status == TransferStatus.COMPLETED) {
                rail.bytes.add(slice.length());
                sampleBytes += slice.length();
            }
            if (sampleBytes >= SAMPLE_BYTES || link.untried(rail)) {
                sample();
            }
        }
    }

    private void sample() {
        if (sampleBytes >= MIN_SAMPLE_BYTES) {
            rail.moved(sampleBytes, progressNanos - sampleNanos);
            sampleBytes = 0;
            sampleNanos = progressNanos;
        }
    }

    private Outcome fail(TransferBatch batch, TransferStatus status) {
        for (long i = answered; i < sent; i++) {
            batch.failed(window[(int) (i % WINDOW)], status);
        }
        batch.abort(status);
        return Outcome.BROKEN;
    }

    private void askMore(TransferBatch batch, boolean leader) throws IOException {
        out.clear();
        while (sent - answered < WINDOW && mayAsk(batch)) {
            Slice slice = window[(int) (sent % WINDOW)];
            if (!take(batch, leader, slice)) {
                break;
            }
            slice.goesBy(rail.number);
            if (outstanding == 0) {
                sliceNanos = System.nanoTime();
            }
            sent++;
            outstanding += slice.length();
            TcpFrameDescriptor.putRequest(
                    out, batch.write(), alone, sent, slice.handle(), slice.offset(), slice.length(), crc);
            if (batch.write()) {
                waiting = true;
                sendWith(view.at(slice.localAddress(), slice.length()));
            }
        }
        out.flip();
        while (out.hasRemaining()) {
            channel.write(out);
        }
    }

    /** Whether a further request may go out, besides the number of them; a first one always may. */
    private boolean mayAsk(TransferBatch batch) {
        if (outstanding == 0) {
            return true;
        }
        return outstanding < WINDOW_BYTES && !link.untried(rail) && !(batch.write() && outstanding >= writeCreditBytes);
    }

    /** Takes a slice, for a read together with the credit to receive it. */
    private boolean take(TransferBatch batch, boolean leader, Slice slice) throws IOException {
        if (!batch.awaitBuffer(outstanding == 0)) {
            return false;
        }
        if (batch.write()) {
            return batch.nextShare(slice, outstanding, link.weight(rail, batch), leader);
        }
        int bytes = batch.sliceBytes();
        if (!credits.tryTake(link, bytes)) {
            if (!leader || outstanding > 0) {
                return false;
            }
            uncredited = credits.take(link, this, bytes, batch.deadlineNanos());
            if (uncredited != null) {
                if (!channel.isOpen()) {
                    // Cut while it waited; by whom says what becomes of the batch.
                    throw new ClosedChannelException();
                }
                return false;
            }
        }
        double weight = link.weight(rail, batch);
        boolean taken = batch.nextShare(slice, outstanding, weight, leader);
        if (!taken && weight < 1 && outstanding == 0) {
            rail.passedOver();
        }
        credits.give(link, taken ? bytes - slice.length() : bytes);
        return taken;
    }

    private void sendWith(ByteBuffer payload) throws IOException {
        out.flip();
        pair[0] = out;
        pair[1] = payload;
        int bytes = payload.limit();
        if (alone && bytes >= 2 * TcpFrameDescriptor.PIECE_BYTES) {
            payload.limit(TcpFrameDescriptor.PIECE_BYTES);
            sendPair(payload);
            payload.limit(bytes);
        }
        sendPair(payload);
        out.clear();
        counters.writtenTcp.add(payload.limit());
    }

    private void sendPair(ByteBuffer payload) throws IOException {
        while (payload.hasRemaining()) {
            channel.write(pair);
            progressNanos = System.nanoTime();
        }
    }

    private TransferStatus awaitWritten() throws IOException {
        awaitControl(TcpFrameDescriptor.RESPONSE_BYTES, TcpFrameDescriptor.RESPONSE_BYTES, null);
        int at = takeControl(TcpFrameDescriptor.RESPONSE_BYTES);
        TransferStatus status = requireValid(TcpFrameDescriptor.responseStatus(in, at, answered + 1, 0, crc));
        writeCreditBytes = TcpFrameDescriptor.writeCreditBytes(in, at);
        return status;
    }

    private TransferStatus awaitRead(Slice slice) throws IOException {
        awaitControl(TcpFrameDescriptor.RESPONSE_BYTES, TcpFrameDescriptor.RESPONSE_BYTES, null);
        int at = takeControl(TcpFrameDescriptor.RESPONSE_BYTES);
        TransferStatus status =
                requireValid(TcpFrameDescriptor.responseStatus(in, at, answered + 1, slice.length(), crc));
        if (status != TransferStatus.COMPLETED) {
            return status;
        }
        ByteBuffer target = view.at(slice.localAddress(), slice.length());
        boolean more = sent - answered > 1;
        awaitControl(TcpFrameDescriptor.TRAILER_BYTES, more ? CONTROL_BYTES : TcpFrameDescriptor.TRAILER_BYTES, target);
        counters.readTcp.add(slice.length());
        at = takeControl(TcpFrameDescriptor.TRAILER_BYTES);
        return requireValid(TcpFrameDescriptor.trailerStatus(in, at, answered + 1, crc));
    }

    /** The same in as few calls as can be: nothing but this answer can come, so its parts are read together. */
    private TransferStatus awaitAlone(Slice slice) throws IOException {
        ByteBuffer target = view.at(slice.localAddress(), slice.length());
        whole[0] = head.clear();
        whole[1] = target;
        whole[2] = in.clear().limit(TcpFrameDescriptor.TRAILER_BYTES);
        awaitFull(head);
        TransferStatus status =
                requireValid(TcpFrameDescriptor.responseStatus(head, 0, answered + 1, slice.length(), crc));
        if (status == TransferStatus.COMPLETED) {
            awaitFull(in);
            counters.readTcp.add(slice.length());
            status = requireValid(TcpFrameDescriptor.trailerStatus(in, 0, answered + 1, crc));
        } else if (target.position() > 0) {
            throw new IOException("bytes follow an answer without any");
        }
        in.limit(in.position());
        return status;
    }

    private void awaitFull(ByteBuffer part) throws IOException {
        while (part.hasRemaining()) {
            noteRead(channel.read(whole));
        }
    }

    private void noteRead(long bytes) throws IOException {
        if (bytes < 0) {
            throw new EOFException("the peer hung up");
        }
        heard |= bytes > 0;
        progressNanos = System.nanoTime();
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
                noteRead(read);
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

    // ------------------------------------------------------------------------------------------------------ credits

    void awaitCredit(int bytes) {
        awaitedBytes = bytes;
        waiter = Thread.currentThread();
        credited = false;
    }

    int awaitedBytes() {
        return awaitedBytes;
    }

    void credit() {
        credited = true;
        LockSupport.unpark(waiter);
        waiter = null;
    }
}
