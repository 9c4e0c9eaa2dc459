// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.shm;

import io.mooncake.base.Deadline;
import io.mooncake.base.MooncakeException;
import io.mooncake.natives.SharedFile;
import io.mooncake.transfer.ControlPlane;
import io.mooncake.transfer.PathReport;
import io.mooncake.transfer.PeerAddress;
import io.mooncake.transfer.PublishedGuard;
import io.mooncake.transfer.RemoteHandle;
import io.mooncake.transfer.TransferStatus;
import io.mooncake.transfer.internal.AccessCheck;
import io.mooncake.transfer.internal.Capabilities;
import io.mooncake.transfer.internal.Counters;
import io.mooncake.transfer.internal.PeerConduct;
import io.mooncake.transfer.internal.RawMemory;
import io.mooncake.transfer.internal.Region;
import io.mooncake.transfer.internal.RegionRegistry;
import io.mooncake.transfer.internal.SafetyChecks;
import io.mooncake.transfer.internal.StatusCodes;
import io.mooncake.transfer.internal.TransferBatch;
import io.mooncake.transfer.internal.TransferBatch.Slice;
import io.mooncake.transfer.internal.Transport;
import io.mooncake.transfer.tcp.GonePeers;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * Reads out of the mapped memory of peers on this machine, and has them read what is written to them; everything else goes on to the
 * transport behind it.
 *
 * <p>A read copies on the calling thread under the owner's lease, verifies the private copy, fences, and then looks at three things that
 * only the owner writes: the generation of the range, the registration of the region, the state of the page. Peers are probed in the
 * background at their first use, so no call waits for it; until then, and where memory is not shared, TCP is the way.
 */
public final class ShmTransport implements Transport {
    private static final long PROBE_PAUSE_MILLIS = 1;

    private final ControlPlane control;
    private final Transport fallback;
    private final SafetyChecks checks;
    private final Counters counters;
    private final GonePeers gone;
    private final RegionRegistry regions;
    private final boolean reads;
    private final ShmOwner owner;
    private final Prober prober;
    private final ConcurrentHashMap<UUID, PeerLink> links = new ConcurrentHashMap<>();
    private final ThreadLocal<Copier> copiers = ThreadLocal.withInitial(Copier::new);
    private final ThreadLocal<Outgoing> outgoing = ThreadLocal.withInitial(Outgoing::new);
    private volatile boolean closed;

    /**
     * @param incarnation this engine's
     * @param fallback takes what is not shared; it is not closed by this
     * @param conduct of peers over all ways
     * @param reads whether this engine maps memory of peers; else it only shares its own
     */
    public ShmTransport(
            UUID incarnation,
            ControlPlane control,
            Transport fallback,
            RegionRegistry regions,
            Capabilities capabilities,
            SafetyChecks checks,
            Counters counters,
            GonePeers gone,
            PeerConduct conduct,
            boolean reads) {
        this.control = control;
        this.fallback = fallback;
        this.checks = checks;
        this.counters = counters;
        this.gone = gone;
        this.owner = new ShmOwner(incarnation, regions, capabilities, checks, conduct);
        this.regions = regions;
        this.reads = reads;
        IncomingWrites.Services services = new IncomingWrites.Services(
                incarnation, regions, capabilities, new AccessCheck(checks), counters, conduct);
        this.prober = new Prober(control, owner, services, links, gone);
        conduct.onPutOut(this::end);
        control.handle(Prober.ATTACH_SERVICE, this::attach);
        control.handle(Prober.OPEN_SERVICE, owner::open);
    }

    // -------------------------------------------------------------------------------------------------------- owner's
    // side

    /** Shows a region that lies in {@code backing} to the peers of this machine. */
    public void share(Region region, SharedFile backing) {
        owner.share(region, backing);
        links.values().forEach(PeerLink::probeSoon);
    }

    /** Takes a region back; before its registration ends. */
    public void retract(int region) {
        owner.retract(region);
    }

    // -------------------------------------------------------------------------------------------------------- paths

    /** Probes the peer unless that has been done, and says how transfers go. */
    public PathReport path(PeerAddress peer, Deadline deadline) {
        while (!closed && !gone.contains(peer.incarnation())) {
            PeerLink link = link(peer.incarnation());
            if (link.startProbe(owner.sharing())) {
                prober.probe(peer, link, deadline);
            } else if (link.settled() || link.attached() || deadline.expired()) {
                return link.report();
            }
            LockSupport.parkNanos(PROBE_PAUSE_MILLIS * 1_000_000);
        }
        return new PathReport(PathReport.Kind.TCP, PathReport.Kind.TCP, "the peer is gone");
    }

    /** The peer will be read from: probes it in the background unless that has been done. */
    public void prepare(PeerAddress peer) {
        if (!closed && !gone.contains(peer.incarnation())) {
            PeerLink link = link(peer.incarnation());
            if (link.startProbe(owner.sharing())) {
                prober.probeInBackground(peer, link);
            }
        }
    }

