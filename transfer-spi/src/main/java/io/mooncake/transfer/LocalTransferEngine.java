// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer;

import io.mooncake.base.Deadline;
import io.mooncake.base.MooncakeException;
import io.mooncake.base.Waits;
import io.mooncake.natives.SharedFile;
import io.mooncake.transfer.control.ZmqControlPlane;
import io.mooncake.transfer.gpu.GpuMemory;
import io.mooncake.transfer.gpu.GpuReport;
import io.mooncake.transfer.internal.Capabilities;
import io.mooncake.transfer.internal.ClusterKey;
import io.mooncake.transfer.internal.Counters;
import io.mooncake.transfer.internal.DirectViews;
import io.mooncake.transfer.internal.LeaseTable;
import io.mooncake.transfer.internal.PeerConduct;
import io.mooncake.transfer.internal.Region;
import io.mooncake.transfer.internal.RegionRegistry;
import io.mooncake.transfer.internal.SafetyChecks;
import io.mooncake.transfer.metadata.EngineRecord;
import io.mooncake.transfer.metadata.MetadataStore;
import io.mooncake.transfer.shm.HostIdentity;
import io.mooncake.transfer.tcp.GonePeers;
import io.mooncake.transfer.tcp.LocalSockets;
import io.mooncake.transfer.tcp.PeerAcceptor;
import io.mooncake.transfer.tcp.PeerSockets;
import io.mooncake.transfer.tcp.Plane;
import io.mooncake.transfer.tcp.TcpTransport;
import io.mooncake.transfer.topology.PathMatrix;
import io.mooncake.transfer.topology.Topology;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.security.SecureRandom;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The engine of one process: regions, leases, control plane and transports under one incarnation.
 *
 * <p>Closing order: no new work; listening ports; leases (their pins close); transports, whose threads leave all memory; control plane;
 * and regions last, when nothing can touch them.
 */
final class LocalTransferEngine implements TransferEngine {
    private static final Logger LOG = LoggerFactory.getLogger(LocalTransferEngine.class);
    private static final String NOTIFY_SERVICE = "mooncake.notify";
    private static final long LEAST_SILENCE_NANOS = 200_000_000L;
    /** What a peer that gave no lease in time is counted to move in that time. */
    private static final long UNANSWERED_BYTES = 64 << 10;

    private static final long PUBLISH_MILLIS = 2000;

    private final TransferEngineConfig config;
    private final PeerAddress address;
    private final Counters counters = new Counters();
    private final RegionRegistry regions = new RegionRegistry();
    private final GonePeers gone = new GonePeers();
    private final PeerConduct conduct = new PeerConduct();
    private final Capabilities capabilities = new Capabilities(new SecureRandom());
    private final LeaseTable leases;
    private final LeaseClient leaseClient;
    private final PeerSockets sockets;
    private final ZmqControlPlane control;
    private final TcpTransport tcp;
    private final Paths paths;
    private final GpuMemory gpu = new GpuMemory();
    private final RegionRails regionRails;
    private final Transfers transfers;
    private final Submissions submissions;
    private final PathMatrix matrix = new PathMatrix();
    private final AtomicBoolean closed = new AtomicBoolean();
    private volatile @Nullable Directory directory;

    LocalTransferEngine(TransferEngineConfig config, SafetyChecks wanted) {
        DirectViews.requireAvailable();
        this.config = config;
        // Before anything is opened: it may refuse.
        List<InetAddress> localRails = localRails();
        Topology topology = Topology.configured();
        SafetyChecks checks = new SafetyChecks(
                wanted.generation(),
                wanted.checksum() && config.checksum(),
                wanted.leaseExpiry(),
                wanted.incarnation(),
                wanted.capability());
        UUID incarnation = UUID.randomUUID();
        this.leases = new LeaseTable(capabilities, regions, counters, config.maxLeaseMillis());
        this.sockets = new PeerSockets(
                ClusterKey.ofSecret(config.secret()),
                incarnation,
                checks.incarnation(),
                counters,
                config.tls(),
                ZmqControlPlane.takesLocalSockets()
                        ? new LocalSockets(LocalSockets.defaultFolder(HostIdentity.own()), incarnation)
                        : null);
        this.control = new ZmqControlPlane(sockets, incarnation, gone, checks.incarnation());
        this.leaseClient = new LeaseClient(control, Waits.SYSTEM);
        this.tcp = new TcpTransport(
                sockets, regions, capabilities, checks, gone, conduct, config.connectionsPerPeer(), localRails);
        Paths.Parts parts = new Paths.Parts(control, regions, capabilities, checks, counters, gone, conduct);
        try {
            this.paths = new Paths(incarnation, config, parts, tcp);
        } catch (RuntimeException e) {
            leases.close();
            tcp.close();
            control.close();
            sockets.close();
            throw e;
        }
        paths.tell(matrix::failed);
        this.regionRails = new RegionRails(topology, localRails, paths.rdmaDevices());
        this.transfers = new Transfers(
                regions,
                checks,
                paths::execute,
                gpu,
                matrix,
                config.connectionsPerPeer(),
                System::nanoTime,
                this::requireOpen);
        this.submissions = new Submissions(transfers);
        try {
            this.address = listen(incarnation);
        } catch (RuntimeException e) {
            closeParts();
            throw e;
        }
        leaseClient.serve(leases);
        LOG.info("Transfer engine {} serves", address.encode());
    }

