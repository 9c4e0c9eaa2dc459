// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.internal;

import io.mooncake.base.Deadline;
import io.mooncake.transfer.PathReport.Kind;
import io.mooncake.transfer.PeerAddress;
import io.mooncake.transfer.TransferStatus;
import io.mooncake.transfer.internal.OptionalTransport.Declined;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.LongSupplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * RDMA where both ends have it, else TCP.
 *
 * <p>What is known of a peer is a {@link Choice}: open (nothing tried yet, or RDMA works) or turned down with a reason until a point in
 * time. A batch to an open peer is offered to RDMA; what that turns down goes on by TCP in the same call. When the reason concerns the peer
 * as a whole, RDMA is left alone for {@link #PAUSE_NANOS}; then the batch that wins the race for the point in time tries anew, others go on
 * by TCP meanwhile. A peer over whose RDMA nothing has come yet is turned down also when a batch ran into its deadline there: the
 * control plane may work where the fabric does not.
 */
public final class NetworkTransport implements Transport {
    /** How long RDMA is left alone with a peer that turned it down. */
    static final long PAUSE_NANOS = 30_000_000_000L;

    private static final Logger LOG = LoggerFactory.getLogger(NetworkTransport.class);

    private final OptionalTransport rdma;
    private final Transport tcp;
    private final LongSupplier clock;
    private final ConcurrentHashMap<UUID, Choice> choices = new ConcurrentHashMap<>();

    private static final class Choice {
        /** When RDMA may be tried again; meaningful while {@code turnedDown}. Moved by who wins the trial. */
        final AtomicLong againAtNanos = new AtomicLong();

        volatile boolean turnedDown;
        volatile boolean proven;
        volatile String reason = "";
    }

    /** Neither transport is closed by this. */
    public NetworkTransport(OptionalTransport rdma, Transport tcp, LongSupplier clock) {
        this.rdma = rdma;
        this.tcp = tcp;
        this.clock = clock;
    }

    @Override
    public void execute(PeerAddress peer, TransferBatch batch) {
        Choice choice = choice(peer.incarnation());
        if (mayTry(choice)) {
            Declined declined = rdma.attempt(peer, batch);
            if (declined == null) {
                learn(peer, choice, batch);
                return;
            }
            if (declined.peer()) {
                turnDown(peer, choice, declined.reason());
            }
        }
        tcp.execute(peer, batch);
    }

    private Choice choice(UUID peer) {
        Choice known = choices.get(peer);
        return known == null ? choices.computeIfAbsent(peer, id -> new Choice()) : known;
    }

    private boolean mayTry(Choice choice) {
        if (!choice.turnedDown) {
            return true;
        }
        long again = choice.againAtNanos.get();
        long now = clock.getAsLong();
        return now - again >= 0 && choice.againAtNanos.compareAndSet(again, now + PAUSE_NANOS);
    }

    private void learn(PeerAddress peer, Choice choice, TransferBatch batch) {
        if (choice.proven && !choice.turnedDown) {
            return;
        }
        if (batch.has(TransferStatus.COMPLETED)) {
            choice.proven = true;
            choice.turnedDown = false;
            choice.reason = "";
        } else if (batch.has(TransferStatus.TIMEOUT) && !batch.starved()) {
            turnDown(peer, choice, "nothing came through by a deadline");
        }
    }

    private void turnDown(PeerAddress peer, Choice choice, String reason) {
        boolean news = !choice.turnedDown || !choice.reason.equals(reason);
        choice.reason = reason;
        choice.proven = false;
        choice.againAtNanos.set(clock.getAsLong() + PAUSE_NANOS);
        choice.turnedDown = true;
        if (news) {
            LOG.info("Transfers with {} go by TCP, not by RDMA: {}", peer.encode(), reason);
        }
    }

    /** Probes RDMA unless that has been done, and says which of the two it is. */
    public Kind path(PeerAddress peer, Deadline deadline) {
        Choice choice = choice(peer.incarnation());
        if (!choice.proven && mayTry(choice)) {
            Declined declined = rdma.probe(peer, deadline);
            if (declined != null) {
                turnDown(peer, choice, declined.reason());
            } else {
                choice.turnedDown = false;
            }
        }
        return choice.turnedDown ? Kind.TCP : Kind.RDMA;
    }

    /** Why it is not RDMA; empty when it is. */
    public String reason(PeerAddress peer) {
        Choice choice = choices.get(peer.incarnation());
        return choice == null || !choice.turnedDown ? "" : choice.reason;
    }

    @Override
    public void cut(Region region) {
        rdma.cut(region);
        tcp.cut(region);
    }

    @Override
    public void peerGone(UUID incarnation) {
        choices.remove(incarnation);
        rdma.peerGone(incarnation);
        tcp.peerGone(incarnation);
    }

    @Override
    public void close() {
        choices.clear();
    }
}
