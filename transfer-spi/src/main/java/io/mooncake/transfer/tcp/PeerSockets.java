// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.tcp;

import io.mooncake.base.MooncakeException;
import io.mooncake.transfer.PeerAddress;
import io.mooncake.transfer.TransferStatus;
import io.mooncake.transfer.internal.ClusterKey;
import io.mooncake.transfer.internal.Counters;
import io.mooncake.transfer.internal.Quietly;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.StandardSocketOptions;
import java.net.UnknownHostException;
import java.nio.channels.ClosedByInterruptException;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The authenticated sockets of one engine: opens listening ports and connections whose both ends have proved the cluster's secret. All
 * planes come through here, so that no other code ever sees a byte of a stranger.
 *
 * <p>Threading: safe for all threads. Ownership: a connected channel belongs to the caller; acceptors are closed by {@link #close}.
 */
public final class PeerSockets implements AutoCloseable {
    /** A stranger has this long to prove the secret. */
    static final long HANDSHAKE_NANOS = 4_500_000_000L;

    private static final Logger LOG = LoggerFactory.getLogger(PeerSockets.class);
    private static final long LOG_PAUSE_NANOS = 1_000_000_000L;

    private final AtomicLong lastLogNanos = new AtomicLong(System.nanoTime() - LOG_PAUSE_NANOS);
    private final Handshake handshake;
    private final Counters counters;
    private final Watchdog watchdog;
    private final List<PeerAcceptor> acceptors = new ArrayList<>();

    public PeerSockets(ClusterKey root, UUID own, boolean checkIncarnation, Counters counters) {
        this.handshake = new Handshake(root, own, checkIncarnation);
        this.counters = counters;
        this.watchdog = new Watchdog("mooncake-watchdog");
    }

    /** Counts a stranger, and logs at most one a second. */
    void refused(Plane plane, SocketChannel channel, Exception why) {
        counters.authenticationFailures.increment();
        long last = lastLogNanos.get();
        long now = System.nanoTime();
        if (now - last >= LOG_PAUSE_NANOS && lastLogNanos.compareAndSet(last, now)) {
            LOG.warn(
                    "A connection from {} to the {} port did not prove the cluster's secret: {} ({} so far)",
                    channel.socket().getRemoteSocketAddress(),
                    plane,
                    why.toString(),
                    counters.authenticationFailures.sum());
        }
    }

    Watchdog watchdog() {
        return watchdog;
    }

    Counters counters() {
        return counters;
    }

    Handshake handshake() {
        return handshake;
    }

    /**
     * Opens a listening port, the first in {@code from..to} that is free on all of {@code hosts}.
     *
     * @param hosts addresses of this machine, at least one
     * @param plane what it is for
     * @param used ports not to be tried again
     * @param handler gets each authenticated channel
     * @throws MooncakeException CONFIGURATION when no port is free or the host is not ours
     */
    public synchronized int listen(
            List<String> hosts, int from, int to, List<Integer> used, Plane plane, PeerAcceptor.Handler handler) {
        IOException last = null;
        for (int port = from; port <= to; port++) {
            if (used.contains(port)) {
                continue;
            }
            try {
                for (ServerSocketChannel server : bind(hosts, port)) {
                    acceptors.add(new PeerAcceptor(this, server, plane, handler));
                }
                return port;
            } catch (UnknownHostException e) {
                throw new MooncakeException(
                        MooncakeException.Code.CONFIGURATION,
                        "bindHost, rails: " + hosts + " (expected: addresses of this machine)",
                        e);
            } catch (IOException e) {
                last = e;
            }
        }
        throw new MooncakeException(
                MooncakeException.Code.CONFIGURATION,
                "port range " + from + ".." + to + " on " + String.join(", ", hosts) + ": no port is free for " + plane
                        + " (expected: three free ports an engine)",
                last);
    }

    private static List<ServerSocketChannel> bind(List<String> hosts, int port) throws IOException {
        List<ServerSocketChannel> bound = new ArrayList<>();
        try {
            for (String host : hosts) {
                ServerSocketChannel server = ServerSocketChannel.open();
                bound.add(server);
                server.bind(new InetSocketAddress(InetAddress.getByName(host), port), 256);
            }
            return bound;
        } catch (IOException | RuntimeException e) {
            bound.forEach(Quietly::close);
            throw e;
        }
    }

    /** As below, to the peer's first address. */
    public SocketChannel connect(PeerAddress peer, Plane plane, long deadlineNanos) throws HandshakeException {
        return connect(peer, plane, peer.host(), null, deadlineNanos);
    }

    /**
     * Connects and shakes hands.
     *
     * @param host which address of the peer
     * @param from which address of this machine, or null where the system may choose
     * @return a blocking channel that belongs to the caller
     * @throws HandshakeException with the status that waiting requests get
     */
    SocketChannel connect(PeerAddress peer, Plane plane, String host, @Nullable InetAddress from, long deadlineNanos)
            throws HandshakeException {
        int port =
                switch (plane) {
                    case DATA -> peer.dataPort();
                    case CONTROL -> peer.controlPort();
                    case EVENT -> peer.eventPort();
                };
        SocketChannel channel;
        try {
            channel = SocketChannel.open();
        } catch (IOException e) {
            throw unreachable(peer, e);
        }
        WatchedChannel watched = new WatchedChannel(watchdog, channel);
        watched.watch();
        boolean connected = false;
        try {
            watched.arm(deadlineNanos);
            channel.setOption(StandardSocketOptions.TCP_NODELAY, true);
            if (from != null) {
                channel.bind(new InetSocketAddress(from, 0));
            }
            channel.connect(new InetSocketAddress(InetAddress.getByName(host), port));
            handshake.connect(channel, plane, peer.incarnation());
            connected = watched.disarm();
            if (!connected) {
                throw new HandshakeException(TransferStatus.TIMEOUT, peer.encode() + ": no handshake by the deadline");
            }
            return channel;
        } catch (ClosedByInterruptException e) {
            throw new HandshakeException(TransferStatus.CANCELED, "interrupted");
        } catch (HandshakeException e) {
            throw e;
        } catch (IOException | RuntimeException e) {
            if (watched.fired()) {
                throw new HandshakeException(TransferStatus.TIMEOUT, peer.encode() + ": no handshake by the deadline");
            }
            throw unreachable(peer, e);
        } finally {
            watched.unwatch();
            if (!connected) {
                watched.cut();
            }
        }
    }

    private static HandshakeException unreachable(PeerAddress peer, Exception e) {
        HandshakeException unreachable =
                new HandshakeException(TransferStatus.PEER_UNREACHABLE, peer.encode() + ": " + e);
        unreachable.initCause(e);
        return unreachable;
    }

    /** Ends listening; connected channels live on with their owners. */
    public synchronized void stopListening() {
        acceptors.forEach(PeerAcceptor::close);
        acceptors.clear();
    }

    @Override
    public void close() {
        stopListening();
        watchdog.close();
    }
}
