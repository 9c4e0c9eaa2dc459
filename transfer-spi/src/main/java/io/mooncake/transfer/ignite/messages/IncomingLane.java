// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.ignite.messages;

import io.mooncake.base.Deadline;
import io.mooncake.base.MooncakeException;
import io.mooncake.transfer.PeerAddress;
import io.mooncake.transfer.RemoteHandle;
import io.mooncake.transfer.TransferStatus;
import io.mooncake.transfer.ignite.messages.LaneFrameDescriptor.Piece;
import io.mooncake.transfer.ignite.messages.LaneFrameDescriptor.Question;
import java.util.Arrays;
import java.util.List;
import java.util.UUID;
import org.apache.ignite.plugin.extensions.communication.Message;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The receiving end of a lane: hands each message of one peer to Ignite once, in the order of its sequence.
 *
 * <p>All state is guarded by this object's monitor, under which messages are handed on too: so what comes by TCP behind a
 * {@link SwitchMark} follows whatever the lane has handed on, and the lane hands on nothing afterwards. An epoch is open from the start, or
 * from the mark that begins it, to the mark that ends it.
 */
final class IncomingLane {
    private static final Logger LOG = LoggerFactory.getLogger(IncomingLane.class);
    private static final long READ_MILLIS = 4_000;
    private static final long TELL_MILLIS = 2_000;
    private static final int MAX_MESSAGE = Integer.MAX_VALUE - 64;

    private final LaneContext context;
    private final UUID node;
    private final PeerAddress peer;
    private final MessageCodec codec;

    private int epoch;
    private boolean open = true;
    private long expected;
    /** Messages of the TCP stream that the lane has handed on already; written under the monitor. */
    private volatile long skip;

    private byte[] large = new byte[0];
    private int filled;
    private boolean reading;
    private boolean closed;
    private @Nullable LaneMemory memory;

    IncomingLane(LaneContext context, UUID node, PeerAddress peer) {
        this.context = context;
        this.node = node;
        this.peer = peer;
        this.codec = new MessageCodec(context.ignite, node);
    }

    /** Takes messages; answers how far the lane has come. */
    synchronized byte[] batch(Question question, List<byte[]> messages) {
        byte[] refusal = refusal(question);
        if (refusal != null) {
            return refusal;
        }
        for (int i = 0; i < messages.size(); i++) {
            long sequence = question.sequence() + i;
            if (sequence < expected) {
                context.duplicates.increment();
            } else if (sequence == expected) {
                byte[] bytes = messages.get(i);
                if (!handOn(bytes, bytes.length)) {
                    return LaneFrameDescriptor.answer(LaneFrameDescriptor.UNREADABLE, 0, expected);
                }
            }
        }
        return LaneFrameDescriptor.answer(LaneFrameDescriptor.TAKEN, 0, expected);
    }

    private byte @Nullable [] refusal(Question question) {
        if (closed || question.epoch() > epoch) {
            return LaneFrameDescriptor.answer(LaneFrameDescriptor.NOT_READY, 0, 0);
        }
        if (question.epoch() < epoch || !open) {
            return LaneFrameDescriptor.answer(LaneFrameDescriptor.ENDED, 0, 0);
        }
        return null;
    }

    /** Whether the message could be read; it counts as taken before Ignite sees it, so that no failure there brings it twice. */
    private boolean handOn(byte[] bytes, int length) {
        Message message;
        try {
            message = codec.read(bytes, length);
        } catch (MooncakeException e) {
            LOG.warn("Message {} of node {} goes by TCP: {}", expected, node, e.getMessage());
            return false;
        }
        expected++;
        context.received.increment();
        try {
            context.stock.deliver(node, message);
        } catch (RuntimeException e) {
            LOG.error("Ignite failed to take a message of node {}", node, e);
        }
        return true;
    }

    // ----------------------------------------------------------------------------------------------------------
    // large messages

