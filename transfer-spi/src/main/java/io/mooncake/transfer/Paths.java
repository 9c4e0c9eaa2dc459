// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer;

import io.mooncake.base.Deadline;
import io.mooncake.base.MooncakeException;
import io.mooncake.natives.SharedFile;
import io.mooncake.transfer.PathReport.Kind;
import io.mooncake.transfer.control.ZmqControlPlane;
import io.mooncake.transfer.gpu.GpuMemory;
import io.mooncake.transfer.internal.Capabilities;
import io.mooncake.transfer.internal.Counters;
import io.mooncake.transfer.internal.LocalTransport;
import io.mooncake.transfer.internal.NetworkTransport;
import io.mooncake.transfer.internal.PeerConduct;
import io.mooncake.transfer.internal.RailListener;
import io.mooncake.transfer.internal.Region;
import io.mooncake.transfer.internal.RegionRegistry;
import io.mooncake.transfer.internal.SafetyChecks;
import io.mooncake.transfer.internal.TransferBatch;
import io.mooncake.transfer.internal.Transport;
import io.mooncake.transfer.rdma.RdmaConfig;
import io.mooncake.transfer.rdma.RdmaTransport;
import io.mooncake.transfer.shm.ShmTransport;
import io.mooncake.transfer.tcp.GonePeers;
import io.mooncake.transfer.tcp.TcpTransport;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The ways of one engine, and which of them a batch takes (docs/adr/0009-paths.md).
 *
 * <pre>
 * to itself   a copy in this process, whatever the protocol
 * AUTO        shared memory, what it sets aside by RDMA, what that turns down by TCP
 * SHM         shared memory, what it sets aside by TCP
 * RDMA        RDMA only
 * TCP         TCP only
 * </pre>
 *
 * The engine serves its peers in each way whatever its own protocol; over RDMA when it has opened a device.
 */
final class Paths {
    private static final Logger LOG = LoggerFactory.getLogger(Paths.class);

    /** A thread whose channel is closed leaves at once, and a copy ends within microseconds, unless the machine has no time for it. */
    private static final long MAX_REVOKE_NANOS = 5_000_000_000L;

    private static final long REVOKE_LOOK_NANOS = 50_000;
    /** What one look at most takes of that time. */
    private static final long MAX_COUNTED_NANOS = 50_000_000;

    private final UUID own;
    private final RegionRegistry regions;
    private final TransferProtocol protocol;
    private final GonePeers gone;
    private final LocalTransport local;
    private final TcpTransport tcp;
    private final @Nullable RdmaTransport rdma;
    private final String noRdma;
    private final @Nullable NetworkTransport choosing;
    private final Transport network;
    private final ShmTransport shm;
    private final boolean sharing;
    private final List<String> rails;

    /** What all ways need. */
    record Parts(
            ZmqControlPlane control,
            RegionRegistry regions,
            Capabilities capabilities,
            SafetyChecks checks,
            Counters counters,
            GonePeers gone,
            PeerConduct conduct) {}

    /**
     * @param tcp started and closed by the caller
     * @throws MooncakeException CONFIGURATION when the protocol is RDMA and there is no device
     */
    Paths(UUID own, TransferEngineConfig config, Parts parts, TcpTransport tcp) {
        this.own = own;
        this.protocol = config.protocol();
        this.rails = config.rails();
        this.regions = parts.regions;
        this.gone = parts.gone;
        this.tcp = tcp;
        this.sharing = protocol == TransferProtocol.AUTO || protocol == TransferProtocol.SHM;
        this.local = new LocalTransport(parts.regions, parts.capabilities, parts.checks, parts.counters);
        RdmaTransport opened = null;
        String refused = "protocol " + protocol.text();
        if (protocol == TransferProtocol.AUTO || protocol == TransferProtocol.RDMA) {
            try {
                opened = openRdma(config, parts);
            } catch (MooncakeException e) {
                if (protocol == TransferProtocol.RDMA) {
                    throw e;
                }
                refused = String.valueOf(e.getMessage());
            }
        }
        this.rdma = opened;
        this.noRdma = refused;
        this.choosing = opened != null && protocol == TransferProtocol.AUTO
                ? new NetworkTransport(opened, tcp, System::nanoTime)
                : null;
        if (choosing != null) {
            this.network = choosing;
        } else {
            this.network = opened == null ? tcp : opened;
        }
        this.shm = new ShmTransport(
                own,
                parts.control,
                network,
                parts.regions,
                parts.capabilities,
                parts.checks,
                parts.counters,
                parts.gone,
                parts.conduct,
                sharing);
    }