    private PeerAddress listen(UUID incarnation) {
        List<Integer> ports = new ArrayList<>();
        ports.add(listen(ports, Plane.DATA, tcp::serve));
        ports.add(listen(ports, Plane.CONTROL, control.requests()));
        ports.add(listen(ports, Plane.EVENT, control.subscribers()));
        return new PeerAddress(
                incarnation, config.advertisedHost(), ports.get(0), ports.get(1), ports.get(2), config.rails());
    }

    /** Where data connections start: the system chooses unless rails are configured. */
    private List<InetAddress> localRails() {
        List<InetAddress> addresses = new ArrayList<>();
        if (!config.rails().isEmpty()) {
            List<String> hosts = new ArrayList<>(config.rails());
            hosts.add(0, config.bindHost());
            for (String host : hosts) {
                try {
                    addresses.add(InetAddress.getByName(host));
                } catch (UnknownHostException e) {
                    throw MooncakeException.invalid("rails", host, "an address of this machine");
                }
            }
        }
        return addresses;
    }

    private int listen(List<Integer> used, Plane plane, PeerAcceptor.Handler handler) {
        List<String> hosts = new ArrayList<>();
        hosts.add(config.bindHost());
        if (plane == Plane.DATA) {
            hosts.addAll(config.rails());
        }
        return sockets.listen(hosts, config.portFrom(), config.portTo(), used, plane, handler);
    }

    /** Makes the engine known under {@code name} in {@code store}, which closes with it. */
    void publish(MetadataStore store, String name) {
        Directory published = new Directory(store, control);
        directory = published;
        Map<String, String> attributes =
                Map.of(EngineRecord.NAME, name, "protocol", config.protocol().text());
        if (!published.publish(new EngineRecord(address, attributes), Deadline.ofMillis(PUBLISH_MILLIS))) {
            LOG.info("Transfer engine {} is published when its metadata service answers", name);
        }
    }

    @Override
    public PeerAddress peer(String name, Deadline deadline) {
        requireOpen();
        return requireDirectory().require(name, deadline);
    }

    @Override
    public List<EngineRecord> peers() {
        return requireDirectory().engines();
    }

    private Directory requireDirectory() {
        Directory present = directory;
        if (present == null) {
            throw new MooncakeException(
                    MooncakeException.Code.ILLEGAL_STATE,
                    "metadata: none (expected: an engine of TransferEngine.initialize)");
        }
        return present;
    }

    @Override
    public PeerAddress address() {
        return address;
    }

    @Override
    public ControlPlane control() {
        return control;
    }

    // ----------------------------------------------------------------------------------------------------------
    // memory

    @Override
    public int registerMemory(long memoryAddress, long length, RegionGuard guard) {
        requireOpen();
        return register(memoryAddress, length, guard).id();
    }

    private Region register(long memoryAddress, long length, RegionGuard guard) {
        Region region = regions.register(memoryAddress, length, guard);
        try {
            regionRails.place(region);
            paths.register(region);
        } catch (RuntimeException e) {
            regions.unregister(region.id(), this::cut);
            throw e;
        }
        return region;
    }

