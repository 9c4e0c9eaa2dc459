// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.tcp;

import io.mooncake.transfer.PeerAddress;
import io.mooncake.transfer.RailStatistics;
import io.mooncake.transfer.TransferStatus;
import io.mooncake.transfer.internal.Capabilities;
import io.mooncake.transfer.internal.PeerConduct;
import io.mooncake.transfer.internal.Quietly;
import io.mooncake.transfer.internal.RailListener;
import io.mooncake.transfer.internal.Region;
import io.mooncake.transfer.internal.RegionRegistry;
import io.mooncake.transfer.internal.SafetyChecks;
import io.mooncake.transfer.internal.TransferBatch;
import io.mooncake.transfer.internal.Transport;
import java.net.InetAddress;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/**
 * The TCP transport, both ends.
 *
 * <p>A batch is driven by the calling thread over one connection and by helpers over the others; all of them take slices from the batch
 * until it is empty. The call returns when every helper has left, which the watchdog bounds by closing their channels at the deadline.
 */
public final class TcpTransport implements Transport {
    /** A further connection pays for waking its thread only when it gets so much to move. */
    static final int BYTES_A_HELPER = 192 << 10;

    /** Connections that may break under a batch and have its slices go another way. */
    private static final int MOST_BREAKS = 256;

    private final PeerSockets sockets;
    private final OwnerSide owner;
    private final int connectionsPerPeer;
    private final ConcurrentHashMap<UUID, TcpPeerLink> links = new ConcurrentHashMap<>();
    private final GonePeers gone;
    private final List<InetAddress> rails;
    private final ReceiveCredits credits = new ReceiveCredits(ReceiveCredits.BYTES, TransferBatch.MAX_SLICE_BYTES);
    private final Helpers helpers = new Helpers(TcpTransport::help);
    private final LinkMonitor monitor = new LinkMonitor(links.values());
    private volatile RailListener listener = RailListener.NONE;
    private volatile boolean closed;

    /**
     * @param conduct of peers over all ways
     * @param connectionsPerPeer data connections to each peer and rail
     * @param rails addresses of this machine that connections start from; empty where the system may choose
     */
    public TcpTransport(
            PeerSockets sockets,
            RegionRegistry regions,
            Capabilities capabilities,
            SafetyChecks checks,
            GonePeers gone,
            PeerConduct conduct,
            int connectionsPerPeer,
            List<InetAddress> rails) {
        this.sockets = sockets;
        this.owner = new OwnerSide(sockets.watchdog(), regions, capabilities, checks, sockets.counters(), conduct);
        this.gone = gone;
        this.connectionsPerPeer = connectionsPerPeer;
        this.rails = rails;
    }

    /** Says who hears of rails that fail; before the first transfer. */
    public void tell(RailListener hearing) {
        listener = hearing;
    }

    /** Serves an authenticated channel on the calling thread until it ends. */
    public void serve(PeerChannel channel, UUID peer) {
        if (closed || gone.contains(peer)) {
            Quietly.close(channel);
            return;
        }
        owner.serve(channel, peer, connection -> {
            if (closed || gone.contains(peer)) {
                connection.cut();
            }
        });
    }

    @Override
    public void execute(PeerAddress peer, TransferBatch batch) {
        if (closed || gone.contains(peer.incarnation())) {
            batch.abort(TransferStatus.PEER_UNREACHABLE);
            return;
        }
        if (!batch.reserveBuffers()) {
            return;
        }
        long startNanos = System.nanoTime();
        if (startNanos - batch.deadlineNanos() >= 0) {
            // Nothing is asked for any more; the watchdog might come after the answer.
            batch.abort(batch.deadlineStatus());
            return;
        }
        monitor.used(startNanos);
        TcpPeerLink link = link(peer);
        // A call that is turned away wants the peer too: as long as there are some, it is probed.
        link.used(startNanos);
        Breaker.Pass pass = link.breaker().pass();
        if (pass == Breaker.Pass.NO) {
            batch.abort(TransferStatus.PEER_UNREACHABLE);
            return;
        }
        boolean ended = false;
        monitor.began();
        try {
            move(link, batch);
            ended = true;
        } finally {
            long now = System.nanoTime();
            if (!ended || now - batch.deadlineNanos() < 0) {
                link.breaker().heard();
            } else if (!monitor.ranSince(startNanos, now)) {
                // This process was paused meanwhile: nobody knows what the peer would have said.
                link.breaker().undecided();
            } else if (link.breaker().timedOut(startNanos, link.heardNanos(), now)) {
                monitor.wake();
            }
            monitor.ended();
        }
    }

