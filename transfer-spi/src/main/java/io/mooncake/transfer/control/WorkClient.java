// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.control;

import io.mooncake.base.MooncakeException;
import io.mooncake.transfer.PeerAddress;
import io.mooncake.transfer.internal.Quietly;
import io.mooncake.transfer.tcp.Plane;
import java.io.IOException;
import java.nio.channels.SocketChannel;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.zeromq.SocketType;
import org.zeromq.ZMQ;

/**
 * Work notices to one life of one peer, by a PUSH. All of it runs on the control loop.
 *
 * <p>A notice waits here until the socket takes it, which it does while a connection is there that is not behind. The socket holds few, so
 * that a peer that is slow holds up who pushes, and little is lost with a connection.
 */
final class WorkClient implements ControlLoop.Actor {
    static final int HIGH_WATER_MARK = 64;
    private static final int MAX_WAITING = 4096;
    private static final long CONNECT_NANOS = 5_000_000_000L;
    private static final long NEVER_MILLIS = 60_000;

    /** One until the socket has it. */
    record Notice(byte[] frame, long deadlineNanos, CompletableFuture<Void> taken) {}

    private final ControlLoop loop;
    private final Connector connector;
    private final PeerAddress peer;
    private final @Nullable String here;
    private final ZMQ.Socket socket;
    private final ArrayDeque<Notice> waiting = new ArrayDeque<>();
    private boolean connecting;
    private boolean joined;
    private boolean closed;
    private @Nullable SocketChannel attached;

    /** @param here the endpoint within this process, for the engine itself; else null */
    WorkClient(ControlLoop loop, Connector connector, PeerAddress peer, @Nullable String here) {
        this.loop = loop;
        this.connector = connector;
        this.peer = peer;
        this.here = here;
        this.socket = loop.open(
                SocketType.PUSH, HIGH_WATER_MARK, (from, first) -> ControlLoop.lastPart(from), this::disconnected);
        loop.add(this);
    }

    void send(Notice notice) {
        if (waiting.size() >= MAX_WAITING) {
            fail(notice, MooncakeException.Code.EXHAUSTED, MAX_WAITING + " notices wait");
            return;
        }
        waiting.add(notice);
        if (here != null && !joined) {
            joined = socket.connect(here);
        } else if (!joined && !connecting) {
            connecting = true;
            connector.connect(peer, Plane.WORK, System.nanoTime() + CONNECT_NANOS, this::connected);
        }
        flush();
    }

    private void connected(@Nullable SocketChannel channel, @Nullable MooncakeException failure) {
        connecting = false;
        if (channel == null) {
            failAll(
                    failure == null ? MooncakeException.Code.PEER_UNREACHABLE : failure.code(),
                    failure == null ? "no connection" : String.valueOf(failure.getMessage()));
            return;
        }
        if (closed) {
            Quietly.close(channel);
            return;
        }
        try {
            ZmqAttachment.attach(socket, channel, peer.encode());
            attached = channel;
            joined = true;
            flush();
        } catch (IOException e) {
            Quietly.close(channel);
            failAll(MooncakeException.Code.INTERNAL, String.valueOf(e.getMessage()));
        }
    }

    private void disconnected(SocketChannel channel) {
        if (attached == channel) {
            attached = null;
            joined = false;
            failAll(MooncakeException.Code.PEER_UNREACHABLE, "the connection broke");
        }
    }

    private void flush() {
        Notice next = waiting.peek();
        while (joined && next != null && socket.send(next.frame, ZMQ.DONTWAIT)) {
            waiting.poll();
            next.taken.complete(null);
            next = waiting.peek();
        }
    }

    @Override
    public long turn(long nowNanos) {
        flush();
        long pause = NEVER_MILLIS;
        for (Iterator<Notice> all = waiting.iterator(); all.hasNext(); ) {
            Notice notice = all.next();
            long left = notice.deadlineNanos - nowNanos;
            if (left <= 0) {
                all.remove();
                fail(
                        notice,
                        joined ? MooncakeException.Code.DEADLINE_EXCEEDED : MooncakeException.Code.PEER_UNREACHABLE,
                        "not taken by the deadline");
            } else {
                // A peer that is behind is asked again and again; a connection tells when it is there.
                pause = joined ? 1 : Math.min(pause, TimeUnit.NANOSECONDS.toMillis(left) + 1);
            }
        }
        return pause;
    }

    /** Ends it; what waits fails. */
    void close(String why) {
        closed = true;
        failAll(MooncakeException.Code.PEER_UNREACHABLE, why);
        loop.remove(this);
        loop.close(socket);
        joined = false;
        attached = null;
    }

    private void failAll(MooncakeException.Code code, String why) {
        List<Notice> all = new ArrayList<>(waiting);
        waiting.clear();
        all.forEach(notice -> fail(notice, code, why));
    }

    private void fail(Notice notice, MooncakeException.Code code, String why) {
        notice.taken.completeExceptionally(new MooncakeException(code, peer.encode() + ": " + why));
    }
}
