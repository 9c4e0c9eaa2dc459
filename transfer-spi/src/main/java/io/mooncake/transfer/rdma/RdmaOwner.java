// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.rdma;

import io.mooncake.base.MooncakeException;
import io.mooncake.natives.VerbsDevice;
import io.mooncake.natives.VerbsQueuePair;
import io.mooncake.transfer.ControlPlane;
import io.mooncake.transfer.RefusalCause;
import io.mooncake.transfer.RemoteHandle;
import io.mooncake.transfer.TransferStatus;
import io.mooncake.transfer.internal.AccessCheck;
import io.mooncake.transfer.internal.Capabilities;
import io.mooncake.transfer.internal.Claim;
import io.mooncake.transfer.internal.Counters;
import io.mooncake.transfer.internal.DeviceMemory;
import io.mooncake.transfer.internal.PeerConduct;
import io.mooncake.transfer.internal.Region;
import io.mooncake.transfer.internal.RegionRegistry;
import io.mooncake.transfer.internal.SafetyChecks;
import io.mooncake.transfer.rdma.RdmaFrameDescriptor.Close;
import io.mooncake.transfer.rdma.RdmaFrameDescriptor.Connect;
import io.mooncake.transfer.rdma.RdmaFrameDescriptor.Connected;
import io.mooncake.transfer.rdma.RdmaFrameDescriptor.Grant;
import io.mooncake.transfer.rdma.RdmaFrameDescriptor.Open;
import io.mooncake.transfer.rdma.RdmaFrameDescriptor.Opened;
import io.mooncake.transfer.rdma.RdmaRegionFrameDescriptor.Known;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The owner's end: queue pairs that only answer, and the accesses that are open.
 *
 * <p>The device moves bytes without asking, so the owner checks around it. An access names requests and the queue pairs they will use. When
 * it is opened, each request gets the checks of a TCP access (region, range, rights, expiry, MAC, generation), the region is held, and the
 * keys are handed out. When the reader closes it, generation and expiry are checked again, and only this answer makes a request good. An
 * access that is not closed by the first expiry of its handles is cut: its queue pairs are destroyed, after which nothing of it can arrive
 * any more, and then its regions are let go. So a late write finds no queue pair. Reads of leased ranges need no access: their readers
 * ask once for a region's keys, and the owner has part in them again when the keys end.
 *
 * <p>Whoever removes an access from {@code accesses} ends it, so that happens once. Queue pairs are made and destroyed under the lock of
 * this; an access never waits for that lock while it is checked.
 */
