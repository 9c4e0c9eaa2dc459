// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.ignite.messages;

import io.mooncake.base.Deadline;
import io.mooncake.transfer.PeerAddress;
import io.mooncake.transfer.ignite.messages.LaneFrameDescriptor.Answer;
import io.mooncake.transfer.ignite.messages.LaneFrameDescriptor.Piece;
import io.mooncake.transfer.ignite.messages.LaneFrameDescriptor.Question;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Iterator;
import java.util.List;
import java.util.concurrent.locks.ReentrantReadWriteLock;
import org.apache.ignite.IgniteCheckedException;
import org.apache.ignite.IgniteException;
import org.apache.ignite.cluster.ClusterNode;
import org.apache.ignite.lang.IgniteInClosure;
import org.apache.ignite.plugin.extensions.communication.Message;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The sending end of a lane: keeps each message until the peer has confirmed it.
 *
 * <pre>
 * ENGINE     messages queue; one question at a time is out, with the first of them; the answer says how many were taken
 * SWITCHING  messages queue; one thread moves them to Ignite's TCP: a mark with the sequence of the first, then all in order
 * TCP        messages go to Ignite's TCP at once; from time to time the peer is asked whether it hears
 * </pre>
 *
 * ENGINE becomes SWITCHING when the peer has not answered for the context's patience, or can't read a message; SWITCHING becomes TCP when
 * the queue is empty; TCP becomes ENGINE, an epoch later, by a mark in the TCP stream.
 *
 * <p>Who has set {@code busy} owns the question that is out, its buffers and the codec, and passes them on by the executors. {@code turn}
 * tells late answers from current ones. The mode changes from and to TCP under the write lock: senders hold the read lock, so no message
 * that was meant for the stream of one mode gets into the next one.
 */
final class OutgoingLane {
    private static final Logger LOG = LoggerFactory.getLogger(OutgoingLane.class);
    private static final int INLINE_BYTES = 64 << 10;
    private static final int BATCH_BYTES = 256 << 10;
    private static final long ATTEMPT_MILLIS = 1_000;
    private static final long MAX_PAUSE_MILLIS = 50;
    private static final long STOCK_PAUSE_MILLIS = 50;
    private static final long RETURN_NANOS = 5_000_000_000L;
    private static final long UNREADABLE_RETURN_NANOS = 300_000_000_000L;

    private enum Mode {
        ENGINE,
        SWITCHING,
        TCP
    }

    private record Entry(Message message, @Nullable IgniteInClosure<IgniteException> ack) {}

    private final LaneContext context;
    private final ClusterNode node;
    private final PeerAddress peer;
    private final MessageCodec codec;
    private final ReentrantReadWriteLock modeLock = new ReentrantReadWriteLock();
    private volatile Mode mode = Mode.ENGINE;

    // Guarded by the queue.
    private final ArrayDeque<Entry> queue = new ArrayDeque<>();
    private long first;
    private boolean busy;
    private boolean gone;
    private boolean waiting;
    private long turn;

    // Owned by whoever is busy.
    private final ByteBuffer scratch = ByteBuffer.allocate(INLINE_BYTES).order(ByteOrder.nativeOrder());
    private byte @Nullable [] question;
    private int asked;
    private int askedBytes;
    private @Nullable Entry large;
    private int pieceOffset;
    private int pieceLength;
    private boolean pieceLast;
    private long failingSinceNanos;
    private int failures;
    private boolean unread;
    private boolean marked;
    private int epoch;

    /** Guards memory against being closed while it is written. */
    private final Object memoryUse = new Object();

    private @Nullable LaneMemory memory;
    private boolean closed;

    // Written before the mode becomes TCP, read afterwards.
    private volatile long returnAtNanos;
    private volatile boolean pinging;

    OutgoingLane(LaneContext context, ClusterNode node, PeerAddress peer) {
        this.context = context;
        this.node = node;
        this.peer = peer;
        this.codec = new MessageCodec(context.ignite, node.id());
    }

    /** Sends in turn. */
    void send(Message message, @Nullable IgniteInClosure<IgniteException> ack) {
        boolean stock;
        modeLock.readLock().lock();
        try {
            synchronized (queue) {
                stock = gone || mode == Mode.TCP;
                if (!stock) {
                    queue.add(new Entry(message, ack));
                }
            }
            if (stock) {
                context.stock.send(node, message, ack);
            }
        } finally {
            modeLock.readLock().unlock();
        }
        if (!stock) {
            pump();
        }
    }