    private static RdmaTransport openRdma(TransferEngineConfig config, Parts parts) {
        RdmaConfig devices = config.rdma();
        return new RdmaTransport(
                devices == null ? RdmaConfig.defaults() : devices,
                parts.control,
                parts.regions,
                parts.capabilities,
                parts.checks,
                parts.gone::contains,
                parts.conduct,
                parts.counters,
                config.connectionsPerPeer());
    }

    /** Runs the batch by the best way to the peer; see {@link Transport#execute}. */
    void execute(PeerAddress peer, TransferBatch batch) {
        if (peer.incarnation().equals(own)) {
            if (gone.contains(own)) {
                batch.abort(TransferStatus.PEER_UNREACHABLE);
            } else {
                local.execute(peer, batch);
            }
        } else if (sharing) {
            shm.execute(peer, batch);
        } else {
            network.execute(peer, batch);
        }
    }

    /** The peer will be read from. */
    void prepare(PeerAddress peer) {
        if (sharing && !peer.incarnation().equals(own)) {
            shm.prepare(peer);
        }
    }

    /** How transfers to the peer go; probes what was not probed yet. */
    PathReport report(PeerAddress peer, Deadline deadline) {
        if (peer.incarnation().equals(own)) {
            return new PathReport(Kind.LOCAL, Kind.LOCAL, "");
        }
        if (gone.contains(peer.incarnation())) {
            return new PathReport(Kind.TCP, Kind.TCP, "the peer is gone");
        }
        List<String> reasons = new ArrayList<>();
        Kind reads = Kind.TCP;
        Kind writes = Kind.TCP;
        if (sharing) {
            PathReport shared = shm.path(peer, deadline);
            reads = shared.reads();
            writes = shared.writes();
            if (!shared.reason().isEmpty()) {
                reasons.add("shared memory: " + shared.reason());
            }
        }
        boolean networked = reads == Kind.TCP || writes == Kind.TCP;
        Kind beyond = networked ? networkKind(peer, deadline, reads == Kind.TCP, reasons) : Kind.TCP;
        return new PathReport(
                reads == Kind.TCP ? beyond : reads,
                writes == Kind.TCP ? beyond : writes,
                networked ? over(peer, beyond) : "",
                String.join("; ", reasons));
    }

    private String over(PeerAddress peer, Kind kind) {
        if (kind == Kind.RDMA && rdma != null) {
            return rdma.describe();
        }
        if (rails.isEmpty() || peer.rails().isEmpty()) {
            return "";
        }
        return peer.host() + ", " + String.join(", ", peer.rails());
    }

    private Kind networkKind(PeerAddress peer, Deadline deadline, boolean forReads, List<String> reasons) {
        if (choosing != null) {
            Kind kind = choosing.path(peer, deadline);
            if (kind == Kind.TCP) {
                reasons.add("RDMA: " + choosing.reason(peer));
            }
            return kind;
        }
        if (rdma != null) {
            var declined = rdma.probe(peer, deadline);
            if (declined != null) {
                reasons.add("RDMA: " + declined.reason());
            }
            return Kind.RDMA;
        }
        if (protocol == TransferProtocol.AUTO && forReads) {
            reasons.add(noRdma);
        }
        return Kind.TCP;
    }

