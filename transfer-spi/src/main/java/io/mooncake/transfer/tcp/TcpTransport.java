// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.tcp;

import io.mooncake.transfer.PeerAddress;
import io.mooncake.transfer.TransferStatus;
import io.mooncake.transfer.internal.Capabilities;
import io.mooncake.transfer.internal.Counters;
import io.mooncake.transfer.internal.Quietly;
import io.mooncake.transfer.internal.Region;
import io.mooncake.transfer.internal.RegionRegistry;
import io.mooncake.transfer.internal.SafetyChecks;
import io.mooncake.transfer.internal.TransferBatch;
import io.mooncake.transfer.internal.Transport;
import java.nio.channels.SocketChannel;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;

/**
 * The TCP transport, both ends.
 *
 * <p>A batch is driven by the calling thread over one connection and by helpers over the others; all of them take slices from the batch
 * until it is empty. The call returns when every helper has left, which the watchdog bounds by closing their channels at the deadline.
 */
public final class TcpTransport implements Transport {
    /** Data connections that peers may hold to this engine. */
    static final int MAX_SERVED = 512;

    private static final int MAX_HELPERS = 256;

    private final PeerSockets sockets;
    private final RegionRegistry regions;
    private final Capabilities capabilities;
    private final SafetyChecks checks;
    private final int connectionsPerPeer;
    private final ConcurrentHashMap<UUID, TcpPeerLink> links = new ConcurrentHashMap<>();
    private final Set<TcpServerConnection> served = ConcurrentHashMap.newKeySet();
    private final GonePeers gone;
    private final ThreadPoolExecutor helpers;
    private volatile boolean closed;

    public TcpTransport(
            PeerSockets sockets,
            RegionRegistry regions,
            Capabilities capabilities,
            SafetyChecks checks,
            GonePeers gone,
            int connectionsPerPeer) {
        this.sockets = sockets;
        this.regions = regions;
        this.capabilities = capabilities;
        this.checks = checks;
        this.gone = gone;
        this.connectionsPerPeer = connectionsPerPeer;
        this.helpers = new ThreadPoolExecutor(0, MAX_HELPERS, 30, TimeUnit.SECONDS, new SynchronousQueue<>(), task -> {
            Thread thread = new Thread(task, "mooncake-transfer");
            thread.setDaemon(true);
            return thread;
        });
    }

    /** Serves an authenticated channel on the calling thread until it ends. */
    public void serve(SocketChannel channel, UUID peer) {
        if (closed || gone.contains(peer) || served.size() >= MAX_SERVED) {
            Quietly.close(channel);
            return;
        }
        TcpServerConnection connection =
                new TcpServerConnection(sockets.watchdog(), channel, peer, regions, capabilities, checks, counters());
        served.add(connection);
        try {
            if (closed || gone.contains(peer)) {
                connection.cut();
            }
            connection.serve();
        } finally {
            served.remove(connection);
        }
    }

    private Counters counters() {
        return sockets.counters();
    }

    @Override
    public void execute(PeerAddress peer, TransferBatch batch) {
        if (closed || gone.contains(peer.incarnation())) {
            batch.abort(TransferStatus.PEER_UNREACHABLE);
            return;
        }
        TcpPeerLink link = links.get(peer.incarnation());
        if (link == null) {
            link = links.computeIfAbsent(peer.incarnation(), id -> new TcpPeerLink(sockets, peer, connectionsPerPeer));
            if (closed || gone.contains(peer.incarnation())) {
                links.remove(peer.incarnation(), link);
                link.close();
            }
        }
        int helping = Math.min(connectionsPerPeer, batch.slices()) - 1;
        CountDownLatch left = new CountDownLatch(Math.max(0, helping));
        for (int i = 0; i < helping; i++) {
            help(link, batch, left);
        }
        boolean driven = false;
        try {
            drive(link, batch, true);
            driven = true;
        } finally {
            if (!driven) {
                // An error of this JVM: helpers take nothing more.
                batch.abort(TransferStatus.CANCELED);
            }
            awaitHelpers(left);
        }
        if (!batch.done()) {
            // A helper broke after our share was done, and gave slices back.
            drive(link, batch, true);
            batch.abort(TransferStatus.PEER_UNREACHABLE);
        }
    }

    private void help(TcpPeerLink link, TransferBatch batch, CountDownLatch left) {
        try {
            helpers.execute(() -> {
                try {
                    drive(link, batch, false);
                } finally {
                    left.countDown();
                }
            });
        } catch (RejectedExecutionException | OutOfMemoryError e) {
            // All helpers are busy, or there is no room for a thread: the caller moves the bytes alone.
            left.countDown();
        }
    }

    /** Helpers must be out of the caller's memory, so an interrupt is kept for later; their channels end at the deadline. */
    private static void awaitHelpers(CountDownLatch left) {
        boolean interrupted = false;
        while (true) {
            try {
                left.await();
                break;
            } catch (InterruptedException e) {
                interrupted = true;
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    private static void drive(TcpPeerLink link, TransferBatch batch, boolean leader) {
        try {
            while (!batch.done()) {
                TcpClientConnection connection = link.checkOut(leader, batch.deadlineNanos(), batch.deadlineStatus());
                if (connection == null) {
                    return;
                }
                TcpClientConnection.Outcome outcome = TcpClientConnection.Outcome.BROKEN;
                try {
                    outcome = connection.drive(batch);
                } finally {
                    link.checkIn(connection, outcome == TcpClientConnection.Outcome.REUSABLE);
                }
                if (outcome != TcpClientConnection.Outcome.STALE) {
                    return;
                }
            }
        } catch (HandshakeException e) {
            batch.abort(e.status());
        }
    }

    @Override
    public void cut(Region region) {
        served.forEach(connection -> {
            if (connection.touches(region)) {
                connection.cut();
            }
        });
        links.values().forEach(TcpPeerLink::cutBusy);
    }

    @Override
    public void peerGone(UUID incarnation) {
        TcpPeerLink link = links.remove(incarnation);
        if (link != null) {
            link.close();
        }
        served.forEach(connection -> {
            if (connection.peer().equals(incarnation)) {
                connection.cut();
            }
        });
    }

    @Override
    public void close() {
        closed = true;
        links.values().forEach(TcpPeerLink::close);
        served.forEach(WatchedChannel::cut);
        helpers.shutdown();
    }
}