    /** Messages that nobody has confirmed. */
    int waiting() {
        synchronized (queue) {
            return queue.size();
        }
    }

    // ----------------------------------------------------------------------------------------------------------
    // questions

    private void pump() {
        synchronized (queue) {
            if (busy || gone || mode != Mode.ENGINE || queue.isEmpty()) {
                return;
            }
            busy = true;
        }
        failures = 0;
        unread = false;
        step();
    }

    /** Asks the current question, or the next one; the caller is the owner. */
    private void step() {
        try {
            byte[] current = question;
            if (current == null) {
                current = next();
                question = current;
            }
            ask(current);
        } catch (IgniteCheckedException | RuntimeException e) {
            if (ended()) {
                return;
            }
            takeOver("message " + first + " can't be written: " + e, UNREADABLE_RETURN_NANOS);
        }
    }

    private byte[] next() throws IgniteCheckedException {
        synchronized (memoryUse) {
            if (closed) {
                throw new IllegalStateException("the lane has ended");
            }
            return large == null ? prepare() : preparePiece(writeOn(large));
        }
    }

    private void ask(byte[] payload) {
        long mine;
        synchronized (queue) {
            mine = ++turn;
            waiting = true;
        }
        context.engine
                .control()
                .request(peer, LaneContext.SERVICE, payload, Deadline.ofMillis(ATTEMPT_MILLIS))
                .whenComplete((reply, error) -> context.work(() -> answered(mine, reply, error)));
    }

    private List<Entry> head() {
        synchronized (queue) {
            List<Entry> found = new ArrayList<>(Math.min(queue.size(), LaneFrameDescriptor.MAX_COUNT));
            Iterator<Entry> all = queue.iterator();
            while (all.hasNext() && found.size() < LaneFrameDescriptor.MAX_COUNT) {
                found.add(all.next());
            }
            return found;
        }
    }

    private Question head(int kind) {
        return new Question(kind, epoch, first, context.localId);
    }

    /** As many of the first messages as fit into a batch, or the first part of a large one. */
    private byte[] prepare() throws IgniteCheckedException {
        List<byte[]> messages = new ArrayList<>();
        int bytes = 0;
        for (Entry entry : head()) {
            scratch.clear();
            if (codec.write(entry.message, scratch)) {
                messages.add(Arrays.copyOf(scratch.array(), scratch.position()));
                bytes += scratch.position();
                if (bytes >= BATCH_BYTES) {
                    break;
                }
            } else if (messages.isEmpty()) {
                large = entry;
                pieceOffset = 0;
                ByteBuffer into = memory().view().put(scratch.flip());
                return preparePiece(writeOn(entry, into));
            } else {
                codec.abandon();
                break;
            }
        }
        asked = messages.size();
        askedBytes = bytes;
        return LaneFrameDescriptor.batch(head(LaneFrameDescriptor.BATCH), messages);
    }

    /** Writes on; the bytes that were written, as their complement when they are the last ones. */
    private int writeOn(Entry entry) throws IgniteCheckedException {
        return writeOn(entry, memory().view());
    }

    private int writeOn(Entry entry, ByteBuffer into) throws IgniteCheckedException {
        return codec.write(entry.message, into) ? -into.position() - 1 : into.position();
    }

    private byte[] preparePiece(int written) {
        pieceLast = written < 0;
        pieceLength = pieceLast ? -written - 1 : written;
        LaneMemory from = memory();
        return LaneFrameDescriptor.piece(
                head(LaneFrameDescriptor.PIECE),
                new Piece(pieceOffset, pieceLength, from.crc(pieceLength), pieceLast, from.handle(peer.incarnation())));
    }

    private LaneMemory memory() {
        LaneMemory current = memory;
        if (current == null) {
            current = new LaneMemory(context.engine);
            memory = current;
        }
        return current;
    }

    // ----------------------------------------------------------------------------------------------------------
    // answers

    /** Whether the caller is the first with news for that turn, and so the owner. */
    private boolean claim(long mine) {
        synchronized (queue) {
            boolean current = waiting && turn == mine && !gone;
            waiting &= !current;
            return current;
        }
    }

