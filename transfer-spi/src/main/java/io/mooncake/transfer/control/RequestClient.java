// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.control;

import io.mooncake.base.MooncakeException;
import io.mooncake.transfer.PeerAddress;
import io.mooncake.transfer.control.ControlFrameDescriptor.Frame;
import io.mooncake.transfer.internal.Quietly;
import io.mooncake.transfer.tcp.Plane;
import java.io.IOException;
import java.nio.channels.SocketChannel;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.PriorityQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.zeromq.SocketType;
import org.zeromq.ZMQ;

/**
 * Requests to one life of one peer. All of it runs on the control loop.
 *
 * <p>States: no connection; connecting (requests wait in the outbox); attached. A connection that breaks fails what is outstanding, for the
 * peer's answer has no way back; the next request connects anew. Requests end at their deadline whatever the state is.
 *
 * <p>A connection that brought a damaged frame is given up. So is one over which nothing came while a request waited until its end: bytes
 * that were lost or added on the way leave both sides waiting for the rest of a message, for good.
 */
final class RequestClient implements ControlLoop.Actor {
    private static final int MAX_OUTSTANDING = 4096;
    private static final long NEVER_MILLIS = 60_000;
    /** A request that had less time than this says nothing about the connection. */
    private static final long LEAST_SILENCE_NANOS = 200_000_000L;

    /** Of requests one after another, where others still wait, who would lose their answers. */
    private static final int SILENT_REQUESTS = 3;

    /** From the first of them on. */
    private static final long SILENCE_NANOS = 2_000_000_000L;

    /** A turn that comes later than this is the end of a pause of this process, which heard nobody meanwhile. */
    private static final long LATE_NANOS = 200_000_000L;

    /** One request until its future is completed. */
    static final class Pending {
        final long correlation;
        final byte[] frame;
        final long deadlineNanos;
        final CompletableFuture<byte[]> reply;
        /** When it went out; 0 while it has not. */
        long sentNanos;

        Pending(long correlation, byte[] frame, long deadlineNanos, CompletableFuture<byte[]> reply) {
            this.correlation = correlation;
            this.frame = frame;
            this.deadlineNanos = deadlineNanos;
            this.reply = reply;
        }
    }

    private final ControlLoop loop;
    private final Connector connector;
    private final PeerAddress peer;
    private final boolean checkIncarnation;
    private final @Nullable String here;
    private ZMQ.Socket socket;
    /** Whether the pipe within the process is there. */
    private boolean piped;

    private final Map<Long, Pending> outstanding = new HashMap<>();
    private final PriorityQueue<Pending> byDeadline =
            new PriorityQueue<>((a, b) -> Long.signum(a.deadlineNanos - b.deadlineNanos));
    private final ArrayDeque<Pending> outbox = new ArrayDeque<>();
    private boolean connecting;
    private long connectUntilNanos;
    private boolean closed;
    private @Nullable SocketChannel attached;
    /** When a frame last came. */
    private long heardNanos = System.nanoTime();
    /** Requests, each sent after the one before had ended, that ended without a frame of the peer. */
    private int silent;
    /** When the first of them was sent, and when the last of them ended. */
    private long silentSinceNanos;

    private long silentUntilNanos = heardNanos;
    /** When the next turn is to come at the latest, and when the last one came late. */
    private long dueNanos = heardNanos + TimeUnit.MILLISECONDS.toNanos(NEVER_MILLIS);

    private long resumedNanos = heardNanos;

    /** @param here the endpoint within this process, for the engine itself; else null */
    RequestClient(
            ControlLoop loop, Connector connector, PeerAddress peer, boolean checkIncarnation, @Nullable String here) {
        this.here = here;
        this.loop = loop;
        this.connector = connector;
        this.peer = peer;
        this.checkIncarnation = checkIncarnation;
        this.socket = open();
        loop.add(this);
    }

    private ZMQ.Socket open() {
        return loop.open(SocketType.DEALER, MAX_OUTSTANDING, this::receive, this::disconnected);
    }

    void send(Pending pending) {
        if (outstanding.size() >= MAX_OUTSTANDING) {
            fail(pending, MooncakeException.Code.EXHAUSTED, MAX_OUTSTANDING + " requests are outstanding");
            return;
        }
        outstanding.put(pending.correlation, pending);
        byDeadline.add(pending);
        outbox.add(pending);
        if (here != null && !piped) {
            piped = socket.connect(here);
        } else if (!joined() && !connecting) {
            connect(pending.deadlineNanos);
        }
        flush();
    }

    /** Whether there is a way to the peer. */
    private boolean joined() {
        return piped || attached != null;
    }

    private void connect(long deadlineNanos) {
        connecting = true;
        connectUntilNanos = deadlineNanos;
        connector.connect(peer, Plane.CONTROL, deadlineNanos, this::connected);
    }

    /** A hurried request's time for the connection ran out: those that have more get another one. Whether there are any. */
    private boolean connectForPatient() {
        long now = System.nanoTime();
        if (closed || now - connectUntilNanos < 0) {
            return false;
        }
        expire(now);
        if (outstanding.isEmpty()) {
            return false;
        }
        long left = 0;
        for (Pending pending : outstanding.values()) {
            left = Math.max(left, pending.deadlineNanos - now);
        }
        connect(now + left);
        return true;
    }

