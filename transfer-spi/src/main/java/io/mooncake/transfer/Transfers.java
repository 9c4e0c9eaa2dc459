// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer;

import io.mooncake.base.Deadline;
import io.mooncake.base.MooncakeException;
import io.mooncake.transfer.TransferEngine.ReadRequest;
import io.mooncake.transfer.gpu.GpuMemory;
import io.mooncake.transfer.internal.Region;
import io.mooncake.transfer.internal.RegionRegistry;
import io.mooncake.transfer.internal.SafetyChecks;
import io.mooncake.transfer.internal.Staging;
import io.mooncake.transfer.internal.TransferBatch;
import io.mooncake.transfer.topology.PathMatrix;
import io.mooncake.transfer.topology.RailNumber;
import java.util.Arrays;
import java.util.List;
import java.util.UUID;
import java.util.function.BiConsumer;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Synchronous batches: checks the caller's arguments, holds the local regions, runs the batch, and judges leases at its end.
 *
 * <p>Each thread keeps a {@link Workspace}, so that a call allocates nothing; a call within a call (a region's guard that reads) makes its
 * own.
 */
final class Transfers {
    private static final long MAX_DEADLINE_NANOS = 86_400_000_000_000L;
    /** Of small calls every so many is timed: two looks at the clock are dear beside a read in place. */
    private static final int TIMED_CALLS = 64;

    private final RegionRegistry regions;
    private final SafetyChecks checks;
    private final BiConsumer<PeerAddress, TransferBatch> paths;
    private final LongSupplier nanoClock;
    private final GpuMemory gpu;
    private final PathMatrix matrix;
    private final int lanes;
    private final Runnable requireOpen;
    private final ThreadLocal<Workspace> workspaces = ThreadLocal.withInitial(Workspace::new);

    /** What one call needs. */
    static final class Workspace {
        final TransferBatch batch = new TransferBatch();
        private @Nullable Region[] held = new Region[8];
        private boolean busy;
        private int smallCalls = TIMED_CALLS - 1;
    }

    /**
     * @param paths runs a batch to its end, as {@link Paths#execute}
     * @param matrix learns how long batches take
     * @param lanes connections that share a batch
     * @param nanoClock monotonic nanoseconds
     * @param requireOpen throws when the engine is closed
     */
    Transfers(
            RegionRegistry regions,
            SafetyChecks checks,
            BiConsumer<PeerAddress, TransferBatch> paths,
            GpuMemory gpu,
            PathMatrix matrix,
            int lanes,
            LongSupplier nanoClock,
            Runnable requireOpen) {
        this.regions = regions;
        this.checks = checks;
        this.paths = paths;
        this.gpu = gpu;
        this.matrix = matrix;
        this.lanes = lanes;
        this.nanoClock = nanoClock;
        this.requireOpen = requireOpen;
    }

    // ----------------------------------------------------------------------------------------------------------
    // raw

    /** Runs a raw batch; fills {@code statuses}. */
    void raw(
            PeerAddress peer,
            boolean write,
            long[] localAddresses,
            RemoteHandle[] handles,
            long[] sizes,
            TransferStatus[] statuses,
            long deadlineNanos) {
        requireOpen.run();
        requireSound(localAddresses, handles, sizes, statuses);
        Workspace workspace = take();
        try {
            resetRaw(workspace.batch, write, localAddresses, handles, sizes, deadlineNanos);
            run(peer, workspace, localAddresses, sizes, statuses);
        } finally {
            giveBack(workspace);
        }
    }

    private static void requireSound(
            long[] localAddresses, RemoteHandle[] handles, long[] sizes, TransferStatus[] statuses) {
        int count = handles.length;
        if (localAddresses.length != count || sizes.length != count || statuses.length < count) {
            throw MooncakeException.invalid(
                    "batch",
                    localAddresses.length + " addresses, " + count + " handles, " + sizes.length + " sizes and "
                            + statuses.length + " statuses",
                    "one each a request");
        }
        for (int i = 0; i < count; i++) {
            if (sizes[i] < 1 || sizes[i] > handles[i].length()) {
                throw MooncakeException.invalid("sizes[" + i + "]", sizes[i], "1.." + handles[i].length());
            }
        }
    }

    void resetRaw(
            TransferBatch batch,
            boolean write,
            long[] localAddresses,
            RemoteHandle[] handles,
            long[] sizes,
            long deadlineNanos) {
        batch.reset(
                write,
                handles,
                localAddresses,
                sizes,
                null,
                null,
                null,
                atMostADay(deadlineNanos),
                TransferStatus.TIMEOUT,
                lanes);
    }

    private Workspace take() {
        Workspace mine = workspaces.get();
        if (mine.busy) {
            mine = new Workspace();
        }
        mine.busy = true;
        return mine;
    }

    private static void giveBack(Workspace workspace) {
        workspace.batch.clear();
        workspace.busy = false;
    }

    /** Holds the local regions while the transport works on them. */
    void run(PeerAddress peer, Workspace workspace, long[] localAddresses, long[] sizes, TransferStatus[] statuses) {
        requireOpen.run();
        int count = sizes.length;
        if (workspace.held.length < count) {
            workspace.held = new Region[count];
        }
        int holding = 0;
        try {
            for (; holding < count; holding++) {
                workspace.held[holding] = requireRegistered(localAddresses[holding], sizes[holding]);
            }
            prefer(workspace, count);
            executeTimed(peer, workspace);
            workspace.batch.statuses(statuses);
        } finally {
            for (int i = 0; i < holding; i++) {
                Region region = workspace.held[i];
                workspace.held[i] = null;
                if (region != null) {
                    region.release();
                }
            }
        }
    }

    /** The batch goes by the rails near its local memory, be it in several places. */
    private static void prefer(Workspace workspace, int count) {
        int tcp = 0;
        int rdma = 0;
        for (int i = 0; i < count; i++) {
            Region region = workspace.held[i];
            tcp |= region == null ? Region.ANY_RAIL : region.tcpRails();
            rdma |= region == null ? Region.ANY_RAIL : region.rdmaRails();
        }
        workspace.batch.prefer(tcp, rdma);
    }

    private void executeTimed(PeerAddress peer, Workspace workspace) {
        TransferBatch batch = workspace.batch;
        long bytes = batch.totalBytes();
        boolean timed = bytes >= PathMatrix.LARGE_BYTES || ++workspace.smallCalls % TIMED_CALLS == 0;
        long began = timed ? nanoClock.getAsLong() : 0;
        execute(peer, workspace);
        if (!timed) {
            return;
        }
        long nanos = nanoClock.getAsLong() - began;
        if (batch.completed()) {
            observe(peer.incarnation(), batch, bytes, nanos);
        } else if (batch.has(batch.deadlineStatus()) && began + nanos - batch.deadlineNanos() >= 0) {
            matrix.unfinished(peer.incarnation(), bytes, batch.movedBytes(), nanos);
        }
    }

    /** A small batch that went by one rail measures its round trip, a large one the bandwidth of each rail that it went by. */
    private void observe(UUID peer, TransferBatch batch, long bytes, long nanos) {
        for (int rail = 0; rail < RailNumber.COUNT; rail++) {
            long moved = batch.railBytes(rail);
            if (moved == bytes) {
                matrix.observe(peer, rail, bytes, nanos);
            } else if (moved > 0 && bytes >= PathMatrix.LARGE_BYTES) {
                matrix.observeShare(peer, rail, moved, nanos);
            }
        }
    }

    private void execute(PeerAddress peer, Workspace workspace) {
        TransferBatch batch = workspace.batch;
        try (Staging staging = gpu.staging(batch, workspace.held)) {
            batch.stageWith(staging);
            paths.accept(peer, batch);
        } finally {
            batch.stageWith(null);
        }
    }

    private Region requireRegistered(long address, long size) {
        Region region = regions.acquireAt(address, size);
        if (region == null) {
            throw MooncakeException.invalid(
                    "local range", "0x" + Long.toHexString(address) + "+" + size, "inside registered memory");
        }
        return region;
    }

    // ----------------------------------------------------------------------------------------------------------
    // leased

    /** Elements of a lease and where they go, checked; runs as often as wanted, by one thread at a time. */
    LeasedRead prepare(RemoteLease lease, List<ReadRequest> requests) {
        if (!(lease instanceof ReaderLease own)) {
            throw MooncakeException.invalid("lease", lease, "one that this engine asked for");
        }
        return new LeasedRead(this, own, requests);
    }

    void resetLeased(LeasedRead read, TransferBatch batch, long deadlineNanos) {
        long leaseEnd = read.lease.endNanos();
        boolean leaseFirst = checks.leaseExpiry() && leaseEnd - deadlineNanos < 0;
        batch.reset(
                false,
                read.handles,
                read.targets,
                read.sizes,
                checks.checksum() ? read.segments : null,
                checks.checksum() ? read.checksums : null,
                read.generationOffsets,
                leaseFirst ? leaseEnd : atMostADay(deadlineNanos),
                leaseFirst ? TransferStatus.LEASE_EXPIRED : TransferStatus.TIMEOUT,
                lanes);
    }

    /** Runs a read whose batch was reset. */
    void run(LeasedRead read, Workspace workspace, TransferStatus[] statuses) {
        requireOpen.run();
        int count = read.sizes.length;
        if (statuses.length < count) {
            throw MooncakeException.invalid("statuses", statuses.length, "one a request: " + count);
        }
        ReaderLease lease = read.lease;
        // A term that is over is a deadline that has passed: the transport says so.
        if (lease.closed()) {
            Arrays.fill(statuses, 0, count, TransferStatus.LEASE_EXPIRED);
            return;
        }
        run(lease.peer(), workspace, read.targets, read.sizes, statuses);
        lease.copied(workspace.batch.copiedBytes());
        if (checks.leaseExpiry() && lease.expired()) {
            for (int i = 0; i < count; i++) {
                if (saysNothing(statuses[i])) {
                    statuses[i] = TransferStatus.LEASE_EXPIRED;
                }
            }
        }
    }

    /** Whether the end of the term explains it: verified, but too late to be relied upon, or no more what was leased. */
    private static boolean saysNothing(TransferStatus afterTheTerm) {
        return afterTheTerm == TransferStatus.COMPLETED
                || afterTheTerm == TransferStatus.STALE_GENERATION
                || afterTheTerm == TransferStatus.CHECKSUM;
    }

    /** As {@link Deadline} has it; nothing behind this meets a sum that overflows. */
    private long atMostADay(long deadlineNanos) {
        long now = nanoClock.getAsLong();
        return deadlineNanos - now > MAX_DEADLINE_NANOS ? now + MAX_DEADLINE_NANOS : deadlineNanos;
    }

    long nanosOf(Deadline deadline) {
        return nanoClock.getAsLong() + deadline.remainingNanos();
    }
}
