// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.tcp;

import io.mooncake.base.MooncakeException;
import io.mooncake.transfer.PeerAddress;
import io.mooncake.transfer.TlsConfig;
import io.mooncake.transfer.TransferStatus;
import io.mooncake.transfer.internal.ClusterKey;
import io.mooncake.transfer.internal.Counters;
import io.mooncake.transfer.internal.Quietly;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.net.SocketOption;
import java.net.StandardProtocolFamily;
import java.net.StandardSocketOptions;
import java.net.UnixDomainSocketAddress;
import java.net.UnknownHostException;
import java.nio.channels.ClosedByInterruptException;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.BooleanSupplier;
import javax.net.ssl.SSLException;
import jdk.net.ExtendedSocketOptions;
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
    /** Connections that the kernel keeps while the acceptor is busy; more than that only if net.core.somaxconn allows. */
    private static final int BACKLOG = 1024;

    private static final int KEEP_ALIVE_IDLE_SECONDS = 30;
    private static final int KEEP_ALIVE_INTERVAL_SECONDS = 10;
    private static final int KEEP_ALIVE_COUNT = 3;
    private static final long LOG_PAUSE_NANOS = 1_000_000_000L;

    private final AtomicLong lastLogNanos = new AtomicLong(System.nanoTime() - LOG_PAUSE_NANOS);
    private final Handshake handshake;
    private final Counters counters;
    private final Watchdog watchdog;
    private final @Nullable Tls tls;
    /** Null where all goes by ports. */
    private final @Nullable LocalSockets local;

    private final List<PeerAcceptor> acceptors = new ArrayList<>();
    private final HostAddresses hostAddresses;
    /** Connects under way, and to which life. */
    private final ConcurrentHashMap<WatchedChannel, UUID> connects = new ConcurrentHashMap<>();

    public PeerSockets(ClusterKey root, UUID own, boolean checkIncarnation, Counters counters) {
        this(root, own, checkIncarnation, counters, null, null);
    }

    /**
     * @param tls how all connections are encrypted, or null where they are not
     * @param local for peers on this machine, whose control plane then needs no port; not used with {@code tls}, whose certificates are to be
     *     asked of everybody. Null: all goes by ports
     */
    public PeerSockets(
            ClusterKey root,
            UUID own,
            boolean checkIncarnation,
            Counters counters,
            @Nullable TlsConfig tls,
            @Nullable LocalSockets local) {
        this(root, own, checkIncarnation, counters, tls, local, InetAddress::getByName);
    }

    PeerSockets(
            ClusterKey root,
            UUID own,
            boolean checkIncarnation,
            Counters counters,
            @Nullable TlsConfig tls,
            @Nullable LocalSockets local,
            HostAddresses.Resolver resolver) {
        this.hostAddresses = new HostAddresses(resolver);
        this.tls = tls == null ? null : new Tls(tls);
        this.local = tls == null ? local : null;
        this.handshake = new Handshake(root, own, checkIncarnation);
        this.counters = counters;
        this.watchdog = new Watchdog("mooncake-watchdog");
    }

    /** Before anything is sent: no delay, and a peer without power is found out within a minute or so. */
    static void setOptions(SocketChannel socket) throws IOException {
        Set<SocketOption<?>> supported = socket.supportedOptions();
        if (!supported.contains(StandardSocketOptions.TCP_NODELAY)) {
            return; // within this machine
        }
        socket.setOption(StandardSocketOptions.TCP_NODELAY, true);
        socket.setOption(StandardSocketOptions.SO_KEEPALIVE, true);
        if (supported.contains(ExtendedSocketOptions.TCP_KEEPIDLE)) {
            socket.setOption(ExtendedSocketOptions.TCP_KEEPIDLE, KEEP_ALIVE_IDLE_SECONDS);
            socket.setOption(ExtendedSocketOptions.TCP_KEEPINTERVAL, KEEP_ALIVE_INTERVAL_SECONDS);
            socket.setOption(ExtendedSocketOptions.TCP_KEEPCOUNT, KEEP_ALIVE_COUNT);
        }
    }

    /** The channel of a stranger, before {@link #secure}. */
    PeerChannel accepting(SocketChannel socket) {
        return tls == null ? new PlainChannel(socket) : tls.accepting(socket);
    }

    private PeerChannel connecting(SocketChannel socket) {
        return tls == null ? new PlainChannel(socket) : tls.connecting(socket);
    }

    /** Does what comes before our own handshake. */
    void secure(PeerChannel channel) throws IOException {
        if (channel instanceof TlsChannel encrypted) {
            encrypted.handshake();
        }
    }

    /** Counts a stranger, and logs at most one a second. */
    void refused(Plane plane, PeerChannel channel, Exception why) {
        counters.authenticationFailures.increment();
        long last = lastLogNanos.get();
        long now = System.nanoTime();
        if (now - last >= LOG_PAUSE_NANOS && lastLogNanos.compareAndSet(last, now)) {
            LOG.warn(
                    "A connection from {} to the {} port was refused: {} ({} so far)",
                    origin(channel.socket()),
                    plane,
                    reason(why),
                    counters.authenticationFailures.sum());
        }
    }

    private static Object origin(SocketChannel socket) {
        try {
            SocketAddress from = socket.getRemoteAddress();
            return from instanceof InetSocketAddress ? from : "this machine";
        } catch (IOException e) {
            return "somebody who is gone";
        }
    }

    /** What went wrong, with what lies behind it: TLS wraps the reason twice. */
    private static String reason(Throwable why) {
        String text = why.getMessage() == null ? why.toString() : why.getMessage();
        Throwable cause = why.getCause();
        return cause == null ? text : text + ": " + reason(cause);
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
     * @param used ports not to be tried again
     * @param plane what it is for
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
                listenHere(port, plane, handler);
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
                server.bind(new InetSocketAddress(InetAddress.getByName(host), port), BACKLOG);
            }
            return bound;
        } catch (IOException | RuntimeException e) {
            bound.forEach(Quietly::close);
            throw e;
        }
    }

    /** Beside a port of the control plane, for those on this machine. */
    private void listenHere(int port, Plane plane, PeerAcceptor.Handler handler) {
        ServerSocketChannel server = local == null || plane == Plane.DATA ? null : local.listen(port, BACKLOG);
        if (server != null) {
            acceptors.add(new PeerAcceptor(this, server, plane, handler));
        }
    }

    /** As below, to the peer's first address, whether it is gone or not. */
    public PeerChannel connect(PeerAddress peer, Plane plane, long deadlineNanos) throws HandshakeException {
        return connect(peer, plane, deadlineNanos, () -> false);
    }

    /** As below, to the peer's first address. */
    public PeerChannel connect(PeerAddress peer, Plane plane, long deadlineNanos, BooleanSupplier gone)
            throws HandshakeException {
        SocketAddress here = local == null || plane == Plane.DATA ? null : local.find(peer, port(peer, plane));
        if (here != null) {
            try {
                return connect(peer, plane, here, null, deadlineNanos, gone);
            } catch (HandshakeException e) {
                if (e.status() != TransferStatus.PEER_UNREACHABLE) {
                    throw e;
                }
                // The file may be all that is left of it: the port decides.
            }
        }
        return connect(peer, plane, peer.host(), null, deadlineNanos, gone);
    }

    private static int port(PeerAddress peer, Plane plane) {
        return switch (plane) {
            case DATA -> peer.dataPort();
            case CONTROL -> peer.controlPort();
            case EVENT -> peer.eventPort();
        };
    }

    /**
     * Connects and shakes hands.
     *
     * @param host which address of the peer
     * @param from which address of this machine, or null where the system may choose
     * @param gone whether that life of the peer has been declared over; true before {@link #cutConnects} is called for it
     * @return a blocking channel that belongs to the caller
     * @throws HandshakeException with the status that waiting requests get
     */
    PeerChannel connect(
            PeerAddress peer,
            Plane plane,
            String host,
            @Nullable InetAddress from,
            long deadlineNanos,
            BooleanSupplier gone)
            throws HandshakeException {
        InetAddress to = hostAddresses.address(host, deadlineNanos, gone);
        return connect(peer, plane, new InetSocketAddress(to, port(peer, plane)), from, deadlineNanos, gone);
    }

    private PeerChannel connect(
            PeerAddress peer,
            Plane plane,
            SocketAddress to,
            @Nullable InetAddress from,
            long deadlineNanos,
            BooleanSupplier gone)
            throws HandshakeException {
        SocketChannel socket;
        try {
            socket = to instanceof UnixDomainSocketAddress
                    ? SocketChannel.open(StandardProtocolFamily.UNIX)
                    : SocketChannel.open();
        } catch (IOException e) {
            throw unreachable(peer, e);
        }
        PeerChannel channel;
        try {
            channel = connecting(socket);
        } catch (OutOfMemoryError e) {
            Quietly.close(socket);
            throw unreachable(peer, new IOException("no memory for TLS", e));
        }
        WatchedChannel watched = new WatchedChannel(watchdog, channel);
        watched.watch();
        connects.put(watched, peer.incarnation());
        boolean connected = false;
        try {
            watched.arm(deadlineNanos);
            if (gone.getAsBoolean()) {
                throw new HandshakeException(TransferStatus.PEER_UNREACHABLE, peer.encode() + " is gone");
            }
            setOptions(socket);
            if (from != null) {
                socket.bind(new InetSocketAddress(from, 0));
            }
            socket.connect(to);
            secure(channel);
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
        } catch (SSLException e) {
            if (watched.fired()) {
                throw new HandshakeException(TransferStatus.TIMEOUT, peer.encode() + ": no handshake by the deadline");
            }
            LOG.debug("TLS to {} failed", peer, e);
            throw new HandshakeException(TransferStatus.REFUSED, peer.encode() + ": TLS: " + reason(e));
        } catch (IOException | RuntimeException e) {
            if (watched.fired()) {
                throw new HandshakeException(TransferStatus.TIMEOUT, peer.encode() + ": no handshake by the deadline");
            }
            throw unreachable(peer, e);
        } finally {
            connects.remove(watched);
            watched.unwatch();
            if (!connected) {
                watched.cut();
            }
        }
    }

    /** Ends the connects under way to that life of a peer: they fail as unreachable. */
    public void cutConnects(UUID peer) {
        connects.forEach((watched, life) -> {
            if (life.equals(peer)) {
                watched.cut();
            }
        });
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
        hostAddresses.close();
    }
}