    private byte[] attach(UUID peer, byte[] payload) {
        if (!reads) {
            return prober.tell(peer);
        }
        ShmFrameDescriptor.Attach asked = ShmFrameDescriptor.decodeAttach(payload);
        PeerLink link = link(peer);
        ShmFrameDescriptor.Page page = asked.page();
        if (page != null && link.outdated(page.mailbox())) {
            link.end();
            link = link(peer);
        }
        return prober.attach(link, asked);
    }

    private PeerLink link(UUID peer) {
        PeerLink link = links.get(peer);
        if (link == null || link.ended()) {
            link = links.compute(peer, (id, old) -> old == null || old.ended() ? new PeerLink(id) : old);
            if (closed || gone.contains(peer)) {
                link.end();
            }
        }
        return link;
    }

    // -------------------------------------------------------------------------------------------------------- reads

    @Override
    public void execute(PeerAddress peer, TransferBatch batch) {
        PeerLink link = links.get(peer.incarnation());
        if (link == null || !link.complete(owner.sharing())) {
            prepare(peer);
            link = links.get(peer.incarnation());
        }
        if (link != null && link.attached()) {
            OutgoingWrites writes = batch.write() ? link.outgoing() : null;
            if (writes != null) {
                write(writes, batch);
            } else if (!batch.write() && read(peer, link, batch)) {
                return;
            }
            if (batch.done()) {
                return;
            }
        }
        fallback.execute(peer, batch);
    }

    /** Reads what can be read this way; whether that was all of it. */
    private boolean read(PeerAddress peer, PeerLink link, TransferBatch batch) {
        if (!batch.reserveBuffers()) {
            return true;
        }
        long now = System.nanoTime();
        if (!batch.leased()) {
            open(peer, link, batch, now);
        }
        Copier copier = copiers.get();
        Slice slice = copier.slice();
        long bytes = 0;
        boolean left = false;
        boolean done = false;
        while (!done && batch.next(slice)) {
            if (now - batch.deadlineNanos() >= 0) {
                batch.abort(batch.deadlineStatus());
            } else if (Thread.currentThread().isInterrupted()) {
                batch.abort(TransferStatus.CANCELED);
            } else {
                TransferStatus status = read(link, batch, slice, copier, now);
                if (status == null) {
                    batch.setAside(slice);
                    left = true;
                } else if (status == TransferStatus.COMPLETED) {
                    bytes += slice.length();
                    done = batch.copied(slice);
                } else {
                    batch.failed(slice, status);
                }
                now = done ? now : System.nanoTime();
            }
        }
        counters.readShm.add(bytes);
        if (left) {
            batch.bringBack();
        }
        return done;
    }

    /** The outcome of a slice, or null when it can't be read this way. */
    private @Nullable TransferStatus read(PeerLink link, TransferBatch batch, Slice slice, Copier copier, long now) {
        RemoteHandle handle = slice.handle();
        long word = batch.generationOffset(slice);
        long endNanos = batch.deadlineNanos();
        if (!batch.leased()) {
            OpenHandle opened = link.opened(handle, now);
            if (opened == null) {
                return null;
            }
            word = opened.generationOffset();
            endNanos = opened.endNanos();
        }
        MappedSegment segment = word == PublishedGuard.NOWHERE ? null : acquire(link, handle.region());
        if (segment == null) {
            return null;
        }
        try {
            long offset = handle.offset() + slice.offset();
            if (!segment.containsRange(offset, slice.length()) || !segment.registered()) {
                // The owner's own answer, by TCP, is the one that counts.
                return null;
            }
            if (checks.generation() && !segment.current(word, handle.generation())) {
                return TransferStatus.STALE_GENERATION;
            }
            boolean same = copier.copy(segment.address() + offset, batch);
            RawMemory.loadFence();
            if (!segment.registered()) {
                return null;
            }
            if (checks.generation() && !segment.current(word, handle.generation())) {
                return TransferStatus.STALE_GENERATION;
            }
            if (!same) {
                return TransferStatus.CHECKSUM;
            }
            // The term ends a little earlier here than at the owner, who alone may say that it is over.
            boolean inTerm = batch.leased() || !checks.leaseExpiry() || System.nanoTime() - endNanos < 0;
            return inTerm ? TransferStatus.COMPLETED : null;
        } finally {
            segment.uses().release();
        }
    }

    private @Nullable MappedSegment acquire(PeerLink link, int region) {
        MappedSegment known = link.acquire(region);
        if (known != null) {
            return known;
        }
        MappedSegment mapped = link.map(region);
        if (mapped != null) {
            prober.inBackground(mapped::populate);
        }
        return mapped;
    }