    private void answered(long mine, byte @Nullable [] reply, @Nullable Throwable error) {
        Answer answer = null;
        String failure = String.valueOf(error);
        if (reply != null) {
            try {
                answer = LaneFrameDescriptor.answer(reply);
            } catch (RuntimeException e) {
                failure = e.toString();
            }
        }
        if (answer != null && answer.outcome() == LaneFrameDescriptor.READING) {
            // The turn stays open for the progress that follows.
            reading(mine);
            context.later(
                    context.readMillis,
                    () -> context.work(() -> {
                        if (claim(mine)) {
                            unread = true;
                            again("part not read in time");
                        }
                    }));
            return;
        }
        if (!claim(mine)) {
            return;
        }
        if (answer == null) {
            again(failure);
            return;
        }
        switch (answer.outcome()) {
            case LaneFrameDescriptor.TAKEN -> taken(answer.next(), answer.filled());
            case LaneFrameDescriptor.NOT_READY -> again("the peer is not ready");
            case LaneFrameDescriptor.UNREADABLE -> {
                confirm(answer.next());
                takeOver("message " + answer.next() + " can't be read there", UNREADABLE_RETURN_NANOS);
            }
            default -> takeOver("the peer says that epoch " + epoch + " has ended", RETURN_NANOS);
        }
    }

    /**
     * The peer is there: failures before do not count together with the time that its reading takes. Once for a part, else a peer that reads
     * nothing would be asked for ever. Under the lock, for the owner may have changed.
     */
    private void reading(long mine) {
        synchronized (queue) {
            if (waiting && turn == mine && !unread) {
                failures = 0;
            }
        }
    }

    /** The peer has read a part, or failed to. */
    void progressed(int ofEpoch, long next, int filled) {
        long mine;
        synchronized (queue) {
            mine = turn;
            // A part that was asked for again may be told twice: only news counts.
            boolean done = pieceLast ? next == first + 1 : next == first && filled == pieceOffset + pieceLength;
            boolean failed = next == first && (filled < 0 || filled == pieceOffset);
            if (mode != Mode.ENGINE || ofEpoch != epoch || large == null || !(done || failed)) {
                return;
            }
        }
        if (claim(mine)) {
            if (filled < 0) {
                takeOver("message " + next + " can't be read there", UNREADABLE_RETURN_NANOS);
            } else {
                taken(next, filled);
            }
        }
    }

    private void taken(long next, int filled) {
        if (large == null) {
            long count = next - first;
            if (count < 0 || count > asked) {
                takeOver("the peer is at message " + next + " instead of " + first, RETURN_NANOS);
            } else if (count == 0) {
                again("nothing was taken");
            } else {
                context.bytesSent.add(askedBytes);
                settle(next);
            }
        } else if (next == first + 1) {
            context.piecesSent.increment();
            context.bytesSent.add((long) pieceOffset + pieceLength);
            large = null;
            settle(next);
        } else if (next == first && filled == pieceOffset + pieceLength && !pieceLast) {
            context.piecesSent.increment();
            pieceOffset = filled;
            question = null;
            failures = 0;
            unread = false;
            step();
        } else if (next == first && filled == pieceOffset) {
            again("part not read");
        } else {
            takeOver("the peer is at message " + next + ", byte " + filled + " instead of " + first, RETURN_NANOS);
        }
    }

    private void settle(long next) {
        question = null;
        confirm(next);
        synchronized (queue) {
            busy = false;
        }
        pump();
    }

    private void confirm(long next) {
        List<Entry> confirmed = new ArrayList<>();
        synchronized (queue) {
            while (first < next && !queue.isEmpty()) {
                confirmed.add(queue.remove());
                first++;
            }
        }
        for (Entry entry : confirmed) {
            context.sent.increment();
            settled(entry, null);
        }
    }

    private static void settled(Entry entry, @Nullable IgniteException failure) {
        try {
            if (failure == null) {
                entry.message.onAckReceived();
            }
            if (entry.ack != null) {
                entry.ack.apply(failure);
            }
        } catch (RuntimeException e) {
            LOG.error("A listener of a message failed", e);
        }
    }

    private void again(String reason) {
        long now = System.nanoTime();
        if (failures++ == 0) {
            failingSinceNanos = now;
        } else if (now - failingSinceNanos > context.patienceNanos) {
            takeOver(reason, RETURN_NANOS);
            return;
        }
        context.repeated.increment();
        context.later(
                Math.min(1L << Math.min(failures, 10), MAX_PAUSE_MILLIS),
                () -> context.work(() -> {
                    byte[] same = question;
                    if (same != null && !ended()) {
                        ask(same);
                    }
                }));
    }