    @Override
    public int registerMemory(long memoryAddress, long length, PublishedGuard guard, SharedFile backing) {
        requireOpen();
        long offset = memoryAddress - backing.address();
        if (!backing.owner() || offset < 0 || length > backing.bytes() || offset > backing.bytes() - length) {
            throw MooncakeException.invalid(
                    "shared region", "0x" + Long.toHexString(memoryAddress) + "+" + length, "inside of own " + backing);
        }
        Region region = register(memoryAddress, length, guard);
        paths.share(region, backing);
        return region.id();
    }

    @Override
    public int registerGpuMemory(long memoryAddress, long length, int cudaDevice, RegionGuard guard) {
        requireOpen();
        Region region = gpu.register(
                memoryAddress,
                length,
                cudaDevice,
                memory -> regions.register(memoryAddress, length, guard, memory),
                paths.card());
        regionRails.place(region);
        return region.id();
    }

    @Override
    public Optional<GpuReport> gpuPath(int region) {
        Region found = regions.find(region);
        return found == null ? Optional.empty() : GpuMemory.report(found);
    }

    @Override
    public int[] batchRegisterMemory(long[] addresses, long[] lengths, RegionGuard guard) {
        requireOpen();
        if (addresses.length != lengths.length) {
            throw MooncakeException.invalid("lengths", lengths.length, "one an address: " + addresses.length);
        }
        int[] ids = new int[addresses.length];
        int done = 0;
        try {
            for (; done < ids.length; done++) {
                ids[done] = registerMemory(addresses[done], lengths[done], guard);
            }
            return ids;
        } catch (MooncakeException e) {
            for (int i = 0; i < done; i++) {
                unregisterMemory(ids[i]);
            }
            throw e;
        }
    }

    @Override
    public void revoke(int region, long offset, long length) {
        requireOpen();
        Region found = requireRange(region, offset, length);
        try {
            paths.revokeKeys(found, offset, length);
        } catch (MooncakeException e) {
            GpuMemory.lost(found, "revoked, and no new keys are to be had: " + e.getMessage());
            throw e;
        } finally {
            paths.endWrites(found, offset, length);
        }
    }

    private Region requireRange(int region, long offset, long length) {
        Region found = regions.find(region);
        if (found == null || !found.containsRange(offset, length)) {
            throw MooncakeException.invalid(
                    "range", region + ": " + offset + "+" + length, "inside a registered region");
        }
        return found;
    }

    @Override
    public void unregisterMemory(int region) {
        paths.retract(region);
        Region ending = regions.find(region);
        regions.unregister(region, this::cut);
        if (ending != null) {
            paths.deregister(ending);
            gpu.release(ending);
        }
    }

    /** The region's transfers are to end, those that have not begun too. */
    private void cut(Region region) {
        gpu.cut();
        paths.cut(region);
        // Those too that began to wait for buffers meanwhile.
        gpu.cut();
    }

    @Override
    public RemoteHandle issueHandle(
            UUID peer, int region, long generation, long offset, long length, boolean writable, Duration term) {
        requireRange(region, offset, length);
        if (term.isNegative() || term.toMillis() > 60_000) {
            throw MooncakeException.invalid("term", term, "0..60 s");
        }
        return capabilities.issue(
                peer, region, generation, offset, length, writable, System.nanoTime() + term.toNanos());
    }

    // ----------------------------------------------------------------------------------------------------------
    // transfers

    @Override
    public PathReport path(PeerAddress peer, Deadline deadline) {
        requireOpen();
        return paths.report(peer, deadline);
    }

    @Override
    public List<RailStatistics> rails(PeerAddress peer) {
        return tcp.rails(peer.incarnation());
    }

    @Override
    public Iterable<GrantedLease> leases() {
        return leases::open;
    }

    @Override
    public List<RegisteredRegion> regions() {
        return regions.registered();
    }

    @Override
    public List<PeerQueue> queues() {
        return submissions.queues();
    }

    @Override
    public void serveLeases(LeaseSource source) {
        leases.serve(source);
    }

    @Override
    public RemoteLease lease(PeerAddress peer, String namespace, List<byte[]> keys, Duration term, Deadline deadline) {
        requireOpen();
        paths.prepare(peer);
        long began = System.nanoTime();
        try {
            return leaseClient.lease(peer, namespace, keys, term, deadline);
        } catch (MooncakeException e) {
            long waited = System.nanoTime() - began;
            // Less says nothing about the peer, and neither does a caller that was interrupted.
            if (e.code() == MooncakeException.Code.DEADLINE_EXCEEDED
                    && waited >= LEAST_SILENCE_NANOS
                    && !Thread.currentThread().isInterrupted()) {
                matrix.unfinished(peer.incarnation(), UNANSWERED_BYTES, UNANSWERED_BYTES, waited);
            }
            throw e;
        }
    }