    /** Has the owner verify the handles that it hasn't yet, all in one request. */
    private void open(PeerAddress peer, PeerLink link, TransferBatch batch, long now) {
        List<RemoteHandle> unknown = null;
        for (int i = 0; i < batch.requests(); i++) {
            RemoteHandle handle = batch.handle(i);
            if (link.opened(handle, now) == null && shared(link, handle.region())) {
                unknown = unknown == null ? new ArrayList<>() : unknown;
                if (unknown.size() < ShmFrameDescriptor.MAX_HANDLES) {
                    unknown.add(handle);
                }
            }
        }
        if (unknown == null) {
            return;
        }
        try {
            long askedAtNanos = System.nanoTime();
            Deadline deadline = Deadline.of(Duration.ofNanos(Math.max(1, batch.deadlineNanos() - askedAtNanos)));
            byte[] reply =
                    Prober.ask(control, peer, Prober.OPEN_SERVICE, ShmFrameDescriptor.encodeOpen(unknown), deadline);
            List<ShmFrameDescriptor.Opened> opened = ShmFrameDescriptor.decodeOpened(reply, unknown.size());
            for (int i = 0; i < opened.size(); i++) {
                ShmFrameDescriptor.Opened one = opened.get(i);
                if (one.generationOffset() != PublishedGuard.NOWHERE) {
                    link.remember(
                            new OpenHandle(unknown.get(i), one.generationOffset(), askedAtNanos + one.leftNanos()));
                }
            }
        } catch (MooncakeException e) {
            // No answer: TCP has its own way to find out.
            return;
        }
    }

    private boolean shared(PeerLink link, int region) {
        MappedSegment segment = acquire(link, region);
        if (segment != null) {
            segment.uses().release();
        }
        return segment != null;
    }

    // -------------------------------------------------------------------------------------------------------- writes

    /** Has the peer copy what lies in shared memory; leaves the rest of the batch to others. */
    private void write(OutgoingWrites writes, TransferBatch batch) {
        if (!writes.awaitQuiet(batch)) {
            endOf(batch);
            return;
        }
        if (batch.staged()) {
            // Memory of a device is nothing that the peer could map.
            return;
        }
        Outgoing out = outgoing.get();
        while (fill(out, batch)) {
            OutgoingWrites.Outcome outcome = out.count == 0 ? OutgoingWrites.Outcome.ANSWERED : writes.send(out, batch);
            for (int i = 0; i < out.count; i++) {
                if (outcome == OutgoingWrites.Outcome.ANSWERED && out.statuses[i] != MailboxDescriptor.NOT_SHARED) {
                    written(out.slice(i), out.statuses[i], batch);
                } else {
                    batch.setAside(out.slice(i));
                }
            }
            if (outcome == OutgoingWrites.Outcome.OVER) {
                endOf(batch);
                return;
            }
            if (outcome == OutgoingWrites.Outcome.NOT_SERVED) {
                break;
            }
        }
        batch.bringBack();
    }

    /** Takes the next slices; whether there were any. Those that aren't shared are set aside. */
    private boolean fill(Outgoing out, TransferBatch batch) {
        out.count = 0;
        boolean any = false;
        while (out.count < MailboxDescriptor.ENTRIES && batch.next(out.slice(out.count))) {
            any = true;
            Slice slice = out.slice(out.count);
            Region region = regions.findAt(slice.localAddress(), slice.length());
            if (region == null || !owner.shares(region.id())) {
                batch.setAside(slice);
            } else {
                out.regions[out.count] = region.id();
                out.offsets[out.count] = slice.localAddress() - region.address();
                out.count++;
            }
        }
        return any;
    }

    private void written(Slice slice, int code, TransferBatch batch) {
        TransferStatus status = StatusCodes.status(code);
        if (status == TransferStatus.COMPLETED) {
            counters.writtenShm.add(slice.length());
            batch.verified(slice);
        } else {
            batch.failed(slice, status == null ? TransferStatus.REFUSED : status);
        }
    }

    private static void endOf(TransferBatch batch) {
        batch.abort(Thread.currentThread().isInterrupted() ? TransferStatus.CANCELED : batch.deadlineStatus());
    }

    // -------------------------------------------------------------------------------------------------------- end

    /** A copy leaves memory within microseconds a piece; the batch that it belongs to ends by its deadline. */
    @Override
    public void cut(Region region) {
        fallback.cut(region);
    }

    @Override
    public void peerGone(UUID incarnation) {
        owner.revoke();
        end(incarnation);
        fallback.peerGone(incarnation);
    }

    /** Lets go of the peer's memory and serves its mailbox no longer. */
    private void end(UUID peer) {
        PeerLink link = links.remove(peer);
        if (link != null) {
            link.end();
        }
    }

    /** Closes the page first, so that no peer takes what it copies from now on for good. */
    @Override
    public void close() {
        closed = true;
        owner.close();
        links.values().forEach(PeerLink::end);
        prober.close();
    }
}
