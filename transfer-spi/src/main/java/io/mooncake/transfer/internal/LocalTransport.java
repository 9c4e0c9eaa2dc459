// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.internal;

import io.mooncake.transfer.PeerAddress;
import io.mooncake.transfer.RefusalCause;
import io.mooncake.transfer.TransferStatus;
import io.mooncake.transfer.internal.TransferBatch.Slice;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.UUID;
import java.util.zip.CRC32C;
import org.jspecify.annotations.Nullable;

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
    private final AccessCheck check;
    private final Counters counters;
    private final ThreadLocal<Worker> workers;
    private volatile boolean closed;

    private static final class Worker {
        final Slice slice = new Slice();
        final Claim claim = new Claim();
        final CRC32C crc = new CRC32C();
        final MovingView view = new MovingView();
        final Capabilities.Verifier verifier;
        final WritesUnderWay.Writer writer;
        boolean busy;

        Worker(LocalTransport transport) {
            verifier = transport.capabilities.verifier();
            writer = transport.regions.writes().writer(transport.check, claim);
        }
    }

    public LocalTransport(RegionRegistry regions, Capabilities capabilities, SafetyChecks checks, Counters counters) {
        this.regions = regions;
        this.capabilities = capabilities;
        this.check = new AccessCheck(checks);
        this.counters = counters;
        this.workers = ThreadLocal.withInitial(() -> new Worker(this));
    }

    @Override
    public void execute(PeerAddress self, TransferBatch batch) {
        if (!batch.reserveBuffers()) {
            return;
        }
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
            mine = new Worker(this);
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
            RefusalCause cause = move(self, batch, worker);
            if (cause == null) {
                batch.arrived(slice, worker.crc, worker.view);
            } else if (!closed) {
                counters.refused(cause);
                batch.failed(slice, AccessCheck.status(cause));
            }
        }
        // Closed meanwhile: as a peer would see it.
        batch.abort(TransferStatus.PEER_UNREACHABLE);
    }

    private @Nullable RefusalCause move(UUID self, TransferBatch batch, Worker worker) {
        Slice slice = worker.slice;
        Claim claim = worker.claim.of(slice.handle(), batch.write(), slice.offset(), slice.length());
        Region region = regions.find(claim.region);
        if (region == null || !region.acquire()) {
            return RefusalCause.REGION;
        }
        if (claim.write) {
            worker.writer.begin(region);
        }
        try {
            RefusalCause before = check.before(worker.verifier, self, region, claim);
            if (before != null) {
                return before;
            }
            long owned = region.address() + claim.start();
            DeviceMemory device = region.device();
            if (device == null) {
                copy(batch.write(), owned, slice);
            } else if (!copyThrough(device, batch, owned, slice)) {
                return RefusalCause.DEVICE;
            }
            RawMemory.loadFence();
            RefusalCause after = check.after(region, claim);
            if (after == null) {
                count(claim);
            }
            return after;
        } finally {
            worker.writer.end();
            region.release();
        }
    }

    /** While the region is held: once it is unregistered, nothing of it is counted any more. */
    private void count(Claim claim) {
        counters.requestsServed.increment();
        (claim.write ? counters.writtenLocal : counters.readLocal).add(claim.length);
        (claim.write ? counters.bytesReceived : counters.bytesServed).add(claim.length);
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
