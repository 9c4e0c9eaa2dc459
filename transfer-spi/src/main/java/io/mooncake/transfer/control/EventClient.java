// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.control;

import io.mooncake.base.MooncakeException;
import io.mooncake.transfer.PeerAddress;
import io.mooncake.transfer.control.ControlFrameDescriptor.Frame;
import io.mooncake.transfer.internal.Quietly;
import io.mooncake.transfer.tcp.Plane;
import java.io.IOException;
import java.nio.channels.SocketChannel;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.zeromq.SocketType;
import org.zeromq.ZMQ;

/**
 * Subscriptions to one life of one peer. All of it runs on the control loop. A broken connection is made anew with growing pauses, until
 * the last subscription ends or the address turns out to be another life's.
 */
final class EventClient implements ControlLoop.Actor {
    private static final int HIGH_WATER_MARK = 512;
    private static final long MIN_RETRY_NANOS = 100_000_000L;
    private static final long MAX_RETRY_NANOS = 3_000_000_000L;
    private static final long NEVER_MILLIS = 60_000;

    private final ControlLoop loop;
    private final Connector connector;
    private final PeerAddress peer;
    private final boolean checkIncarnation;
    private final @Nullable String here;
    private final ZMQ.Socket socket;
    private boolean piped;
    private final List<EventSubscription> subscriptions = new ArrayList<>();
    private boolean connecting;
    private boolean closed;
    private boolean stale;
    private long retryAtNanos = System.nanoTime();
    private long retryNanos = MIN_RETRY_NANOS;
    private @Nullable SocketChannel attached;

    /** @param here the endpoint within this process, for the engine itself; else null */
    EventClient(
            ControlLoop loop, Connector connector, PeerAddress peer, boolean checkIncarnation, @Nullable String here) {
        this.here = here;
        this.loop = loop;
        this.connector = connector;
        this.peer = peer;
        this.checkIncarnation = checkIncarnation;
        this.socket = loop.open(SocketType.SUB, HIGH_WATER_MARK, this::receive, this::disconnected);
        loop.add(this);
    }

    void add(EventSubscription subscription) {
        if (subscriptions.stream().noneMatch(other -> other.topic().equals(subscription.topic()))) {
            socket.subscribe(ControlFrameDescriptor.topicKey(subscription.topic()));
        }
        subscriptions.add(subscription);
    }

    /** Ends one; whether it was the last. */
    boolean remove(EventSubscription subscription) {
        if (subscriptions.remove(subscription)
                && subscriptions.stream().noneMatch(other -> other.topic().equals(subscription.topic()))) {
            socket.unsubscribe(ControlFrameDescriptor.topicKey(subscription.topic()));
        }
        return subscriptions.isEmpty();
    }

    @Override
    public long turn(long nowNanos) {
        if (piped || attached != null || connecting || stale || closed) {
            return NEVER_MILLIS;
        }
        if (here != null) {
            piped = socket.connect(here);
            return NEVER_MILLIS;
        }
        long left = retryAtNanos - nowNanos;
        if (left > 0) {
            return TimeUnit.NANOSECONDS.toMillis(left) + 1;
        }
        connecting = true;
        connector.connect(peer, Plane.EVENT, nowNanos + MAX_RETRY_NANOS, this::connected);
        return NEVER_MILLIS;
    }

    private void connected(@Nullable SocketChannel channel, @Nullable MooncakeException failure) {
        connecting = false;
        if (channel != null && closed) {
            Quietly.close(channel);
            return;
        }
        if (channel != null) {
            try {
                ZmqAttachment.attach(socket, channel, peer.encode());
                attached = channel;
                retryNanos = MIN_RETRY_NANOS;
                return;
            } catch (IOException e) {
                Quietly.close(channel);
            }
        }
        stale = failure != null && failure.code() == MooncakeException.Code.STALE;
        retryLater();
    }

    private void disconnected(SocketChannel channel) {
        if (attached == channel) {
            attached = null;
            retryLater();
        }
    }

    private void retryLater() {
        retryAtNanos = System.nanoTime() + retryNanos;
        retryNanos = Math.min(MAX_RETRY_NANOS, retryNanos * 2);
    }

    private void receive(ZMQ.Socket from, byte[] topic) {
        Frame frame = ControlFrameDescriptor.decode(ControlLoop.lastPart(from));
        if (frame == null
                || frame.type() != ControlFrameDescriptor.EVENT
                || (checkIncarnation && !frame.sender().equals(peer.incarnation()))) {
            return;
        }
        for (EventSubscription subscription : subscriptions) {
            if (subscription.topic().equals(frame.name())) {
                subscription.offer(frame.payload());
            }
        }
    }

    void close() {
        closed = true;
        loop.remove(this);
        loop.close(socket);
    }
}