    private boolean ended() {
        synchronized (queue) {
            return gone;
        }
    }

    // ----------------------------------------------------------------------------------------------------------
    // Ignite's TCP

    private void takeOver(String reason, long returnNanos) {
        LOG.warn("Messages to node {} go by TCP: {}", node.id(), reason);
        context.takeovers.increment();
        returnAtNanos = System.nanoTime() + returnNanos;
        codec.abandon();
        question = null;
        large = null;
        marked = false;
        synchronized (queue) {
            mode = Mode.SWITCHING;
        }
        context.take(this::moveToStock);
    }

    private void moveToStock() {
        try {
            if (!marked) {
                context.stock.send(node, new SwitchMark(true, epoch, first).encode(), null);
                marked = true;
            }
            while (!ended() && (moved() || !switched())) {
                LOG.trace("Another message to node {} by TCP", node.id());
            }
        } catch (RuntimeException e) {
            // Nothing of that message is under way: the same again, until the peer is gone.
            LOG.debug("Message {} to node {} waits for TCP", first, node.id(), e);
            context.later(STOCK_PAUSE_MILLIS, () -> context.take(this::moveToStock));
        }
    }

    /** Whether there was a message to move. One that is being moved is Ignite's to confirm or to fail. */
    private boolean moved() {
        Entry entry;
        synchronized (queue) {
            entry = queue.poll();
        }
        if (entry == null) {
            return false;
        }
        try {
            context.stock.send(node, entry.message, entry.ack);
        } catch (RuntimeException e) {
            boolean left;
            synchronized (queue) {
                left = gone;
                if (!left) {
                    queue.addFirst(entry);
                }
            }
            if (left) {
                settled(entry, new IgniteException("Failed to send message, node has left: " + node.id(), e));
            }
            throw e;
        }
        first++;
        return true;
    }

    private boolean switched() {
        modeLock.writeLock().lock();
        try {
            synchronized (queue) {
                if (!queue.isEmpty()) {
                    return false;
                }
                mode = Mode.TCP;
                busy = false;
                return true;
            }
        } finally {
            modeLock.writeLock().unlock();
        }
    }

    /** Called from time to time: asks the peer whether the lane can go on. */
    void check() {
        if (mode != Mode.TCP || pinging || System.nanoTime() - returnAtNanos < 0 || ended()) {
            return;
        }
        pinging = true;
        byte[] ping =
                LaneFrameDescriptor.question(head(LaneFrameDescriptor.PING), 0).array();
        context.engine
                .control()
                .request(peer, LaneContext.SERVICE, ping, Deadline.ofMillis(ATTEMPT_MILLIS))
                .whenComplete((reply, error) -> {
                    if (reply == null) {
                        returnAtNanos = System.nanoTime() + RETURN_NANOS;
                        pinging = false;
                    } else {
                        context.take(this::goOn);
                    }
                });
    }

    private void goOn() {
        modeLock.writeLock().lock();
        try {
            if (mode != Mode.TCP || ended() || epoch >= SwitchMark.MAX_EPOCH) {
                return;
            }
            context.stock.send(node, new SwitchMark(false, epoch + 1, 0).encode(), null);
            synchronized (queue) {
                epoch++;
                first = 0;
                mode = Mode.ENGINE;
            }
            context.returns.increment();
            LOG.info("Messages to node {} go over the engine again", node.id());
        } catch (RuntimeException e) {
            returnAtNanos = System.nanoTime() + RETURN_NANOS;
            LOG.debug("Messages to node {} stay with TCP", node.id(), e);
        } finally {
            pinging = false;
            modeLock.writeLock().unlock();
        }
    }

    /** The peer is gone: who waits for a confirmation hears of it, as with Ignite's TCP. */
    void nodeLeft() {
        List<Entry> left;
        synchronized (queue) {
            gone = true;
            waiting = false;
            left = new ArrayList<>(queue);
            queue.clear();
        }
        IgniteException failure = new IgniteException("Failed to send message, node has left: " + node.id());
        left.forEach(entry -> settled(entry, failure));
    }

    /** Lets go of the memory. */
    void close() {
        synchronized (queue) {
            gone = true;
        }
        synchronized (memoryUse) {
            closed = true;
            if (memory != null) {
                memory.close();
            }
        }
    }
}
