// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.internal;

import io.mooncake.transfer.PeerAddress;
import io.mooncake.transfer.RemoteHandle;
import io.mooncake.transfer.TransferStatus;
import io.mooncake.transfer.internal.TransferBatch.Slice;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.UUID;
import java.util.zip.CRC32C;

/**
 * Transfers of an engine to itself: a copy on the calling thread, under the checks that an owner makes for a peer: region, range, rights,
 * MAC, expiry and generation before the first byte of a slice, expiry and generation after its last one, then the checksums of the lease.
 *
 * <p>Each thread keeps a {@link Worker}; a call within a call (the region's guard, which runs on this thread, reads) makes its own.
 */
public final class LocalTransport implements Transport {
    /** The JVM reaches no safepoint within a piece. */
    private static final int PIECE_BYTES = 256 << 10;

    private final RegionRegistry regions;
    private final Capabilities capabilities;
    private final SafetyChecks checks;
    private final Counters counters;
    private final ThreadLocal<Worker> workers;
    private volatile boolean closed;

    private static final class Worker {
        final Slice slice = new Slice();
        final CRC32C crc = new CRC32C();
        final MovingView view = new MovingView();
        final Capabilities.Verifier verifier;
        boolean busy;

        Worker(Capabilities capabilities) {
            verifier = capabilities.verifier();
        }
    }

    public LocalTransport(RegionRegistry regions, Capabilities capabilities, SafetyChecks checks, Counters counters) {
        this.regions = regions;
        this.capabilities = capabilities;
        this.checks = checks;
        this.counters = counters;
        this.workers = ThreadLocal.withInitial(() -> new Worker(capabilities));
    }

    @Override
    public void execute(PeerAddress self, TransferBatch batch) {
        Worker worker = take();
        try {
            execute(self.incarnation(), batch, worker);
        } finally {
            worker.busy = false;
        }
    }

    private Worker take() {
        Worker mine = workers.get();
        if (mine.busy) {
            mine = new Worker(capabilities);
        }
        mine.busy = true;
        return mine;
    }

    private void execute(UUID self, TransferBatch batch, Worker worker) {
        Slice slice = worker.slice;
        while (!closed && batch.next(slice)) {
            if (System.nanoTime() - batch.deadlineNanos() >= 0) {
                batch.abort(batch.deadlineStatus());
                return;
            }
            if (Thread.currentThread().isInterrupted()) {
                batch.abort(TransferStatus.CANCELED);
                return;
            }
            TransferStatus status = move(self, batch, worker);
            if (status == TransferStatus.COMPLETED) {
                counters.requestsServed.increment();
                (batch.write() ? counters.writtenLocal : counters.readLocal).add(slice.length());
                (batch.write() ? counters.bytesReceived : counters.bytesServed).add(slice.length());
                batch.arrived(slice, worker.crc, worker.view);
            } else if (!closed) {
                counters.requestsRefused.increment();
                batch.failed(slice, status);
            }
        }
        // Closed meanwhile: as a peer would see it.
        batch.abort(TransferStatus.PEER_UNREACHABLE);
    }

    private TransferStatus move(UUID self, TransferBatch batch, Worker worker) {
        Slice slice = worker.slice;
        RemoteHandle handle = slice.handle();
        Region region = regions.find(handle.region());
        if (region == null || !region.acquire()) {
            return TransferStatus.REFUSED;
        }
        try {
            TransferStatus before = authorise(self, batch, worker, region);
            if (before != TransferStatus.COMPLETED) {
                return before;
            }
            long owned = region.address() + handle.offset() + slice.offset();
            DeviceMemory device = region.device();
            if (device == null) {
                copy(batch.write(), owned, slice);
            } else if (!copyThrough(device, batch, owned, slice)) {
                return TransferStatus.DEVICE_FAILED;
            }
            RawMemory.loadFence();
            return stillGranted(region, handle, slice);
        } finally {
            region.release();
        }
    }

    private static void copy(boolean write, long owned, Slice slice) {
        for (int at = 0; at < slice.length(); at += PIECE_BYTES) {
            int bytes = Math.min(PIECE_BYTES, slice.length() - at);
            if (write) {
                RawMemory.copy(slice.localAddress() + at, owned + at, bytes);
            } else {
                RawMemory.copy(owned + at, slice.localAddress() + at, bytes);
            }
        }
    }

    private static boolean copyThrough(DeviceMemory device, TransferBatch batch, long owned, Slice slice) {
        ByteBuffer local = DirectViews.view(slice.localAddress(), slice.length());
        try (DeviceMemory.Passage passage = device.open(batch.deadlineNanos())) {
            if (passage == null) {
                return false;
            }
            if (!batch.write()) {
                return passage.send(owned, slice.length(), local::put);
            }
            return passage.receive(owned, slice.length(), piece -> {
                int bytes = piece.remaining();
                piece.put(local.limit(local.position() + bytes));
                return true;
            });
        } catch (IOException e) {
            throw new IllegalStateException("a copy in memory", e);
        }
    }

    private TransferStatus authorise(UUID self, TransferBatch batch, Worker worker, Region region) {
        RemoteHandle handle = worker.slice.handle();
        boolean inside = region.containsRange(handle.offset(), handle.length());
        if (!inside || (batch.write() && !handle.writable())) {
            return TransferStatus.REFUSED;
        }
        if (checks.capability() && !worker.verifier.verify(self, handle)) {
            return TransferStatus.REFUSED;
        }
        return stillGranted(region, handle, worker.slice);
    }

    private TransferStatus stillGranted(Region region, RemoteHandle handle, Slice slice) {
        if (checks.leaseExpiry() && System.nanoTime() - handle.expiresAtNanos() >= 0) {
            return TransferStatus.LEASE_EXPIRED;
        }
        if (checks.generation()
                && !region.current(handle.offset() + slice.offset(), slice.length(), handle.generation())) {
            return TransferStatus.STALE_GENERATION;
        }
        return TransferStatus.COMPLETED;
    }

    /** A copy leaves memory within microseconds; the batch that it belongs to ends by its deadline. */
    @Override
    public void cut(Region region) {}

    @Override
    public void peerGone(UUID incarnation) {}

    @Override
    public void close() {
        closed = true;
    }
}
