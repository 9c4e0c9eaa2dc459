// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.shm;

import io.mooncake.transfer.PathReport;
import io.mooncake.transfer.RemoteHandle;
import java.util.Arrays;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReferenceArray;
import org.jspecify.annotations.Nullable;

/**
 * What is known of shared memory with one life of a peer: its page and regions as mapped here, and whether it maps ours.
 *
 * <p>Threading: copies look at volatile fields only; everything that changes them is synchronized on this. Ended is terminal.
 */
final class PeerLink {
    static final int NO_MAILBOX = -1;

    private static final int OPEN_HANDLES = 1024;

    private final UUID peer;
    private final AtomicBoolean probing = new AtomicBoolean();
    private final AtomicReferenceArray<OpenHandle> open = new AtomicReferenceArray<>(OPEN_HANDLES);
    // Written under this, read by anybody.
    private volatile @Nullable MappedPage page;
    private volatile MappedSegment[] segments = new MappedSegment[0];
    private volatile @Nullable OutgoingWrites outgoing;
    private volatile boolean peerMapsUs;
    /** As {@link #served()} was when it was last looked at. */
    private volatile boolean served;

    private volatile boolean ended;
    private volatile boolean settled;
    private volatile String reason = "not probed yet";
    private volatile long probeAgainAtNanos = System.nanoTime();
    // Guarded by this.
    private @Nullable IncomingWrites incoming;
    private @Nullable SharedPage ownPage;
    private int ownMailbox = NO_MAILBOX;

    PeerLink(UUID peer) {
        this.peer = peer;
    }

    UUID peer() {
        return peer;
    }

    /** Whether the peer's memory can be read here. */
    boolean attached() {
        return page != null && !ended;
    }

    boolean ended() {
        return ended;
    }

    /** Whether a probe has come to an end. */
    boolean settled() {
        return settled;
    }

    PathReport report() {
        if (!attached()) {
            return new PathReport(PathReport.Kind.TCP, PathReport.Kind.TCP, reason);
        }
        return served()
                ? new PathReport(PathReport.Kind.SHARED_MEMORY, PathReport.Kind.SHARED_MEMORY, "")
                : new PathReport(
                        PathReport.Kind.SHARED_MEMORY,
                        PathReport.Kind.TCP,
                        "writes: " + (peerMapsUs ? "the peer serves none by shared memory" : "nothing here is shared"));
    }

    /** Whether the peer copies what this engine wants written. */
    private boolean served() {
        OutgoingWrites writes = outgoing;
        return writes != null && writes.served();
    }

    /** The way of writes by shared memory, or null. */
    @Nullable
    OutgoingWrites outgoing() {
        return outgoing;
    }

    /** Whether the peer has read our page. */
    boolean peerMapsUs() {
        return peerMapsUs && !ended;
    }

    // ----------------------------------------------------------------------------------------------------------
    // probing

    /** Whether there is nothing to probe for; {@link #check} finds out when that changes. */
    boolean complete(boolean sharing) {
        return !ended && page != null && (!sharing || (peerMapsUs && served));
    }

    /** Whether the caller is to probe now; it owes {@link #probed}. */
    boolean startProbe(boolean sharing) {
        return !ended
                && !complete(sharing)
                && System.nanoTime() - probeAgainAtNanos >= 0
                && probing.compareAndSet(false, true);
    }

    /** Ends a probe; tells whether there is news for people. */
    synchronized boolean probed(String why, long againInNanos, boolean mapsUs) {
        boolean news = !settled || !why.equals(reason);
        served = served();
        peerMapsUs |= mapsUs;
        reason = why;
        probeAgainAtNanos = System.nanoTime() + againInNanos;
        settled = true;
        probing.set(false);
        return news;
    }

    /** This engine shares memory from now on: the peer should be told. */
    void probeSoon() {
        probeAgainAtNanos = System.nanoTime();
    }

    /** Takes over a page that was mapped; false, and the page is the caller's to end, when there is one already. */
    synchronized boolean adopt(MappedPage mapped) {
        if (ended || page != null) {
            return false;
        }
        page = mapped;
        return true;
    }

    // ----------------------------------------------------------------------------------------------------------
    // writes

    /** The mailbox for the peer in this engine's page, allocated at the first call; NO_MAILBOX when there is none. */
    synchronized int mailbox(SharedPage own) {
        if (ownMailbox == NO_MAILBOX && !ended) {
            ownMailbox = own.allocate(peer);
            ownPage = own;
        }
        return ownMailbox;
    }

