// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.control;

import io.mooncake.base.MooncakeException;
import io.mooncake.transfer.PeerAddress;
import io.mooncake.transfer.TransferStatus;
import io.mooncake.transfer.internal.Quietly;
import io.mooncake.transfer.tcp.GonePeers;
import io.mooncake.transfer.tcp.HandshakeException;
import io.mooncake.transfer.tcp.PeerChannel;
import io.mooncake.transfer.tcp.PeerSockets;
import io.mooncake.transfer.tcp.Plane;
import java.io.IOException;
import java.nio.channels.SocketChannel;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.RejectedExecutionException;
import org.jspecify.annotations.Nullable;

/** Connects and shakes hands on other threads than the loop, and reports back on the loop. */
final class Connector {
    private static final long MAX_CONNECT_NANOS = 5_000_000_000L;

    private final ControlLoop loop;
    private final PeerSockets sockets;
    private final GonePeers gone;
    private final ExecutorService threads;

    Connector(ControlLoop loop, PeerSockets sockets, GonePeers gone, ExecutorService threads) {
        this.loop = loop;
        this.sockets = sockets;
        this.gone = gone;
        this.threads = threads;
    }

    /** Gets the channel, or why there is none; on the loop. */
    @FunctionalInterface
    interface Outcome {
        void connected(@Nullable SocketChannel channel, @Nullable MooncakeException failure);
    }

    void connect(PeerAddress peer, Plane plane, long deadlineNanos, Outcome outcome) {
        try {
            threads.execute(() -> shakeHands(peer, plane, deadlineNanos, outcome));
        } catch (RejectedExecutionException | OutOfMemoryError e) {
            loop.post(() -> outcome.connected(null, failure(MooncakeException.Code.EXHAUSTED, "too many connects")));
        }
    }

    private void shakeHands(PeerAddress peer, Plane plane, long deadlineNanos, Outcome outcome) {
        long now = System.nanoTime();
        long until = now + Math.min(MAX_CONNECT_NANOS, deadlineNanos - now);
        try {
            SocketChannel channel =
                    handOver(peer, sockets.connect(peer, plane, until, () -> gone.contains(peer.incarnation())));
            if (!loop.post(() -> outcome.connected(channel, null))) {
                Quietly.close(channel);
            }
        } catch (HandshakeException e) {
            MooncakeException.Code code =
                    switch (e.status()) {
                        case STALE_INCARNATION -> MooncakeException.Code.STALE;
                        case REFUSED -> MooncakeException.Code.PEER_REFUSED;
                        case COMPLETED,
                                TIMEOUT,
                                CANCELED,
                                STALE_GENERATION,
                                LEASE_EXPIRED,
                                CHECKSUM,
                                PEER_UNREACHABLE,
                                DEVICE_FAILED -> MooncakeException.Code.PEER_UNREACHABLE;
                    };
            loop.post(() -> outcome.connected(null, failure(code, String.valueOf(e.getMessage()))));
        } catch (RuntimeException | OutOfMemoryError e) {
            // Whoever asked waits for an outcome before it tries again.
            loop.post(() -> outcome.connected(null, failure(MooncakeException.Code.EXHAUSTED, e.toString())));
        }
    }

    private static SocketChannel handOver(PeerAddress peer, PeerChannel channel) throws HandshakeException {
        try {
            return channel.handOver();
        } catch (IOException e) {
            Quietly.close(channel);
            throw new HandshakeException(TransferStatus.PEER_UNREACHABLE, peer.encode() + ": " + e);
        }
    }

    private static MooncakeException failure(MooncakeException.Code code, String message) {
        return new MooncakeException(code, message);
    }
}