    // ----------------------------------------------------------------------------------------------------------
    // regions

    /**
     * Makes a region known to the device. Where the way is not asked for by name, memory that the device refuses goes by TCP.
     *
     * @throws MooncakeException when the protocol is RDMA and the device refuses
     */
    void register(Region region) {
        if (rdma == null) {
            return;
        }
        try {
            rdma.register(region);
        } catch (MooncakeException e) {
            if (protocol == TransferProtocol.RDMA) {
                throw e;
            }
            LOG.info("Region {} is not reached by RDMA: {}", region.id(), e.getMessage());
        }
    }

    /** Says who hears of rails that fail; before the first transfer. */
    void tell(RailListener listener) {
        tcp.tell(listener);
        if (rdma != null) {
            rdma.tell(listener);
        }
    }

    /** Names of the RDMA devices that are open, in their order. */
    List<String> rdmaDevices() {
        return rdma == null
                ? List.of()
                : rdma.rails().stream().map(RdmaTransport.Rail::device).toList();
    }

    /** What GPU memory is to be made known to; null where no RDMA device is open. */
    GpuMemory.@Nullable Card card() {
        return rdma;
    }

    /** Shows a region in {@code backing} to the peers of this machine. */
    void share(Region region, SharedFile backing) {
        shm.share(region, backing);
    }

    /** Before a registration ends: no peer may take for good what it copies from now on. */
    void retract(int region) {
        shm.retract(region);
    }

    /** After a registration has ended: revokes its keys. */
    void deregister(Region region) {
        if (rdma != null) {
            rdma.deregister(region);
        }
    }

    /** Ends the devices' keys for a range of a region that stays. */
    void revokeKeys(Region region, long offset, long length) {
        if (rdma != null) {
            rdma.revoke(region, offset, length);
        }
    }

    /**
     * Ends the writes by this process's threads into a range whose generation has moved on. A pause of the process counts for little: its
     * threads did not run either.
     *
     * @throws MooncakeException DEADLINE_EXCEEDED when one has not left the range within 5 seconds
     */
    void endWrites(Region region, long offset, long length) {
        long left = MAX_REVOKE_NANOS;
        long looked = System.nanoTime();
        // Both each time: what TCP has under way is cut before anything is waited for.
        while (tcp.revoke(region, offset, length) | regions.writes().mayStillWrite(region, offset, length)) {
            if (left <= 0) {
                throw new MooncakeException(
                        MooncakeException.Code.DEADLINE_EXCEEDED,
                        "region " + region.id() + ": " + offset + "+" + length + " is still written to after "
                                + MAX_REVOKE_NANOS / 1_000_000_000L + " s");
            }
            LockSupport.parkNanos(REVOKE_LOOK_NANOS);
            long now = System.nanoTime();
            left -= Math.min(now - looked, MAX_COUNTED_NANOS);
            looked = now;
        }
    }

    /** Closes the connections whose transfers touch the region. */
    void cut(Region region) {
        tcp.cut(region);
        if (rdma != null) {
            rdma.cut(region);
        }
    }

    /** Ends everything with that life of a peer. */
    void peerGone(UUID peer) {
        // Shared memory passes it on to the network.
        shm.peerGone(peer);
        if (network != tcp && choosing == null) {
            tcp.peerGone(peer);
        }
    }

    // ----------------------------------------------------------------------------------------------------------
    // the end

    /** First: what peers copy out of mapped memory from now on counts for nothing, so pins may go. */
    void closePage() {
        shm.close();
    }

    /** Ends all transfers but those over TCP; regions stay with the device. */
    void closeTransports() {
        local.close();
        if (rdma != null) {
            rdma.close();
        }
    }

    /** After all regions have ended: lets go of the device. */
    void releaseDevice() {
        if (rdma != null) {
            rdma.release();
        }
    }
}
