// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.rdma;

import io.mooncake.base.MooncakeException;
import io.mooncake.natives.VerbsDevice;
import io.mooncake.natives.VerbsDevice.Gid;
import io.mooncake.natives.VerbsDevice.Port;
import io.mooncake.natives.VerbsQueuePair;
import java.security.SecureRandom;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.atomic.LongAdder;
import org.jspecify.annotations.Nullable;

/**
 * One device of an engine and the port of it that is used: whether it carries traffic now, and what a peer must know of it.
 *
 * <p>Makes queue pairs of both kinds: those that ask have no remote rights at all, those that answer post nothing. Threading: any;
 * {@link #refresh} by one thread at a time.
 */
final class RdmaPort {
    /** Requests outstanding on a queue pair. */
    static final int DEPTH = 128;

    private static final int MAX_READS = 16;
    private static final int SEQUENCE_BITS = 24;

    private final int index;
    private final VerbsDevice device;
    private final RdmaConfig config;
    private final int readDepth;
    private final long registrationBytes;
    private final SecureRandom random = new SecureRandom();
    /** Null while it carries no traffic. */
    private volatile @Nullable Address address;

    private volatile boolean lost;
    private final LongAdder moved = new LongAdder();

    /** What a peer needs to know of this side of a connection. */
    record Endpoint(int mtu, int lid, byte[] gid, int number, int sequence) {}

    private record Address(Port port, Gid gid) {}

    /** Asks the device, which stays the caller's. */
    RdmaPort(int index, VerbsDevice device, RdmaConfig config) {
        this.index = index;
        this.device = device;
        this.config = config;
        VerbsDevice.Limits limits = device.limits();
        this.readDepth = Math.max(1, Math.min(MAX_READS, limits.maxReads()));
        this.registrationBytes =
                Math.max(4096, Math.min(config.registrationBytes(), limits.maxRegistrationBytes()) & ~4095L);
        refresh();
    }

    /** Asks the device again whether the port is active and for its address; whether it is. */
    boolean refresh() {
        Port port = device.port(config.port());
        address = port.active() && !lost
                ? new Address(port, choose(device.gids(config.port()), config.gidIndex(), device.name()))
                : null;
        return active();
    }

    /** It carries no traffic until {@link #refresh} says otherwise. */
    void down() {
        address = null;
    }

    /** It never will again. */
    void lost() {
        lost = true;
        address = null;
    }

    /** Whether it carries traffic, as far as the device has said. */
    boolean active() {
        return address != null;
    }

    /**
     * The rule: the index that was configured; else RoCE v2 over IPv4, over routable IPv6, over link-local IPv6; else what there is, which
     * is the port's own identifier on InfiniBand and RoCE v1 on old Ethernet cards.
     */
    static Gid choose(List<Gid> gids, int wanted, String device) {
        if (wanted >= 0) {
            return gids.stream()
                    .filter(one -> one.index() == wanted)
                    .findFirst()
                    .orElseThrow(() -> new MooncakeException(
                            MooncakeException.Code.CONFIGURATION,
                            device + ": gidIndex " + wanted + " is empty (expected: one of "
                                    + gids.stream().map(Gid::index).toList() + ")"));
        }
        return gids.stream()
                .min(Comparator.comparingInt(RdmaPort::rank).thenComparingInt(Gid::index))
                .orElseThrow(() -> new MooncakeException(
                        MooncakeException.Code.CONFIGURATION,
                        device + ": no global identifier (expected: an address)"));
    }

    private static int rank(Gid gid) {
        if (!gid.type().equals("RoCE v2")) {
            return 3;
        }
        if (gid.ipv4()) {
            return 0;
        }
        return gid.linkLocal() ? 2 : 1;
    }

    /** Its place among the engine's devices, from 0. */
    int index() {
        return index;
    }

    VerbsDevice device() {
        return device;
    }

    /** Number of the device's port. */
    int number() {
        return config.port();
    }

    /** Largest registration. */
    long registrationBytes() {
        return registrationBytes;
    }

    /** Counts what own requests moved over it. */
    void moved(long bytes) {
        moved.add(bytes);
    }

    long movedBytes() {
        return moved.sum();
    }

    int newSequence() {
        return random.nextInt(1 << SEQUENCE_BITS);
    }

    /** A queue pair in INIT, with the rights that the peer has on it. */
    VerbsQueuePair create(int access) {
        VerbsQueuePair pair = device.createQueuePair(DEPTH);
        try {
            pair.toInit(config.port(), access);
            return pair;
        } catch (RuntimeException e) {
            pair.close();
            throw e;
        }
    }

    Endpoint endpoint(VerbsQueuePair pair, int sequence) {
        Address own = requireActive();
        return new Endpoint(own.port.mtu(), own.port.lid(), own.gid.bytes(), pair.number(), sequence);
    }

    /** Connects {@code pair}; both sides do. */
    void connect(VerbsQueuePair pair, int sequence, Endpoint peer) {
        Address own = requireActive();
        pair.toReadyToReceive(
                config.port(),
                own.gid.index(),
                new VerbsQueuePair.Peer(peer.gid(), peer.lid(), peer.number(), peer.sequence()),
                Math.min(own.port.mtu(), peer.mtu()),
                readDepth);
        pair.toReadyToSend(sequence, config.timeoutCode(), config.retries(), readDepth);
    }

    private Address requireActive() {
        Address own = address;
        if (own == null) {
            throw new MooncakeException(
                    MooncakeException.Code.PEER_UNREACHABLE,
                    device.name() + ": port " + config.port() + " is down (expected: an active port)");
        }
        return own;
    }

    @Override
    public String toString() {
        Address own = address;
        return device.name() + "/" + config.port()
                + (own == null ? " down" : " gid " + own.gid.index() + " (" + own.gid.type() + ")");
    }
}
