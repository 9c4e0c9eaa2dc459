// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.rdma;

import io.mooncake.base.Deadline;
import io.mooncake.base.MooncakeException;
import io.mooncake.natives.CompletionStatus;
import io.mooncake.natives.CudaDevice;
import io.mooncake.transfer.ControlPlane;
import io.mooncake.transfer.PeerAddress;
import io.mooncake.transfer.TransferStatus;
import io.mooncake.transfer.gpu.GpuMemory;
import io.mooncake.transfer.internal.Capabilities;
import io.mooncake.transfer.internal.Counters;
import io.mooncake.transfer.internal.OptionalTransport;
import io.mooncake.transfer.internal.Region;
import io.mooncake.transfer.internal.RegionRegistry;
import io.mooncake.transfer.internal.SafetyChecks;
import io.mooncake.transfer.internal.TransferBatch;
import io.mooncake.transfer.rdma.RdmaFrameDescriptor.Close;
import io.mooncake.transfer.rdma.RdmaFrameDescriptor.Grant;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
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
 * <p>The calling thread runs its batch in rounds: take queue pairs, open an access over the requests without a status, post and poll until
 * they have moved, close the access. A request is COMPLETED only when the owner confirmed it at the close. A queue pair that breaks is
 * destroyed; the slices that were flushed with it go again in the next round over new ones, at most {@link #MAX_BROKEN_ROUNDS} times.
 * However a round ends, the device has left the batch's memory: the queue pairs are idle or destroyed.
 */
public final class RdmaTransport implements OptionalTransport, GpuMemory.Card {
    private static final Logger LOG = LoggerFactory.getLogger(RdmaTransport.class);
    private static final int MAX_BROKEN_ROUNDS = 3;
    private static final int MAX_SILENT_ROUNDS = 2;
    private static final int SPINS = 200;
    private static final long PAUSE_NANOS = 20_000;
    private static final long CLOSE_NANOS = 5_000_000_000L;

    private final RdmaPort port;
    private final RdmaRegions registrations;
    private final RdmaOwner owner;
    private final ControlPlane control;
    private final Predicate<UUID> gone;
    private final Counters counters;
    private final int connectionsPerPeer;
    private final ConcurrentHashMap<UUID, RdmaLink> links = new ConcurrentHashMap<>();
    private final AtomicLong accessNumbers = new AtomicLong();
    private final AtomicInteger running = new AtomicInteger();
    private final LongAdder retriedSlices = new LongAdder();
    private volatile boolean closed;

    /**
     * Opens the device and serves peers.
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
            Counters counters,
            int connectionsPerPeer) {
        this.port = RdmaPort.open(config);
        this.registrations = new RdmaRegions(port.device(), port.registrationBytes());
        this.owner = new RdmaOwner(port, registrations, regions, capabilities, checks, gone, counters);
        this.control = control;
        this.gone = gone;
        this.counters = counters;
        this.connectionsPerPeer = connectionsPerPeer;
        owner.serve(control);
        LOG.info("RDMA over {}", port);
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

    @Override
    public void execute(PeerAddress peer, TransferBatch batch) {
        if (attempt(peer, batch) != null) {
            batch.abort(TransferStatus.PEER_UNREACHABLE);
        }
    }

    @Override
    public @Nullable Declined attempt(PeerAddress peer, TransferBatch batch) {
        running.incrementAndGet();
        batch.cardReachesDevices(true);
        try {
            if (closed || gone.test(peer.incarnation())) {
                batch.abort(TransferStatus.PEER_UNREACHABLE);
                return null;
            }
            for (int i = 0; i < batch.requests(); i++) {
                if (!batch.staged(i) && !registrations.has(batch.localAddress(i))) {
                    return new Declined("local memory is not registered with the device", false);
                }
            }
            Declined declined = rounds(peer, batch);
            batch.flushDevices();
            return declined;
        } catch (RdmaFailure e) {
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

    private @Nullable Declined rounds(PeerAddress peer, TransferBatch batch) throws RdmaFailure {
        RdmaControl questions = new RdmaControl(control, peer);
        RdmaLink link = link(peer, questions);
        int broken = 0;
        int silent = 0;
        List<Integer> elsewhere = new ArrayList<>();
        try {
            while (!batch.done()) {
                if (silent > MAX_SILENT_ROUNDS) {
                    return new Declined("the peer's device does not answer", true);
                }
                if (broken > MAX_BROKEN_ROUNDS) {
                    return new Declined("queue pairs break", false);
                }
                Round round = round(link, questions, batch, elsewhere);
                broken += round == Round.SOUND ? 0 : 1;
                silent += round == Round.SILENT ? 1 : 0;
            }
        } finally {
            elsewhere.forEach(batch::reopen);
        }
        return elsewhere.isEmpty() ? null : new Declined("the peer's memory is not registered with its device", false);
    }

    private RdmaLink link(PeerAddress peer, RdmaControl questions) {
        RdmaLink link = links.computeIfAbsent(
                peer.incarnation(), id -> new RdmaLink(port, registrations, questions, counters, connectionsPerPeer));
        if (closed || gone.test(peer.incarnation())) {
            links.remove(peer.incarnation(), link);
            link.close();
        }
        return link;
    }

    @Override
    public @Nullable Declined probe(PeerAddress peer, Deadline deadline) {
        RdmaLink link = link(peer, new RdmaControl(control, peer));
        long until = System.nanoTime() + deadline.remainingNanos();
        try {
            link.checkOut(1, until, TransferStatus.TIMEOUT).forEach(one -> link.checkIn(one, true));
            return null;
        } catch (RdmaFailure e) {
            return new Declined(e.isNoWay() ? String.valueOf(e.getMessage()) : "no connection: " + e.status(), true);
        }
    }

    @Override
    public String describe() {
        return port.toString();
    }

    private enum Round {
        /** The access was closed. */
        SOUND,
        /** A queue pair broke, or the owner had let it go. */
        BROKEN,
        /** A queue pair broke because the other device said nothing. */
        SILENT
    }

    /** One access from open to close. */
    private Round round(RdmaLink link, RdmaControl questions, TransferBatch batch, List<Integer> elsewhere)
            throws RdmaFailure {
        int wanted = Math.min(connectionsPerPeer, Math.max(1, batch.slices()));
        List<RdmaConnection> connections = link.checkOut(wanted, batch.deadlineNanos(), batch.deadlineStatus());
        boolean sound = false;
        try {
            RdmaAccess access = RdmaAccess.ofOpen(accessNumbers.incrementAndGet(), batch);
            if (!open(questions, batch, access, connections)) {
                return Round.BROKEN;
            }
            for (int request : access.notThisWay()) {
                elsewhere.add(request);
            }
            sound = move(questions, batch, access, connections);
            return sound
                    ? Round.SOUND
                    : connections.stream().anyMatch(RdmaTransport::silent) ? Round.SILENT : Round.BROKEN;
        } finally {
            for (RdmaConnection one : connections) {
                if (!sound) {
                    retriedSlices.add(one.discard(batch));
                }
                link.checkIn(one, sound);
            }
            if (!sound) {
                questions.tell(RdmaOwner.HANG_UP, RdmaFrameDescriptor.encodeHangUp(ids(connections)));
            }
        }
    }

    private static boolean silent(RdmaConnection connection) {
        CompletionStatus failure = connection.failure();
        return failure == CompletionStatus.RETRIES_EXCEEDED || failure == CompletionStatus.RESPONSE_TIMEOUT;
    }

    private static long[] ids(List<RdmaConnection> connections) {
        return connections.stream().mapToLong(RdmaConnection::id).toArray();
    }

    /** False when the owner does not know the connections any more. */
    private static boolean open(
            RdmaControl questions, TransferBatch batch, RdmaAccess access, List<RdmaConnection> connections)
            throws RdmaFailure {
        byte[] question = RdmaFrameDescriptor.encodeOpen(access.open(batch, ids(connections)));
        boolean asked = false;
        try {
            List<Grant> grants =
                    decoded(questions.ask(RdmaOwner.OPEN, question, batch.deadlineNanos(), batch.deadlineStatus()));
            asked = true;
            if (grants == null) {
                return false;
            }
            if (!access.granted(batch, grants)) {
                throw new RdmaFailure(TransferStatus.PEER_UNREACHABLE);
            }
            return true;
        } finally {
            if (!asked) {
                // Whether it was opened is not known.
                questions.tell(RdmaOwner.CLOSE, abandoned(access));
            }
        }
    }

    private static @Nullable List<Grant> decoded(byte[] reply) throws RdmaFailure {
        try {
            return RdmaFrameDescriptor.decodeOpened(reply);
        } catch (MooncakeException e) {
            throw new RdmaFailure(TransferStatus.PEER_UNREACHABLE);
        }
    }

    private static byte[] abandoned(RdmaAccess access) {
        return RdmaFrameDescriptor.encodeClose(new Close(access.number(), true, new boolean[0]));
    }

    /** Moves what was granted and has it confirmed; false when a queue pair broke. */
    private boolean move(
            RdmaControl questions, TransferBatch batch, RdmaAccess access, List<RdmaConnection> connections)
            throws RdmaFailure {
        boolean sound = false;
        RdmaFailure stopped = null;
        try {
            sound = drive(batch, access, connections);
        } catch (RdmaFailure e) {
            stopped = e;
        }
        if (!sound) {
            // Before the owner hears of it: nothing of ours is on its way any more.
            connections.forEach(one -> retriedSlices.add(one.discard(batch)));
        }
        boolean[] moved = access.moved(batch);
        try {
            if (stopped != null) {
                questions.tell(RdmaOwner.CLOSE, abandoned(access));
                throw stopped;
            }
            byte[] reply = questions.ask(
                    RdmaOwner.CLOSE,
                    RdmaFrameDescriptor.encodeClose(new Close(access.number(), !sound, moved)),
                    batch.deadlineNanos(),
                    batch.deadlineStatus());
            access.confirmed(batch, moved, RdmaFrameDescriptor.decodeClosed(reply));
            return sound;
        } catch (RdmaFailure e) {
            access.unconfirmed(batch, moved, e.status());
            throw e;
        } catch (MooncakeException e) {
            access.unconfirmed(batch, moved, TransferStatus.PEER_UNREACHABLE);
            throw new RdmaFailure(TransferStatus.PEER_UNREACHABLE);
        }
    }

    /** Posts and polls until all is done or a queue pair broke, which is false. */
    private boolean drive(TransferBatch batch, RdmaAccess access, List<RdmaConnection> connections) throws RdmaFailure {
        int idleTurns = 0;
        while (true) {
            boolean happened = false;
            boolean idle = true;
            for (RdmaConnection one : connections) {
                happened |= one.turn(batch, access);
                if (one.wasCut()) {
                    throw new RdmaFailure(TransferStatus.PEER_UNREACHABLE);
                }
                if (one.failure() != null) {
                    return false;
                }
                idle &= one.idle();
            }
            if (idle && !happened) {
                return true;
            }
            if (Thread.currentThread().isInterrupted()) {
                throw new RdmaFailure(TransferStatus.CANCELED);
            }
            if (System.nanoTime() - batch.deadlineNanos() >= 0) {
                throw new RdmaFailure(batch.deadlineStatus());
            }
            if (happened) {
                idleTurns = 0;
            } else if (++idleTurns < SPINS) {
                Thread.onSpinWait();
            } else {
                LockSupport.parkNanos(PAUSE_NANOS);
            }
        }
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
            port.close();
        } catch (MooncakeException e) {
            LOG.warn("RDMA device left open: {}", e.getMessage());
        }
    }
}
