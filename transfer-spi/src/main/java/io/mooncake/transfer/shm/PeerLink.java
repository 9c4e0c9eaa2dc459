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
    private static final int OPEN_HANDLES = 1024;

    private final UUID peer;
    private final AtomicBoolean probing = new AtomicBoolean();
    private final AtomicReferenceArray<OpenHandle> open = new AtomicReferenceArray<>(OPEN_HANDLES);
    // Written under this, read by anybody.
    private volatile @Nullable MappedPage page;
    private volatile MappedSegment[] segments = new MappedSegment[0];
    private volatile boolean peerMapsUs;
    private volatile boolean ended;
    private volatile boolean settled;
    private volatile String reason = "not probed yet";
    private volatile long probeAgainAtNanos = System.nanoTime();

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
        PathReport.Kind reads = attached() ? PathReport.Kind.SHARED_MEMORY : PathReport.Kind.TCP;
        // The owner checks each write itself, so they go by TCP whatever is mapped.
        return new PathReport(reads, PathReport.Kind.TCP, attached() ? "" : reason);
    }

    /** Whether the peer has read our page. */
    boolean peerMapsUs() {
        return peerMapsUs && !ended;
    }

    // ----------------------------------------------------------------------------------------------------------
    // probing

    /** Whether the caller is to probe now; it owes {@link #probed}. */
    boolean startProbe(boolean sharing) {
        boolean wanted = !ended && (page == null || (sharing && !peerMapsUs));
        return wanted && System.nanoTime() - probeAgainAtNanos >= 0 && probing.compareAndSet(false, true);
    }

    /** Ends a probe; tells whether there is news for people. */
    synchronized boolean probed(String why, long againInNanos, boolean mapsUs) {
        boolean news = !settled || !why.equals(reason);
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
    OpenHandle opened(RemoteHandle handle) {
        OpenHandle found = open.get(place(handle));
        return found != null && found.is(handle) && System.nanoTime() - found.endNanos() < 0 ? found : null;
    }

    void remember(OpenHandle opened) {
        open.set(place(opened.handle()), opened);
    }

    private static int place(RemoteHandle handle) {
        return Arrays.hashCode(handle.capability()) & (OPEN_HANDLES - 1);
    }
}