    private TcpPeerLink link(PeerAddress peer) {
        TcpPeerLink link = links.get(peer.incarnation());
        if (link == null) {
            link = links.computeIfAbsent(
                    peer.incarnation(), id -> new TcpPeerLink(sockets, peer, rails, connectionsPerPeer, credits));
            link.tell(listener);
            if (closed || gone.contains(peer.incarnation())) {
                links.remove(peer.incarnation(), link);
                link.close();
            }
            monitor.wake();
        }
        return link;
    }

    /** Drives the batch, with helpers where they pay, until all of it has a status and nobody touches its memory. */
    private void move(TcpPeerLink link, TransferBatch batch) {
        int lanes = link.lanes(batch);
        long time = batch.open(lanes);
        boolean driven = false;
        try {
            int breaks = 0;
            boolean more = true;
            while (more) {
                callHelpers(link, batch, time, lanes);
                breaks += drive(link, batch, true);
                if (breaks > MOST_BREAKS) {
                    batch.abort(TransferStatus.PEER_UNREACHABLE);
                }
                // What a helper gave back goes another way; a helper that broke otherwise may have left requests open.
                more = batch.awaitWork() && !batch.done();
            }
            batch.abort(TransferStatus.PEER_UNREACHABLE);
            driven = true;
        } finally {
            if (!driven) {
                // An error of this JVM: helpers take nothing more.
                batch.abort(TransferStatus.CANCELED);
            }
            batch.close();
        }
    }

    private void callHelpers(TcpPeerLink link, TransferBatch batch, long time, int lanes) {
        int helping = (int) Math.min(lanes, batch.pendingBytes() / BYTES_A_HELPER) - 1;
        for (int i = batch.workers(); i < helping; i++) {
            batch.called();
            if (!helpers.call(link, batch, time)) {
                batch.decline(time);
                return;
            }
        }
    }

    /** A helper's share. It connects before it joins: a batch does not wait for a connection that it does not need. */
    private static void help(TcpPeerLink link, TransferBatch batch, long time) {
        boolean joined = false;
        TcpClientConnection connection = null;
        TcpClientConnection.Outcome outcome = TcpClientConnection.Outcome.BROKEN;
        try {
            connection = link.checkOut(false, batch);
            if (connection == null) {
                return;
            }
            joined = batch.join(time);
            outcome = joined ? connection.drive(batch, false) : TcpClientConnection.Outcome.REUSABLE;
        } catch (HandshakeException e) {
            // The caller finds out by itself, or needs no help.
            return;
        } finally {
            if (connection != null) {
                link.checkIn(connection, outcome);
            }
            if (joined) {
                batch.leave();
            } else {
                batch.decline(time);
            }
        }
    }

    /** Returns how many connections have broken and given their slices back. */
    private static int drive(TcpPeerLink link, TransferBatch batch, boolean leader) {
        int breaks = 0;
        try {
            while (!batch.done()) {
                TcpClientConnection connection = link.checkOut(leader, batch);
                if (connection == null) {
                    return breaks;
                }
                TcpClientConnection.Outcome outcome = TcpClientConnection.Outcome.BROKEN;
                try {
                    outcome = connection.drive(batch, leader);
                } finally {
                    link.checkIn(connection, outcome);
                }
                if (outcome == TcpClientConnection.Outcome.REUSABLE || outcome == TcpClientConnection.Outcome.BROKEN) {
                    return breaks;
                }
                breaks++;
                if (breaks > MOST_BREAKS) {
                    return breaks;
                }
            }
        } catch (HandshakeException e) {
            batch.abort(e.status());
        }
        return breaks;
    }

    /** The link to a life of a peer; null when nothing has been asked of it. */
    @Nullable
    TcpPeerLink known(UUID peer) {
        return links.get(peer);
    }

    /** How the rails to a life of a peer do; empty when nothing has been asked of it. */
    public List<RailStatistics> rails(UUID peer) {
        TcpPeerLink link = known(peer);
        return link == null ? List.of() : link.statistics();
    }

    /**
     * Closes the connections over which bytes of a write that was granted before the range's generation moved may still arrive there.
     *
     * @return whether there were any: none can arrive any more when there are none
     */
    public boolean revoke(Region region, long offset, long length) {
        return owner.revoke(region, offset, length);
    }

    @Override
    public void cut(Region region) {
        owner.forEach(connection -> {
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
        sockets.cutConnects(incarnation);
        owner.cut(incarnation);
    }

    @Override
    public void close() {
        closed = true;
        links.forEach((incarnation, link) -> {
            link.close();
            sockets.cutConnects(incarnation);
        });
        owner.forEach(WatchedChannel::cut);
        helpers.close();
        monitor.close();
    }
}