    private void connected(@Nullable SocketChannel channel, @Nullable MooncakeException failure) {
        connecting = false;
        if (channel == null || failure != null) {
            MooncakeException cause = failure == null
                    ? new MooncakeException(MooncakeException.Code.PEER_UNREACHABLE, peer.encode())
                    : failure;
            if (cause.code() == MooncakeException.Code.PEER_UNREACHABLE && connectForPatient()) {
                return;
            }
            failAll(cause.code(), String.valueOf(cause.getMessage()));
            return;
        }
        if (closed) {
            Quietly.close(channel);
            return;
        }
        try {
            ZmqAttachment.attach(socket, channel, peer.encode());
            attached = channel;
            silent = 0;
            flush();
        } catch (IOException e) {
            Quietly.close(channel);
            failAll(MooncakeException.Code.INTERNAL, String.valueOf(e.getMessage()));
        }
    }

    private void disconnected(SocketChannel channel) {
        if (attached == channel) {
            attached = null;
            failAll(MooncakeException.Code.PEER_UNREACHABLE, "the connection broke");
        }
    }

    private void flush() {
        while (joined() && !outbox.isEmpty()) {
            Pending next = outbox.peek();
            if (outstanding.containsKey(next.correlation) && !socket.send(next.frame, ZMQ.DONTWAIT)) {
                return;
            }
            next.sentNanos = System.nanoTime();
            outbox.poll();
        }
    }

    private void receive(ZMQ.Socket from, byte[] bytes) {
        ControlLoop.lastPart(from);
        Frame frame = ControlFrameDescriptor.decode(bytes);
        if (frame == null) {
            if (joined()) {
                giveUp("a frame was damaged");
            } else {
                // Left from a connection that has ended; what waits has not been sent.
                replaceSocket();
            }
            return;
        }
        heardNanos = System.nanoTime();
        silent = 0;
        Pending pending = outstanding.remove(frame.correlation());
        if (pending == null) {
            return;
        }
        byDeadline.remove(pending);
        if (checkIncarnation && !frame.sender().equals(peer.incarnation())) {
            fail(pending, MooncakeException.Code.STALE, "answered by " + frame.sender());
        } else if (frame.type() == ControlFrameDescriptor.REPLY) {
            pending.reply.complete(frame.payload());
        } else {
            MooncakeException.Code code =
                    switch (frame.error()) {
                        case ControlFrameDescriptor.STALE -> MooncakeException.Code.STALE;
                        case ControlFrameDescriptor.BUSY -> MooncakeException.Code.EXHAUSTED;
                        default -> MooncakeException.Code.PEER_REFUSED;
                    };
            fail(pending, code, frame.text());
        }
    }

    @Override
    public long turn(long nowNanos) {
        if (nowNanos - dueNanos > LATE_NANOS) {
            resumedNanos = nowNanos;
        }
        flush();
        Pending next = byDeadline.peek();
        if (next != null && next.deadlineNanos - nowNanos <= 0) {
            receivePending();
            expire(nowNanos);
        }
        long pause = pauseMillis(nowNanos);
        dueNanos = nowNanos + TimeUnit.MILLISECONDS.toNanos(pause);
        return pause;
    }

    private long pauseMillis(long nowNanos) {
        if (joined() && !outbox.isEmpty()) {
            return 1;
        }
        Pending first = byDeadline.peek();
        return first == null ? NEVER_MILLIS : TimeUnit.NANOSECONDS.toMillis(first.deadlineNanos - nowNanos) + 1;
    }

    /** Answers that have come already are no silence. */
    private void receivePending() {
        for (int i = 0; i < MAX_OUTSTANDING; i++) {
            byte[] first = socket.recv(ZMQ.DONTWAIT);
            if (first == null) {
                return;
            }
            receive(socket, first);
        }
    }

    private void expire(long nowNanos) {
        Pending first = byDeadline.peek();
        while (first != null && first.deadlineNanos - nowNanos <= 0) {
            byDeadline.poll();
            outstanding.remove(first.correlation);
            outbox.remove(first);
            boolean reachable = joined();
            if (reachable && unheard(first, nowNanos)) {
                silentSinceNanos = silent == 0 ? first.sentNanos : silentSinceNanos;
                silentUntilNanos = nowNanos;
                silent++;
            }
            fail(
                    first,
                    reachable ? MooncakeException.Code.DEADLINE_EXCEEDED : MooncakeException.Code.PEER_UNREACHABLE,
                    "no answer by the deadline");
            first = byDeadline.peek();
        }
        boolean silence = silent >= SILENT_REQUESTS && nowNanos - silentSinceNanos >= SILENCE_NANOS;
        if (joined() && (silence || (silent > 0 && outstanding.isEmpty()))) {
            giveUp("nothing was heard over the connection");
        }
    }

    private boolean unheard(Pending ended, long nowNanos) {
        return ended.sentNanos != 0
                && nowNanos - ended.sentNanos >= LEAST_SILENCE_NANOS
                && heardNanos - ended.sentNanos < 0
                && ended.sentNanos - silentUntilNanos >= 0
                && ended.sentNanos - resumedNanos >= 0;
    }

    /** Lets go of the connection; the next request makes another. */
    private void giveUp(String why) {
        replaceSocket();
        failAll(MooncakeException.Code.PEER_UNREACHABLE, why);
    }

    private void replaceSocket() {
        loop.close(socket);
        attached = null;
        piped = false;
        silent = 0;
        socket = open();
    }

    /** Ends it; what is outstanding fails. */
    void close(String why) {
        closed = true;
        failAll(MooncakeException.Code.PEER_UNREACHABLE, why);
        loop.remove(this);
        loop.close(socket);
        attached = null;
        piped = false;
    }

    private void failAll(MooncakeException.Code code, String why) {
        List<Pending> all = new ArrayList<>(outstanding.values());
        outstanding.clear();
        byDeadline.clear();
        outbox.clear();
        all.forEach(pending -> fail(pending, code, why));
    }

    private void fail(Pending pending, MooncakeException.Code code, String why) {
        pending.reply.completeExceptionally(new MooncakeException(code, peer.encode() + ": " + why));
    }
}
