// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.rdma;

import io.mooncake.base.Deadline;
import io.mooncake.base.MooncakeException;
import io.mooncake.natives.CudaDevice;
import io.mooncake.transfer.ControlPlane;
import io.mooncake.transfer.PeerAddress;
import io.mooncake.transfer.TransferStatus;
import io.mooncake.transfer.gpu.GpuMemory;
import io.mooncake.transfer.internal.Capabilities;
import io.mooncake.transfer.internal.Counters;
import io.mooncake.transfer.internal.OptionalTransport;
import io.mooncake.transfer.internal.PeerConduct;
import io.mooncake.transfer.internal.RailListener;
import io.mooncake.transfer.internal.Region;
import io.mooncake.transfer.internal.RegionRegistry;
import io.mooncake.transfer.internal.SafetyChecks;
import io.mooncake.transfer.internal.TransferBatch;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.LongAdder;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The RDMA transport, both ends.
 *
 * <p>Reads of leased ranges are READs with keys that are known, judged by their reader ({@link RdmaDirectReads}). Everything else, and what
 * of them is not as expected, the calling thread moves in rounds: take queue pairs of all devices that work, open an access over the
 * requests without a status, post and poll until they have moved, close the access. A request is COMPLETED only when the owner confirmed
 * it at the close. A queue pair that breaks is destroyed; the slices that were flushed with it go over the others, or again in the next
 * round over new ones, at most {@link #MAX_BROKEN_ROUNDS} times without a byte that arrives. However a round ends, the device has left the
 * batch's memory.
 */
public final class RdmaTransport implements OptionalTransport, GpuMemory.Card {
    private static final Logger LOG = LoggerFactory.getLogger(RdmaTransport.class);
    private static final int MAX_BROKEN_ROUNDS = 3;
    private static final long PAUSE_NANOS = 20_000;
    private static final long CLOSE_NANOS = 5_000_000_000L;

    private final RdmaDevices devices;
    private final RdmaRegions registrations;
    private final RdmaOwner owner;
    private final RdmaConnector connector;
    private final ControlPlane control;
    private final Predicate<UUID> gone;
    private final int connectionsPerPeer;
    private final ConcurrentHashMap<UUID, RdmaLink> links = new ConcurrentHashMap<>();
    private final ScheduledThreadPoolExecutor background = new ScheduledThreadPoolExecutor(1, task -> {
        Thread thread = new Thread(task, "mooncake-rdma-paths");
        thread.setDaemon(true);
        return thread;
    });
    private final ThreadLocal<RdmaDirectReads> directReads = ThreadLocal.withInitial(RdmaDirectReads::new);
    private final AtomicLong accessNumbers = new AtomicLong();
    private final AtomicInteger running = new AtomicInteger();
    private final LongAdder retriedSlices = new LongAdder();
    private volatile RailListener listener = RailListener.NONE;
    private volatile boolean closed;

    /**
     * Opens the devices and serves peers.
     *
     * @throws MooncakeException CONFIGURATION when there is no usable device
     */
    public RdmaTransport(
            RdmaConfig config,
            ControlPlane control,
            RegionRegistry regions,
            Capabilities capabilities,
            SafetyChecks checks,
            Predicate<UUID> gone,
            PeerConduct conduct,
            Counters counters,
            int connectionsPerPeer) {
        this.devices = RdmaDevices.open(config);
        this.registrations =
                new RdmaRegions(devices.ports().stream().map(RdmaPort::device).toList(), devices.registrationBytes());
        this.owner = new RdmaOwner(devices, registrations, regions, capabilities, checks, gone, conduct, counters);
        this.connector = new RdmaConnector(registrations, counters);
        this.control = control;
        this.gone = gone;
        this.connectionsPerPeer = connectionsPerPeer;
        background.setRemoveOnCancelPolicy(true);
        owner.serve(control);
        watch();
        LOG.info("RDMA over {}", devices);
    }

    /** Says who hears of devices that fail towards a peer; before the first transfer. */
    public void tell(RailListener hearing) {
        listener = hearing;
    }

    /** Registers a region with the device; before it is used. */
    @Override
    public void register(Region region) {
        registrations.register(region);
    }

    @Override
    public void registerDmaBuf(Region region, CudaDevice gpu) {
        registrations.registerDmaBuf(region, gpu);
    }

    /** Revokes the keys of a region that has ended. */
    @Override
    public void deregister(Region region) {
        registrations.deregister(region);
    }

    /** Slices that moved again because another request broke their queue pair. */
    public long retriedSlices() {
        return retriedSlices.sum();
    }

    /** While no port of this engine carries traffic it waits for one, until the batch's deadline. */
    @Override
    public void execute(PeerAddress peer, TransferBatch batch) {
        if (run(peer, batch, true) != null) {
            batch.abort(TransferStatus.PEER_UNREACHABLE);
        }
    }

    @Override
    public @Nullable Declined attempt(PeerAddress peer, TransferBatch batch) {
        return run(peer, batch, false);
    }

    private @Nullable Declined run(PeerAddress peer, TransferBatch batch, boolean demanded) {
        running.incrementAndGet();
        batch.cardReachesDevices(true);
        try {
            if (closed || gone.test(peer.incarnation())) {
                batch.abort(TransferStatus.PEER_UNREACHABLE);
                return null;
            }
            if (!batch.reserveBuffers()) {
                return null;
            }
            for (int i = 0; i < batch.requests(); i++) {
                if (!batch.staged(i) && !registrations.has(batch.localAddress(i))) {
                    return new Declined("local memory is not registered with the device", false);
                }
            }
            Declined declined = move(peer, batch, demanded);
            batch.flushDevices();
            return declined;
        } catch (RdmaFailure e) {
            // What accesses before this one have read counts.
            batch.flushDevices();
            if (e.isNoWay()) {
                return new Declined(String.valueOf(e.getMessage()), true);
            }
            batch.abort(e.status());
            return null;
        } finally {
            batch.cardReachesDevices(false);
            running.decrementAndGet();
        }
    }

    /** Reads of leased ranges directly; the rest, and what of them the owner must judge, by accesses. */
    private @Nullable Declined move(PeerAddress peer, TransferBatch batch, boolean demanded) throws RdmaFailure {
        RdmaLink link = link(peer);
        int wanted = Math.min(connectionsPerPeer * devices.ports().size(), Math.max(1, batch.slices()));
        if (batch.leased() && batch.verified()) {
            RdmaDirectReads reads = directReads.get();
            retriedSlices.add(reads.run(link, batch, wanted, demanded));
        }
        return batch.done() ? null : rounds(link, batch, wanted, demanded);
    }

    /** Until all is done, or so many rounds in a row broke without a byte that arrived. */
    private @Nullable Declined rounds(RdmaLink link, TransferBatch batch, int wanted, boolean demanded)
            throws RdmaFailure {
        RdmaTeam team = new RdmaTeam();
        BitSet accused = new BitSet();
        List<Integer> elsewhere = new ArrayList<>();
        int broken = 0;
        boolean silent = false;
        try {
            while (!batch.done()) {
                if (broken > MAX_BROKEN_ROUNDS) {
                    return new Declined(silent ? "the peer's device does not answer" : "queue pairs break", silent);
                }
                team.gather(link, wanted, demanded, batch);
                batch.bringBack();
                RdmaAccess access = RdmaAccess.ofOpen(accessNumbers.incrementAndGet(), batch, accused);
                try {
                    boolean sound = new RdmaRound(link, batch, access, team).run();
                    broken = sound || team.movedBytes() > 0 ? 0 : broken + 1;
                    silent = team.silent();
                } finally {
                    retriedSlices.add(team.retriedSlices());
                    access.notThisWay(elsewhere);
                }
            }
        } finally {
            batch.bringBack();
            elsewhere.forEach(batch::reopen);
        }
        return elsewhere.isEmpty() ? null : new Declined("the peer's memory is not registered with its device", false);
    }

    @Override
    public @Nullable Declined probe(PeerAddress peer, Deadline deadline) {
        RdmaLink link = link(peer);
        long until = System.nanoTime() + deadline.remainingNanos();
        List<RdmaConnection> taken = new ArrayList<>();
        try {
            link.checkOut(1, Region.ANY_RAIL, false, until, TransferStatus.TIMEOUT, taken);
            taken.forEach(one -> link.checkIn(one, true));
            return null;
        } catch (RdmaFailure e) {
            return new Declined(e.isNoWay() ? String.valueOf(e.getMessage()) : "no connection: " + e.status(), true);
        }
    }

    @Override
    public String describe() {
        return devices.toString();
    }

    private RdmaLink link(PeerAddress peer) {
        RdmaLink known = links.get(peer.incarnation());
        RdmaLink link = known != null
                ? known
                : links.computeIfAbsent(
                        peer.incarnation(),
                        id -> new RdmaLink(
                                devices.ports(),
                                connector,
                                new RdmaControl(control, peer),
                                rail -> listener.failed(id, rail),
                                connectionsPerPeer,
                                background));
        if (closed || gone.test(peer.incarnation())) {
            links.remove(peer.incarnation(), link);
            link.close();
        }
        return link;
    }

    /** A device of this engine, for people and tests. */
    public record Rail(String device, boolean active, long movedBytes) {}

    /** The devices of this engine and what its own requests moved over each. */
    public List<Rail> rails() {
        return devices.ports().stream()
                .map(port -> new Rail(port.device().name(), port.active(), port.movedBytes()))
                .toList();
    }

    /**
     * Ends all access of peers to a range in the devices, while the region stays registered: for memory that its owner must have back before
     * leases on it have ended. The owner's guard calls the range's generation old before it calls this. When it returns no byte can be read
     * from the range or written to it with keys that peers hold; requests under way to other ranges that the same keys reached are repeated
     * by their peers, requests to this range end as STALE_GENERATION or REFUSED.
     *
     * @throws MooncakeException CONFIGURATION when there are no new keys to be had: the region cannot be reached over RDMA any more then
     */
    public void revoke(Region region, long offset, long length) {
        if (!region.containsRange(offset, length)) {
            throw MooncakeException.invalid("range", offset + "+" + length, "inside of the region");
        }
        registrations.revoke(region, offset, length);
    }

    private void watch() {
        devices.watch(new RdmaDevices.Watcher() {
            @Override
            public void down(RdmaPort port) {
                links.values().forEach(link -> link.portDown(port));
            }

            @Override
            public void up(RdmaPort port) {
                links.values().forEach(link -> link.portUp(port));
            }

            @Override
            public void broken(RdmaPort port, int queuePair) {
                links.values().forEach(link -> link.pairBroken(port, queuePair));
                owner.pairBroken(port, queuePair);
            }
        });
    }

    @Override
    public void cut(Region region) {
        owner.cut(region);
        links.values().forEach(RdmaLink::cutBusy);
    }

    @Override
    public void peerGone(UUID incarnation) {
        RdmaLink link = links.remove(incarnation);
        if (link != null) {
            link.close();
        }
        owner.peerGone(incarnation);
    }

    /** Ends all transfers; regions stay registered until {@link #release}. */
    @Override
    public void close() {
        closed = true;
        background.shutdownNow();
        links.values().forEach(RdmaLink::close);
        owner.close();
        long until = System.nanoTime() + CLOSE_NANOS;
        while (running.get() > 0 && System.nanoTime() - until < 0) {
            LockSupport.parkNanos(PAUSE_NANOS);
        }
    }

    /** After {@link #close} and the end of all regions: closes the device. */
    public void release() {
        registrations.close();
        try {
            devices.close();
        } catch (MooncakeException e) {
            LOG.warn("RDMA device left open: {}", e.getMessage());
        }
    }
}