    @Override
    public TransferStatus[] read(RemoteLease lease, List<ReadRequest> requests, Deadline deadline) {
        TransferStatus[] statuses = new TransferStatus[requests.size()];
        transfers.prepare(lease, requests).run(statuses, transfers.nanosOf(deadline));
        return statuses;
    }

    @Override
    public PreparedRead prepareRead(RemoteLease lease, List<ReadRequest> requests) {
        return transfers.prepare(lease, requests);
    }

    @Override
    public TransferStatus[] batchTransferSyncRead(
            PeerAddress peer, long[] localAddresses, RemoteHandle[] handles, long[] sizes, Deadline deadline) {
        TransferStatus[] statuses = new TransferStatus[handles.length];
        transfers.raw(peer, false, localAddresses, handles, sizes, statuses, transfers.nanosOf(deadline));
        return statuses;
    }

    @Override
    public TransferStatus[] batchTransferSyncWrite(
            PeerAddress peer, long[] localAddresses, RemoteHandle[] handles, long[] sizes, Deadline deadline) {
        TransferStatus[] statuses = new TransferStatus[handles.length];
        transfers.raw(peer, true, localAddresses, handles, sizes, statuses, transfers.nanosOf(deadline));
        return statuses;
    }

    @Override
    public void batchTransferSyncRead(
            PeerAddress peer,
            long[] localAddresses,
            RemoteHandle[] handles,
            long[] sizes,
            TransferStatus[] statuses,
            long deadlineNanos) {
        transfers.raw(peer, false, localAddresses, handles, sizes, statuses, deadlineNanos);
    }

    @Override
    public void batchTransferSyncWrite(
            PeerAddress peer,
            long[] localAddresses,
            RemoteHandle[] handles,
            long[] sizes,
            TransferStatus[] statuses,
            long deadlineNanos) {
        transfers.raw(peer, true, localAddresses, handles, sizes, statuses, deadlineNanos);
    }

    @Override
    public TransferTicket submit(List<TransferOperation> operations) {
        requireOpen();
        return submissions.submit(operations);
    }

    @Override
    public TransferTicket submitRead(RemoteLease lease, List<ReadRequest> requests, Deadline deadline) {
        requireOpen();
        return submissions.submitRead(lease, requests, deadline);
    }

    @Override
    public CompletionStage<Void> notifyPeer(PeerAddress peer, byte[] payload, Deadline deadline) {
        requireOpen();
        return control.request(peer, NOTIFY_SERVICE, payload, deadline).thenAccept(reply -> {});
    }

    @Override
    public void onNotification(NotificationListener listener) {
        control.handle(NOTIFY_SERVICE, (from, payload) -> {
            listener.onNotification(from, payload);
            return new byte[0];
        });
    }

    // ----------------------------------------------------------------------------------------------------------
    // life

    @Override
    public void peerGone(UUID incarnation) {
        gone.add(incarnation);
        paths.peerGone(incarnation);
        control.peerGone(incarnation);
        leases.peerGone(incarnation);
        matrix.forget(incarnation);
    }

    @Override
    public PathMatrix pathMatrix() {
        return matrix;
    }

    @Override
    public void peerBack(UUID incarnation) {
        gone.remove(incarnation);
    }

    @Override
    public Map<RefusalCause, Long> refusals() {
        return counters.refusals();
    }

    @Override
    public TransferStatistics statistics() {
        return counters.snapshot();
    }

    private void requireOpen() {
        if (closed.get()) {
            throw new MooncakeException(MooncakeException.Code.ILLEGAL_STATE, "the transfer engine is closed");
        }
    }

    @Override
    public void close() {
        if (closed.compareAndSet(false, true)) {
            Directory published = directory;
            if (published != null) {
                // First, so that nobody comes any more.
                published.close();
            }
            closeParts();
            LOG.info("Transfer engine {} closed", address.encode());
        }
    }

    private void closeParts() {
        sockets.stopListening();
        submissions.close();
        paths.closePage();
        leases.close();
        tcp.close();
        paths.closeTransports();
        control.close();
        for (Region region : regions.all()) {
            regions.unregister(region.id(), this::cut);
        }
        gpu.close();
        paths.releaseDevice();
        sockets.close();
    }
}