    /** From now on writes go both ways by shared memory, if both have a mailbox for the other. */
    synchronized void bind(int theirMailbox, IncomingWrites.Services services) {
        MappedPage from = page;
        SharedPage own = ownPage;
        boolean possible = from != null && own != null && ownMailbox != NO_MAILBOX && !ended && outgoing == null;
        if (!possible || from == null || own == null || !SharedPageDescriptor.isMailbox(theirMailbox)) {
            return;
        }
        if (use(from, own)) {
            OutgoingWrites writes = new OutgoingWrites(own, ownMailbox, from, theirMailbox);
            outgoing = writes;
            if (writes.uses().acquire()) {
                IncomingWrites started =
                        new IncomingWrites(services, this, writes.uses(), own, ownMailbox, from, theirMailbox);
                started.start();
                incoming = started;
            }
        }
    }

    private static boolean use(MappedPage from, SharedPage own) {
        if (from.uses().acquire()) {
            if (own.uses().acquire()) {
                return true;
            }
            from.uses().release();
        }
        return false;
    }

    /** Gives the mailbox back unless writes go by it. */
    synchronized void releaseUnboundMailbox() {
        SharedPage own = ownPage;
        if (outgoing == null && ownMailbox != NO_MAILBOX && own != null) {
            own.free(ownMailbox);
            ownMailbox = NO_MAILBOX;
        }
    }

    /** Whether the peer has begun anew since: it has another page or mailbox, or asks everybody to attach again. */
    synchronized boolean outdated(int theirMailbox) {
        MappedPage from = page;
        return from != null && (!from.open() || (incoming != null && incoming.mailbox() != theirMailbox));
    }

    // ----------------------------------------------------------------------------------------------------------
    // regions

    /** A region with one use for the caller, or null when it isn't shared. */
    @Nullable
    MappedSegment acquire(int region) {
        for (MappedSegment segment : segments) {
            if (segment.region() == region && segment.uses().acquire()) {
                return segment;
            }
        }
        return null;
    }

    /** Maps a region; null when the owner does not share it. */
    synchronized @Nullable MappedSegment map(int region) {
        MappedSegment known = acquire(region);
        MappedPage from = page;
        if (known != null || from == null || ended || !from.uses().acquire()) {
            return known;
        }
        try {
            MappedSegment mapped = from.map(region);
            if (mapped == null || !mapped.uses().acquire()) {
                return null;
            }
            MappedSegment[] more = Arrays.copyOf(segments, segments.length + 1);
            more[segments.length] = mapped;
            segments = more;
            return mapped;
        } finally {
            from.uses().release();
        }
    }

    /** Whether the owner lives; lets go of regions that it has taken back. */
    synchronized boolean check() {
        MappedPage from = page;
        if (from == null || ended) {
            return !ended;
        }
        if (!from.ownerAlive()) {
            return false;
        }
        served = served();
        MappedSegment[] kept = Arrays.stream(segments)
                .filter(segment -> {
                    boolean registered = segment.registered();
                    if (!registered) {
                        segment.uses().end();
                    }
                    return registered;
                })
                .toArray(MappedSegment[]::new);
        if (kept.length != segments.length) {
            segments = kept;
        }
        return true;
    }

    /** Lets go of everything; copies under way end first. */
    synchronized void end() {
        ended = true;
        if (incoming != null) {
            incoming.stop();
        }
        OutgoingWrites writes = outgoing;
        if (writes != null) {
            writes.end();
        } else {
            releaseUnboundMailbox();
        }
        for (MappedSegment segment : segments) {
            segment.uses().end();
        }
        segments = new MappedSegment[0];
        MappedPage from = page;
        page = null;
        if (from != null) {
            from.uses().end();
        }
    }

    // ----------------------------------------------------------------------------------------------------------
    // handles

    /** The handle as its owner has verified it, or null when it hasn't, or the term is over. */
    @Nullable
    OpenHandle opened(RemoteHandle handle, long now) {
        OpenHandle found = open.get(place(handle));
        return found != null && found.is(handle) && now - found.endNanos() < 0 ? found : null;
    }

    void remember(OpenHandle opened) {
        open.set(place(opened.handle()), opened);
    }

    private static int place(RemoteHandle handle) {
        // A MAC: any of its bits will do.
        byte[] capability = handle.capability();
        return capability.length < 2 ? 0 : (capability[0] & 0xff | capability[1] << 8) & (OPEN_HANDLES - 1);
    }
}
