// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer;

import io.mooncake.base.Deadline;
import io.mooncake.base.Waits;
import io.mooncake.ignite.sim.Partly;
import io.mooncake.transfer.gpu.GpuMemory;
import io.mooncake.transfer.internal.AccessCheck;
import io.mooncake.transfer.internal.Capabilities;
import io.mooncake.transfer.internal.Claim;
import io.mooncake.transfer.internal.Counters;
import io.mooncake.transfer.internal.LeaseTable;
import io.mooncake.transfer.internal.RawMemory;
import io.mooncake.transfer.internal.Region;
import io.mooncake.transfer.internal.RegionRegistry;
import io.mooncake.transfer.internal.SafetyChecks;
import io.mooncake.transfer.internal.TransferBatch;
import io.mooncake.transfer.internal.TransferBatch.Slice;
import io.mooncake.transfer.tcp.GonePeers;
import io.mooncake.transfer.topology.PathMatrix;
import java.security.SecureRandom;
import java.time.Duration;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.ScheduledExecutorService;
import java.util.zip.CRC32C;
import org.jspecify.annotations.Nullable;

/**
 * The engine of a simulated process: the shipped leases, capabilities, access checks and batches of both sides, around a wire that is the simulation's.
 */
public final class SimEngine {
    private static final long MAX_LEASE_MILLIS = 60_000;

    private final PeerAddress address;
    private final ControlPlane control;
    private final Wire wire;
    private final Waits waits;
    private final Counters counters = new Counters();
    private final RegionRegistry regions = new RegionRegistry();
    private final Capabilities capabilities;
    private final AccessCheck check;
    private final LeaseTable leases;
    private final LeaseClient client;
    private final Transfers transfers;
    private final PathMatrix matrix;
    private final GonePeers gone;

    /** What is between two processes. */
    public interface Wire {
        /** Where {@code peer} was; null when nobody is there, or nothing gets there. Takes the time that the way takes. */
        @Nullable
        SimEngine reach(PeerAddress peer, Deadline deadline);

        /** Takes the time between two pieces of an answer; @return whether the way back is still open */
        boolean piece(PeerAddress peer);

        /** May damage what comes. */
        void damage(byte[] bytes);
    }

    public SimEngine(
            PeerAddress address,
            ControlPlane control,
            GonePeers gone,
            Wire wire,
            Waits waits,
            ScheduledExecutorService timer,
            SecureRandom random,
            SafetyChecks checks) {
        this.address = address;
        this.control = control;
        this.gone = gone;
        this.wire = wire;
        this.waits = waits;
        capabilities = new Capabilities(random);
        check = new AccessCheck(checks, waits::nanoTime);
        matrix = new PathMatrix(waits::nanoTime);
        leases = new LeaseTable(capabilities, regions, counters, MAX_LEASE_MILLIS, waits::nanoTime, timer);
        client = new LeaseClient(control, waits);
        transfers =
                new Transfers(regions, checks, this::execute, new GpuMemory(), matrix, 1, waits::nanoTime, () -> {});
        client.serve(leases);
    }

    /** As who uses it sees it. */
    public TransferEngine engine() {
        return Partly.of(TransferEngine.class, this);
    }

    // ------------------------------------------------------------------------------------------------ the interface

    public PeerAddress address() {
        return address;
    }

    public ControlPlane control() {
        return control;
    }

    public PathMatrix pathMatrix() {
        return matrix;
    }

    public int registerMemory(long at, long length, RegionGuard guard) {
        return regions.register(at, length, guard).id();
    }

    public void unregisterMemory(int region) {
        regions.unregister(region, ending -> {});
    }

    public void serveLeases(LeaseSource source) {
        leases.serve(source);
    }

    public RemoteLease lease(PeerAddress peer, String namespace, List<byte[]> keys, Duration term, Deadline deadline) {
        return client.lease(peer, namespace, keys, term, deadline);
    }

    public TransferStatus[] read(RemoteLease lease, List<TransferEngine.ReadRequest> requests, Deadline deadline) {
        TransferStatus[] statuses = new TransferStatus[requests.size()];
        transfers.prepare(lease, requests).run(statuses, transfers.nanosOf(deadline));
        return statuses;
    }

    public void peerGone(UUID incarnation) {
        gone.add(incarnation);
        leases.peerGone(incarnation);
    }

    public void peerBack(UUID incarnation) {
        gone.remove(incarnation);
    }

    public Iterable<GrantedLease> leases() {
        return leases::open;
    }

    public void close() {
        leases.close();
    }

    // ------------------------------------------------------------------------------------------------ the wire

    private void execute(PeerAddress peer, TransferBatch batch) {
        Slice slice = new Slice();
        CRC32C crc = new CRC32C();
        while (batch.next(slice)) {
            TransferStatus failed = move(peer, batch, slice);
            if (failed == null) {
                batch.arrived(slice, crc);
            } else if (failed == batch.deadlineStatus() || failed == TransferStatus.PEER_UNREACHABLE) {
                batch.abort(failed);
            } else {
                batch.failed(slice, failed);
            }
        }
    }

    /** @return null when the bytes are here */
    private @Nullable TransferStatus move(PeerAddress peer, TransferBatch batch, Slice slice) {
        long left = batch.deadlineNanos() - waits.nanoTime();
        if (left <= 0) {
            return batch.deadlineStatus();
        }
        if (gone.contains(peer.incarnation())) {
            return TransferStatus.PEER_UNREACHABLE;
        }
        SimEngine owner = wire.reach(peer, Deadline.of(Duration.ofNanos(left), waits::nanoTime));
        byte @Nullable [] bytes = null;
        if (owner != null) {
            Served served = owner.serve(address.incarnation(), slice, () -> wire.piece(peer));
            if (served.refused() != null) {
                return served.refused();
            }
            bytes = served.bytes();
        }
        if (waits.nanoTime() - batch.deadlineNanos() >= 0) {
            return batch.deadlineStatus();
        }
        if (bytes == null) {
            return TransferStatus.PEER_UNREACHABLE;
        }
        wire.damage(bytes);
        RawMemory.put(slice.localAddress(), bytes);
        return null;
    }

    /** What an owner sends: bytes, why not, or nothing at all. */
    private record Served(byte @Nullable [] bytes, @Nullable TransferStatus refused) {}

    private Served serve(UUID reader, Slice slice, java.util.function.BooleanSupplier between) {
        if (gone.contains(reader)) {
            return new Served(null, TransferStatus.PEER_UNREACHABLE);
        }
        Claim claim = new Claim().of(slice.handle(), false, slice.offset(), slice.length());
        Region region = regions.find(claim.region);
        if (region == null || !region.acquire()) {
            return new Served(null, TransferStatus.REFUSED);
        }
        try {
            var refused = check.before(capabilities.verifier(), reader, region, claim);
            if (refused != null) {
                return new Served(null, AccessCheck.status(refused));
            }
            byte[] bytes = new byte[slice.length()];
            byte[] piece = new byte[slice.length() / 2];
            for (int at = 0; at < bytes.length; at += piece.length) {
                RawMemory.get(region.address() + claim.start() + at, piece);
                System.arraycopy(piece, 0, bytes, at, piece.length);
                if (!between.getAsBoolean()) {
                    return new Served(null, null);
                }
            }
            refused = check.after(region, claim);
            return new Served(refused == null ? bytes : null, refused == null ? null : AccessCheck.status(refused));
        } finally {
            region.release();
        }
    }
}