    /** Starts to read a part; how far the lane has come is told to the peer afterwards. */
    synchronized byte[] piece(Question question, Piece piece) {
        byte[] refusal = refusal(question);
        if (refusal != null) {
            return refusal;
        }
        if (question.sequence() != expected || piece.offset() != filled) {
            return LaneFrameDescriptor.answer(LaneFrameDescriptor.TAKEN, filled, expected);
        }
        if (!reading) {
            reading = true;
            context.read(() -> read(question, piece));
        }
        return LaneFrameDescriptor.answer(LaneFrameDescriptor.READING, filled, expected);
    }

    private void read(Question question, Piece piece) {
        LaneMemory into = null;
        try {
            into = landing();
            TransferStatus[] status = context.engine.batchTransferSyncRead(
                    peer,
                    new long[] {into.address()},
                    new RemoteHandle[] {piece.handle()},
                    new long[] {piece.length()},
                    Deadline.ofMillis(READ_MILLIS));
            if (status[0] != TransferStatus.COMPLETED || into.crc(piece.length()) != piece.crc()) {
                LOG.debug("Part of message {} of node {}: {}", question.sequence(), node, status[0]);
                into = null;
            }
        } catch (RuntimeException e) {
            LOG.debug("Part of message {} of node {}", question.sequence(), node, e);
            into = null;
        }
        long[] state = took(question, piece, into);
        endRead();
        tell(question, state);
    }

    private synchronized void endRead() {
        reading = false;
        if (closed && memory != null) {
            memory.close();
        }
    }

    private synchronized LaneMemory landing() {
        LaneMemory current = memory;
        if (closed) {
            throw new MooncakeException(MooncakeException.Code.ILLEGAL_STATE, "the lane has ended");
        }
        if (current == null) {
            current = new LaneMemory(context.engine);
            memory = current;
        }
        return current;
    }

    /** What to tell the peer; null when the lane went on without this part. */
    private synchronized long @Nullable [] took(Question question, Piece piece, @Nullable LaneMemory from) {
        if (refusal(question) != null || question.sequence() != expected || piece.offset() != filled) {
            return null;
        }
        if (from == null) {
            return new long[] {expected, filled};
        }
        if (filled > MAX_MESSAGE - piece.length()) {
            return new long[] {expected, -1};
        }
        int total = filled + piece.length();
        if (large.length < total) {
            large = Arrays.copyOf(large, (int) Math.min(MAX_MESSAGE, Math.max(total, piece.last() ? 0 : 2L * total)));
        }
        from.view().get(large, filled, piece.length());
        filled = total;
        if (!piece.last()) {
            return new long[] {expected, filled};
        }
        byte[] whole = large;
        large = new byte[0];
        filled = 0;
        return handOn(whole, total) ? new long[] {expected, 0} : new long[] {expected, -1};
    }

    private void tell(Question question, long @Nullable [] state) {
        if (state != null) {
            Question progress = new Question(LaneFrameDescriptor.PROGRESS, question.epoch(), state[0], context.localId);
            // No answer is waited for: where it is lost, the peer asks again.
            context.engine
                    .control()
                    .request(
                            peer,
                            LaneContext.SERVICE,
                            LaneFrameDescriptor.progress(progress, (int) state[1]),
                            Deadline.ofMillis(TELL_MILLIS));
        }
    }

    // ----------------------------------------------------------------------------------------------------------
    // Ignite's TCP

    /** TCP takes over, or the lane goes on. */
    synchronized void marked(SwitchMark mark) {
        if (mark.takesOver()) {
            if (mark.epoch() != epoch || !open || mark.sequence() > expected) {
                LOG.error("Mark {} of node {} at epoch {}, message {}", mark, node, epoch, expected);
                return;
            }
            open = false;
            skip = expected - mark.sequence();
        } else {
            epoch = mark.epoch();
            open = true;
            expected = 0;
        }
        large = new byte[0];
        filled = 0;
    }

    /** Whether a message of the TCP stream has come by the lane before. */
    boolean skips() {
        if (skip == 0) {
            return false;
        }
        synchronized (this) {
            skip--;
        }
        context.duplicates.increment();
        return true;
    }

    /** The peer is gone, or this node stops. A read that is under way ends first, and lets go of the memory then. */
    synchronized void close() {
        closed = true;
        if (!reading && memory != null) {
            memory.close();
        }
    }
}