final class RdmaOwner implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(RdmaOwner.class);

    static final String CONNECT = "mooncake.rdma.connect";
    static final String OPEN = "mooncake.rdma.open";
    static final String CLOSE = "mooncake.rdma.close";
    static final String HANG_UP = "mooncake.rdma.hangup";
    static final String REGION = "mooncake.rdma.region";

    /** Of each device. */
    private static final int MAX_SERVED = 512;

    private static final int MAX_ACCESSES = 65_536;
    /** Of one peer, so that one alone cannot take them all. */
    private static final int MAX_PEER_ACCESSES = 4096;
    /** Of one peer: what it can have under way at once on as many queue pairs as an engine uses, several times. */
    private static final int MAX_OPEN_REQUESTS = 64 * RdmaFrameDescriptor.MAX_REQUESTS;

    /** An access is cut after this time, however long its handles live. */
    private static final long MAX_ACCESS_NANOS = 60_000_000_000L;

    private final RdmaDevices devices;
    private final RdmaRegions registrations;
    private final RegionRegistry regions;
    private final Capabilities capabilities;
    private final AccessCheck check;
    /** Who is served nothing: gone, or put out. */
    private final Predicate<UUID> gone;

    private final PeerConduct conduct;
    private final Counters counters;
    private final ConcurrentHashMap<Long, Served> served = new ConcurrentHashMap<>();
    private final ConcurrentHashMap<AccessId, OpenAccess> accesses = new ConcurrentHashMap<>();
    /** The accesses of each peer. */
    private final ConcurrentHashMap<UUID, OpenAccess.OfPeer> ofPeers = new ConcurrentHashMap<>();

    private final AtomicLong ids = new AtomicLong();
    private final ScheduledThreadPoolExecutor janitor;
    private volatile boolean closed;

    /** A queue pair that answers a peer. */
    private record Served(UUID peer, RdmaPort port, VerbsQueuePair pair) {}

    /** Readers number their accesses themselves, so that they can close one whose reply they did not wait for. */
    private record AccessId(UUID peer, long number) {}

    RdmaOwner(
            RdmaDevices devices,
            RdmaRegions registrations,
            RegionRegistry regions,
            Capabilities capabilities,
            SafetyChecks checks,
            Predicate<UUID> gone,
            PeerConduct conduct,
            Counters counters) {
        this.devices = devices;
        this.registrations = registrations;
        this.regions = regions;
        this.capabilities = capabilities;
        this.check = new AccessCheck(checks);
        this.gone = peer -> gone.test(peer) || conduct.keptOut(peer);
        this.conduct = conduct;
        conduct.onPutOut(this::peerGone);
        this.counters = counters;
        this.janitor = new ScheduledThreadPoolExecutor(1, task -> {
            Thread thread = new Thread(task, "mooncake-rdma-accesses");
            thread.setDaemon(true);
            return thread;
        });
        janitor.setRemoveOnCancelPolicy(true);
    }

    void serve(ControlPlane control) {
        control.handle(CONNECT, this::connect);
        control.handle(OPEN, this::open);
        control.handle(CLOSE, this::close);
        control.handle(REGION, this::region);
        control.handle(HANG_UP, (from, payload) -> {
            for (long connection : RdmaFrameDescriptor.decodeHangUp(payload)) {
                destroy(from, connection);
            }
            return new byte[0];
        });
    }

    private synchronized byte[] connect(UUID from, byte[] payload) {
        Connect asked = RdmaFrameDescriptor.decodeConnect(payload);
        int limit = MAX_SERVED * devices.ports().size();
        if (closed || gone.test(from) || served.size() >= limit) {
            throw new MooncakeException(
                    MooncakeException.Code.PEER_REFUSED,
                    "queue pairs: " + served.size() + " (expected: below " + limit + ", an engine that is open)");
        }
        RdmaPort port = devices.activeFrom(asked.rail());
        Connected answer = port == null ? null : answering(from, port, asked);
        if (answer != null && gone.test(from)) {
            // Since it was looked at first: who ended the peer's queue pairs may not have seen this one.
            destroy(from, answer.connection());
            throw new MooncakeException(MooncakeException.Code.PEER_REFUSED, from + " is gone");
        }
        return RdmaFrameDescriptor.encodeConnected(
                answer == null ? Connected.noPort(devices.ports().size()) : answer);
    }

    /**
     * Makes the end that answers. Null when the device refuses: its port may have gone down just now, or it has no more queue pairs. The
     * peer is told what it is told of a port that is down, and tries again.
     */
    private @Nullable Connected answering(UUID from, RdmaPort port, Connect asked) {
        VerbsQueuePair pair = null;
        try {
            pair = port.create(VerbsDevice.REMOTE_READ | VerbsDevice.REMOTE_WRITE);
            int sequence = port.newSequence();
            port.connect(pair, sequence, asked.endpoint());
            long id = ids.incrementAndGet();
            Connected answer = new Connected(id, port.index(), devices.ports().size(), port.endpoint(pair, sequence));
            served.put(id, new Served(from, port, pair));
            return answer;
        } catch (RuntimeException e) {
            LOG.debug("No queue pair for {} on {}", from, port, e);
            if (pair != null) {
                pair.close();
            }
            return null;
        }
    }

    private byte[] open(UUID from, byte[] payload) {
        Open open = RdmaFrameDescriptor.decodeOpen(payload);
        int[] rails = rails(from, open);
        if (rails.length == 0) {
            return RdmaFrameDescriptor.encodeOpened(null);
        }
        if (closed || gone.test(from) || accesses.size() >= MAX_ACCESSES) {
            throw new MooncakeException(
                    MooncakeException.Code.PEER_REFUSED,
                    "accesses: " + accesses.size() + " (expected: below " + MAX_ACCESSES + ", an engine that is open)");
        }
        OpenAccess access = new OpenAccess(open, ofPeers.computeIfAbsent(from, id -> new OpenAccess.OfPeer()));
        if (!access.admit(MAX_PEER_ACCESSES, MAX_OPEN_REQUESTS)) {
            throw new MooncakeException(
                    MooncakeException.Code.PEER_REFUSED,
                    "open accesses of one peer: more than " + MAX_PEER_ACCESSES + ", or " + MAX_OPEN_REQUESTS
                            + " requests in them");
        }
        AccessId id = new AccessId(from, open.access());
        boolean kept = false;
        try {
            List<Grant> grants = new ArrayList<>(open.handles().length);
            long end = grant(from, access, rails, grants);
            kept = accesses.putIfAbsent(id, access) == null;
            if (!kept) {
                throw new MooncakeException(
                        MooncakeException.Code.PEER_REFUSED, "access " + open.access() + ": open already");
            }
            cutAt(id, access, end);
            return RdmaFrameDescriptor.encodeOpened(new Opened(rails, grants));
        } finally {
            if (!kept) {
                access.release();
            }
            if (gone.test(from)) {
                // Made again after it was removed.
                ofPeers.remove(from);
            }
        }
    }

    /** Adds a grant for each request; when the access is to be cut. */
    private long grant(UUID from, OpenAccess access, int[] rails, List<Grant> grants) {
        RemoteHandle[] handles = access.open.handles();
        long end = System.nanoTime() + MAX_ACCESS_NANOS;
        Capabilities.Verifier verifier = capabilities.verifier();
        for (int i = 0; i < handles.length; i++) {
            Grant grant = grant(from, access, i, rails, verifier);
            if (grant.status() != TransferStatus.COMPLETED && gone.test(from)) {
                throw new MooncakeException(
                        MooncakeException.Code.PEER_REFUSED, from + " is gone, or was refused too often");
            }
            if (grant.status() == TransferStatus.COMPLETED
                    && check.checks().leaseExpiry()
                    && handles[i].expiresAtNanos() - end < 0) {
                end = handles[i].expiresAtNanos();
            }
            grants.add(grant);
        }
        return end;
    }

    /**
     * Says where a region is and which keys read it, to who holds a handle on a range of it. Nothing is kept of it: what is read so is of
     * leased ranges, which stay as they are until their leases end, and is judged by its reader.
     */
    private byte[] region(UUID from, byte[] payload) {
        RemoteHandle handle = RdmaRegionFrameDescriptor.decodeAsk(payload);
        if (closed || gone.test(from)) {
            throw new MooncakeException(MooncakeException.Code.PEER_REFUSED, "region: the engine or the peer is gone");
        }
        Region region = regions.find(handle.region());
        if (region == null || !region.acquire()) {
            return known(refused(from, RefusalCause.REGION).status(), null);
        }
        RefusalCause cause;
        PeerRegion known;
        try {
            Claim claim = new Claim().of(handle, false, 0, handle.length());
            cause = check.before(capabilities.verifier(), from, region, claim);
            known = cause == null ? registrations.readable(region) : null;
        } finally {
            // Before a refusal, which may take its time.
            region.release();
        }
        if (cause != null) {
            return known(refused(from, cause).status(), null);
        }
        return known(known == null ? RdmaAccess.NOT_THIS_WAY : TransferStatus.COMPLETED, known);
    }

    private static byte[] known(TransferStatus status, @Nullable PeerRegion region) {
        return RdmaRegionFrameDescriptor.encodeKnown(new Known(status, region));
    }

    /** The devices at which the access's connections end, each once; none when a connection is unknown. */
    private int[] rails(UUID from, Open open) {
        BitSet rails = new BitSet();
        for (long connection : open.connections()) {
            Served one = served.get(connection);
            if (one == null || !one.peer.equals(from)) {
                return new int[0];
            }
            rails.set(one.port.index());
        }
        return rails.stream().toArray();
    }

    private void cutAt(AccessId id, OpenAccess access, long end) {
        try {
            access.cut = janitor.schedule(() -> cut(id), end - System.nanoTime(), TimeUnit.NANOSECONDS);
        } catch (RejectedExecutionException e) {
            // The engine closes; below.
        }
        if (closed || gone.test(id.peer)) {
            cut(id);
        }
    }

    private Grant grant(UUID from, OpenAccess access, int index, int[] rails, Capabilities.Verifier verifier) {
        RemoteHandle handle = access.open.handles()[index];
        Region region = regions.find(handle.region());
        if (region == null || !region.acquire()) {
            return refused(from, RefusalCause.REGION);
        }
        RefusalCause cause;
        int[] keys = null;
        boolean granted = false;
        try {
            // The region's guard, which is asked, may throw.
            cause = check.before(verifier, from, region, access.claim(index));
            keys = cause == null ? keys(region, access.open, index, rails) : null;
            granted = keys != null && keys.length <= RdmaFrameDescriptor.MAX_KEYS;
        } finally {
            if (granted) {
                access.held[index] = region;
            } else {
                region.release();
            }
        }
        if (keys == null || !granted) {
            return cause == null ? Grant.refused(RdmaAccess.NOT_THIS_WAY) : refused(from, cause);
        }
        long piece = registrations.pieceBytes();
        return new Grant(
                TransferStatus.COMPLETED,
                region.address() + handle.offset(),
                piece - handle.offset() % piece,
                piece,
                keys);
    }

    private int @Nullable [] keys(Region region, Open open, int index, int[] rails) {
        try {
            return registrations.remoteKeys(
                    region, open.handles()[index].offset(), open.sizes()[index], open.write(), rails);
        } catch (MooncakeException e) {
            // Keys that write cannot be made: this region is read only, and says so.
            LOG.warn("RDMA writes are refused: {}", e.getMessage());
            return null;
        }
    }

    private Grant refused(UUID from, RefusalCause cause) {
        counters.refused(cause);
        conduct.behaves(from, cause);
        return Grant.refused(AccessCheck.status(cause));
    }

    private byte[] close(UUID from, byte[] payload) {
        Close close = RdmaFrameDescriptor.decodeClose(payload);
        OpenAccess access = accesses.remove(new AccessId(from, close.access()));
        if (access == null) {
            return RdmaFrameDescriptor.encodeClosed(new TransferStatus[0]);
        }
        try {
            for (long connection : close.broken()) {
                destroy(from, connection);
            }
            TransferStatus[] statuses = new TransferStatus[access.held.length];
            for (int i = 0; i < statuses.length; i++) {
                statuses[i] = confirm(from, access, i, i < close.moved().length && close.moved()[i]);
            }
            return RdmaFrameDescriptor.encodeClosed(statuses);
        } finally {
            // Also when a region's guard throws.
            access.release();
        }
    }

    private TransferStatus confirm(UUID from, OpenAccess access, int index, boolean moved) {
        Region region = access.held[index];
        if (region == null || !moved) {
            return TransferStatus.CANCELED;
        }
        RefusalCause cause = check.after(region, access.claim(index));
        DeviceMemory device = region.device();
        if (cause == null && access.open.write() && device != null && !device.flushRemoteWrites()) {
            cause = RefusalCause.DEVICE;
        }
        if (cause != null) {
            counters.refused(cause);
            conduct.behaves(from, cause);
        } else {
            counters.requestsServed.increment();
            (access.open.write() ? counters.bytesReceived : counters.bytesServed)
                    .add(access.open.sizes()[index]);
        }
        return AccessCheck.status(cause);
    }

    /** Ends an access that its reader did not close: first nothing can arrive any more, then the memory is let go. */
    private void cut(AccessId id) {
        OpenAccess access = accesses.remove(id);
        if (access != null) {
            destroyAll(id.peer, access);
            access.release();
        }
    }

    private void destroyAll(UUID peer, OpenAccess access) {
        for (long connection : access.open.connections()) {
            destroy(peer, connection);
        }
    }

    private synchronized void destroy(UUID peer, long connection) {
        Served one = served.get(connection);
        if (one != null && one.peer.equals(peer)) {
            served.remove(connection);
            one.pair.close();
        }
    }

    /** The device says that a queue pair is broken: it answers nobody any more. */
    void pairBroken(RdmaPort port, int number) {
        served.forEach((id, one) -> {
            if (one.port == port && one.pair.number() == number) {
                destroy(one.peer, id);
            }
        });
    }

    /** Cuts every access to that region. */
    void cut(Region region) {
        accesses.forEach((id, access) -> {
            if (access.touches(region)) {
                cut(id);
            }
        });
    }

    /** Ends everything with that life of a peer. */
    void peerGone(UUID peer) {
        served.forEach((id, one) -> destroy(peer, id));
        accesses.keySet().forEach(id -> {
            if (id.peer.equals(peer)) {
                cut(id);
            }
        });
        ofPeers.remove(peer);
    }

    @Override
    public void close() {
        synchronized (this) {
            closed = true;
            // Under the lock, so that a queue pair which another thread destroys is gone as well when this returns.
            served.forEach((id, one) -> destroy(one.peer, id));
        }
        janitor.shutdownNow();
        accesses.keySet().forEach(this::cut);
    }
}
