// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer;

import io.mooncake.base.Deadline;
import io.mooncake.base.MooncakeException;
import io.mooncake.natives.SharedFile;
import io.mooncake.transfer.control.ZmqControlPlane;
import io.mooncake.transfer.internal.AsyncTransfers;
import io.mooncake.transfer.internal.Capabilities;
import io.mooncake.transfer.internal.ClusterKey;
import io.mooncake.transfer.internal.Counters;
import io.mooncake.transfer.internal.DirectViews;
import io.mooncake.transfer.internal.LeaseFrameDescriptor;
import io.mooncake.transfer.internal.LeaseTable;
import io.mooncake.transfer.internal.Region;
import io.mooncake.transfer.internal.RegionRegistry;
import io.mooncake.transfer.internal.SafetyChecks;
import io.mooncake.transfer.internal.TransferBatch;
import io.mooncake.transfer.internal.Transport;
import io.mooncake.transfer.rdma.RdmaConfig;
import io.mooncake.transfer.rdma.RdmaTransport;
import io.mooncake.transfer.shm.ShmTransport;
import io.mooncake.transfer.tcp.GonePeers;
import io.mooncake.transfer.tcp.PeerSockets;
import io.mooncake.transfer.tcp.Plane;
import io.mooncake.transfer.tcp.TcpTransport;
import java.security.SecureRandom;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
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
    private static final String LEASE_SERVICE = "mooncake.lease";
    private static final String RELEASE_SERVICE = "mooncake.release";
    private static final String NOTIFY_SERVICE = "mooncake.notify";
    private static final long REPLY_GRACE_NANOS = 100_000_000L;
    private static final long RELEASE_MILLIS = 2000;

    private final TransferEngineConfig config;
    private final SafetyChecks checks;
    private final PeerAddress address;
    private final Counters counters = new Counters();
    private final RegionRegistry regions = new RegionRegistry();
    private final GonePeers gone = new GonePeers();
    private final Capabilities capabilities = new Capabilities(new SecureRandom());
    private final LeaseTable leases;
    private final PeerSockets sockets;
    private final ZmqControlPlane control;
    private final TcpTransport tcp;
    private final @Nullable RdmaTransport rdma;
    private final ShmTransport shm;
    private final AsyncTransfers async = new AsyncTransfers();
    private final AtomicBoolean closed = new AtomicBoolean();

    LocalTransferEngine(TransferEngineConfig config, SafetyChecks checks, @Nullable RdmaConfig rdmaConfig) {
        DirectViews.requireAvailable();
        this.config = config;
        this.checks = new SafetyChecks(
                checks.generation(),
                checks.checksum() && config.checksum(),
                checks.leaseExpiry(),
                checks.incarnation(),
                checks.capability());
        UUID incarnation = UUID.randomUUID();
        this.leases = new LeaseTable(capabilities, regions, counters, config.maxLeaseMillis());
        this.sockets =
                new PeerSockets(ClusterKey.ofSecret(config.secret()), incarnation, checks.incarnation(), counters);
        this.control = new ZmqControlPlane(sockets, incarnation, gone, checks.incarnation());
        this.tcp = new TcpTransport(sockets, regions, capabilities, this.checks, gone, config.connectionsPerPeer());
        this.shm = new ShmTransport(incarnation, control, tcp, regions, capabilities, this.checks, counters, gone);
        this.rdma = rdmaConfig == null ? null : openRdma(rdmaConfig);
        try {
            List<Integer> ports = new ArrayList<>();
            ports.add(listen(ports, Plane.DATA, tcp::serve));
            ports.add(listen(ports, Plane.CONTROL, control::acceptRequests));
            ports.add(listen(ports, Plane.EVENT, control::acceptSubscriber));
            this.address =
                    new PeerAddress(incarnation, config.advertisedHost(), ports.get(0), ports.get(1), ports.get(2));
        } catch (RuntimeException e) {
            closeParts();
            throw e;
        }
        control.handle(LEASE_SERVICE, leases::grant);
        control.handle(RELEASE_SERVICE, (from, payload) -> {
            leases.release(from, payload);
            return new byte[0];
        });
        LOG.info("Transfer engine {} serves", address.encode());
    }

    private RdmaTransport openRdma(RdmaConfig rdmaConfig) {
        try {
            return new RdmaTransport(
                    rdmaConfig,
                    control,
                    regions,
                    capabilities,
                    checks,
                    gone::contains,
                    counters,
                    config.connectionsPerPeer());
        } catch (RuntimeException e) {
            leases.close();
            tcp.close();
            control.close();
            sockets.close();
            throw e;
        }
    }

    private int listen(List<Integer> used, Plane plane, io.mooncake.transfer.tcp.PeerAcceptor.Handler handler) {
        return sockets.listen(config.bindHost(), config.portFrom(), config.portTo(), used, plane, handler);
    }

    @Override
    public PeerAddress address() {
        return address;
    }

    @Override
    public ControlPlane control() {
        return control;
    }

    @Override
    public int registerMemory(long memoryAddress, long length, RegionGuard guard) {
        requireOpen();
        return register(memoryAddress, length, guard).id();
    }

    private Region register(long memoryAddress, long length, RegionGuard guard) {
        Region region = regions.register(memoryAddress, length, guard);
        if (rdma != null) {
            try {
                rdma.register(region);
            } catch (RuntimeException e) {
                regions.unregister(region.id(), this::cut);
                throw e;
            }
        }
        return region;
    }

    private void cut(Region region) {
        tcp.cut(region);
        if (rdma != null) {
            rdma.cut(region);
        }
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
        shm.share(region, backing);
        return region.id();
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

    @Override
    public TransferTicket submit(List<TransferOperation> operations) {
        requireOpen();
        Map<Group, List<Integer>> groups = new LinkedHashMap<>();
        for (int i = 0; i < operations.size(); i++) {
            TransferOperation one = operations.get(i);
            groups.computeIfAbsent(new Group(one.peer(), one.write(), one.deadline()), key -> new ArrayList<>())
                    .add(i);
        }
        async.requireRoom(groups.size());
        List<AsyncTransfers.Part> parts = new ArrayList<>(groups.size());
        groups.forEach((group, members) -> parts.add(part(group, members, operations)));
        return async.start(operations.size(), parts);
    }

    /** What of a ticket runs as one batch; deadlines are compared by identity. */
    private record Group(PeerAddress peer, boolean write, Deadline deadline) {}

    private AsyncTransfers.Part part(Group group, List<Integer> members, List<TransferOperation> operations) {
        int count = members.size();
        int[] indexes = new int[count];
        long[] addresses = new long[count];
        long[] sizes = new long[count];
        RemoteHandle[] handles = new RemoteHandle[count];
        for (int i = 0; i < count; i++) {
            TransferOperation one = operations.get(members.get(i));
            indexes[i] = members.get(i);
            addresses[i] = one.localAddress();
            sizes[i] = one.size();
            handles[i] = one.handle();
        }
        TransferBatch batch = rawBatch(group.write, addresses, handles, sizes, group.deadline);
        return new AsyncTransfers.Part(indexes, batch, () -> run(group.peer, batch, addresses, sizes));
    }

    @Override
    public TransferTicket submitRead(RemoteLease lease, List<ReadRequest> requests, Deadline deadline) {
        requireOpen();
        async.requireRoom(1);
        LeasedRead read = leasedRead(lease, requests, deadline);
        int[] indexes = new int[requests.size()];
        Arrays.setAll(indexes, i -> i);
        return async.start(indexes.length, List.of(new AsyncTransfers.Part(indexes, read.batch, () -> run(read))));
    }

    @Override
    public PathReport path(PeerAddress peer, Deadline deadline) {
        requireOpen();
        return shm.path(peer, deadline);
    }

    @Override
    public void unregisterMemory(int region) {
        // No peer may take for good what it copies from now on.
        shm.retract(region);
        Region ending = regions.find(region);
        regions.unregister(region, this::cut);
        if (rdma != null && ending != null) {
            rdma.deregister(ending);
        }
    }

    @Override
    public void serveLeases(LeaseSource source) {
        leases.serve(source);
    }

    @Override
    public RemoteLease lease(PeerAddress peer, String namespace, List<byte[]> keys, Duration term, Deadline deadline) {
        requireOpen();
        if (term.toMillis() < 10 || term.toMillis() > 60_000) {
            throw MooncakeException.invalid("term", term, "10 ms..60 s");
        }
        if (rdma == null) {
            shm.prepare(peer);
        }
        byte[] payload = LeaseFrameDescriptor.encodeRequest(namespace, term.toNanos(), keys);
        long askedAtNanos = System.nanoTime();
        byte[] reply = await(
                peer, control.request(peer, LEASE_SERVICE, payload, deadline).toCompletableFuture(), deadline);
        LeaseFrameDescriptor.Reply decoded = LeaseFrameDescriptor.decodeReply(reply);
        ReaderLease lease = new ReaderLease(peer, decoded, askedAtNanos, this::release);
        if (decoded.elements().size() != keys.size()) {
            lease.close();
            throw new MooncakeException(
                    MooncakeException.Code.CORRUPT,
                    "lease reply: " + decoded.elements().size() + " elements (expected: " + keys.size() + ")");
        }
        return lease;
    }

    private static byte[] await(
            PeerAddress peer, java.util.concurrent.CompletableFuture<byte[]> reply, Deadline deadline) {
        try {
            return reply.get(deadline.remainingNanos() + REPLY_GRACE_NANOS, TimeUnit.NANOSECONDS);
        } catch (ExecutionException e) {
            if (e.getCause() instanceof MooncakeException known) {
                throw new MooncakeException(known.code(), String.valueOf(known.getMessage()), known);
            }
            throw new MooncakeException(MooncakeException.Code.INTERNAL, "lease request: " + e, e);
        } catch (TimeoutException e) {
            throw new MooncakeException(
                    MooncakeException.Code.DEADLINE_EXCEEDED, peer.encode() + ": no lease by the deadline", e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new MooncakeException(MooncakeException.Code.DEADLINE_EXCEEDED, "interrupted", e);
        }
    }

    private void release(PeerAddress peer, long lease, long copiedBytes) {
        // No answer is waited for: a release that is lost costs the owner the rest of the term.
        control.request(
                peer,
                RELEASE_SERVICE,
                LeaseFrameDescriptor.encodeRelease(lease, copiedBytes),
                Deadline.ofMillis(RELEASE_MILLIS));
    }

    @Override
    public TransferStatus[] read(RemoteLease lease, List<ReadRequest> requests, Deadline deadline) {
        return run(leasedRead(lease, requests, deadline));
    }

    private record LeasedRead(ReaderLease lease, TransferBatch batch, long[] targets, long[] sizes) {}

    private LeasedRead leasedRead(RemoteLease lease, List<ReadRequest> requests, Deadline deadline) {
        if (!(lease instanceof ReaderLease own)) {
            throw MooncakeException.invalid("lease", lease, "one that this engine asked for");
        }
        int count = requests.size();
        RemoteHandle[] handles = new RemoteHandle[count];
        long[] targets = new long[count];
        long[] sizes = new long[count];
        int[] segments = new int[count];
        int[][] checksums = new int[count][];
        long[] generationOffsets = new long[count];
        for (int i = 0; i < count; i++) {
            RemoteLease.Element element = lease.element(requests.get(i).element());
            if (element == null) {
                throw MooncakeException.invalid("element", requests.get(i).element(), "one that was granted");
            }
            handles[i] = element.handle();
            targets[i] = requests.get(i).localAddress();
            sizes[i] = element.handle().length();
            segments[i] = element.segmentLength();
            checksums[i] = element.checksums();
            generationOffsets[i] = element.generationOffset();
        }
        long now = System.nanoTime();
        long left = deadline.remainingNanos();
        boolean leaseFirst = checks.leaseExpiry() && own.endNanos() - now < left;
        TransferBatch batch = new TransferBatch(
                false,
                handles,
                targets,
                sizes,
                checks.checksum() ? segments : null,
                checks.checksum() ? checksums : null,
                generationOffsets,
                leaseFirst ? own.endNanos() : now + left,
                leaseFirst ? TransferStatus.LEASE_EXPIRED : TransferStatus.TIMEOUT,
                config.connectionsPerPeer());
        return new LeasedRead(own, batch, targets, sizes);
    }

    private TransferStatus[] run(LeasedRead read) {
        ReaderLease own = read.lease;
        int count = read.sizes.length;
        if (own.closed() || (checks.leaseExpiry() && own.expired())) {
            return filled(count, TransferStatus.LEASE_EXPIRED);
        }
        TransferStatus[] statuses = run(own.peer(), read.batch, read.targets, read.sizes);
        own.copied(read.batch.copiedBytes());
        if (checks.leaseExpiry() && own.expired()) {
            // Verified, but too late to be relied upon.
            for (int i = 0; i < count; i++) {
                if (statuses[i] == TransferStatus.COMPLETED) {
                    statuses[i] = TransferStatus.LEASE_EXPIRED;
                }
            }
        }
        return statuses;
    }

    @Override
    public TransferStatus[] batchTransferSyncRead(
            PeerAddress peer, long[] localAddresses, RemoteHandle[] handles, long[] sizes, Deadline deadline) {
        return raw(peer, false, localAddresses, handles, sizes, deadline);
    }

    @Override
    public TransferStatus[] batchTransferSyncWrite(
            PeerAddress peer, long[] localAddresses, RemoteHandle[] handles, long[] sizes, Deadline deadline) {
        return raw(peer, true, localAddresses, handles, sizes, deadline);
    }

    private TransferStatus[] raw(
            PeerAddress peer,
            boolean write,
            long[] localAddresses,
            RemoteHandle[] handles,
            long[] sizes,
            Deadline deadline) {
        if (localAddresses.length != handles.length || sizes.length != handles.length) {
            throw MooncakeException.invalid(
                    "batch", localAddresses.length + ", " + handles.length + " and " + sizes.length, "equal lengths");
        }
        for (int i = 0; i < sizes.length; i++) {
            if (sizes[i] < 1 || sizes[i] > handles[i].length()) {
                throw MooncakeException.invalid("sizes[" + i + "]", sizes[i], "1.." + handles[i].length());
            }
        }
        return run(peer, rawBatch(write, localAddresses, handles, sizes, deadline), localAddresses, sizes);
    }

    private TransferBatch rawBatch(
            boolean write, long[] localAddresses, RemoteHandle[] handles, long[] sizes, Deadline deadline) {
        return new TransferBatch(
                write,
                handles,
                localAddresses,
                sizes,
                null,
                null,
                null,
                System.nanoTime() + deadline.remainingNanos(),
                TransferStatus.TIMEOUT,
                config.connectionsPerPeer());
    }

    /** Holds the local regions while the transport works on them. */
    private TransferStatus[] run(PeerAddress peer, TransferBatch batch, long[] localAddresses, long[] sizes) {
        requireOpen();
        Region[] held = new Region[localAddresses.length];
        int holding = 0;
        try {
            for (; holding < held.length; holding++) {
                Region region = regions.acquireAt(localAddresses[holding], sizes[holding]);
                if (region == null) {
                    throw MooncakeException.invalid(
                            "local range",
                            "0x" + Long.toHexString(localAddresses[holding]) + "+" + sizes[holding],
                            "inside registered memory");
                }
                held[holding] = region;
            }
            Transport transport = rdma == null ? shm : rdma;
            transport.execute(peer, batch);
            return batch.statuses();
        } finally {
            for (int i = 0; i < holding; i++) {
                held[i].release();
            }
        }
    }

    private static TransferStatus[] filled(int count, TransferStatus status) {
        TransferStatus[] statuses = new TransferStatus[count];
        Arrays.fill(statuses, status);
        return statuses;
    }

    @Override
    public RemoteHandle issueHandle(
            UUID peer, int region, long generation, long offset, long length, boolean writable, Duration term) {
        Region found = regions.find(region);
        if (found == null || !found.containsRange(offset, length)) {
            throw MooncakeException.invalid(
                    "range", region + ": " + offset + "+" + length, "inside a registered region");
        }
        if (term.isNegative() || term.toMillis() > 60_000) {
            throw MooncakeException.invalid("term", term, "0..60 s");
        }
        return capabilities.issue(
                peer, region, generation, offset, length, writable, System.nanoTime() + term.toNanos());
    }

    @Override
    public void peerGone(UUID incarnation) {
        gone.add(incarnation);
        shm.peerGone(incarnation);
        if (rdma != null) {
            rdma.peerGone(incarnation);
        }
        control.peerGone(incarnation);
        leases.peerGone(incarnation);
    }

    @Override
    public void peerBack(UUID incarnation) {
        gone.remove(incarnation);
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
            closeParts();
            LOG.info("Transfer engine {} closed", address.encode());
        }
    }

    private void closeParts() {
        sockets.stopListening();
        async.close();
        // The page first: what peers copy from now on counts for nothing, so pins may go.
        shm.close();
        leases.close();
        tcp.close();
        if (rdma != null) {
            rdma.close();
        }
        control.close();
        for (Region region : regions.all()) {
            regions.unregister(region.id(), this::cut);
        }
        if (rdma != null) {
            rdma.release();
        }
        sockets.close();
    }
}
