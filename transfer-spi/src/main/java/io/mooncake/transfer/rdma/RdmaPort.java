// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.rdma;

import io.mooncake.base.MooncakeException;
import io.mooncake.natives.Verbs;
import io.mooncake.natives.VerbsDevice;
import io.mooncake.natives.VerbsDevice.Gid;
import io.mooncake.natives.VerbsDevice.Port;
import io.mooncake.natives.VerbsException;
import io.mooncake.natives.VerbsQueuePair;
import java.security.SecureRandom;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;

/**
 * The open device and port of an engine, and what a peer must know of them.
 *
 * <p>Makes queue pairs of both kinds: those that ask have no remote rights at all, those that answer post nothing.
 */
final class RdmaPort implements AutoCloseable {
    /** Requests outstanding on a queue pair. */
    static final int DEPTH = 128;

    private static final int MAX_READS = 16;
    private static final int SEQUENCE_BITS = 24;

    private final VerbsDevice device;
    private final RdmaConfig config;
    private final Port port;
    private final Gid gid;
    private final int readDepth;
    private final long registrationBytes;
    private final SecureRandom random = new SecureRandom();

    /** What a peer needs to know of this side of a connection. */
    record Endpoint(int mtu, int lid, byte[] gid, int number, int sequence) {}

    private RdmaPort(VerbsDevice device, RdmaConfig config) {
        this.device = device;
        this.config = config;
        this.port = device.port(config.port());
        if (!port.active()) {
            throw new MooncakeException(
                    MooncakeException.Code.CONFIGURATION,
                    device.name() + ": port " + config.port() + " is down (expected: an active port)");
        }
        this.gid = choose(device.gids(config.port()), config.gidIndex(), device.name());
        VerbsDevice.Limits limits = device.limits();
        this.readDepth = Math.max(1, Math.min(MAX_READS, limits.maxReads()));
        this.registrationBytes =
                Math.max(4096, Math.min(config.registrationBytes(), limits.maxRegistrationBytes()) & ~4095L);
    }

    /** Opens what {@code config} names; throws CONFIGURATION with every device's reason when there is none. */
    static RdmaPort open(RdmaConfig config) {
        if (!config.device().isEmpty()) {
            return open(config.device(), config);
        }
        Verbs.unavailable().ifPresent(reason -> {
            throw new MooncakeException(MooncakeException.Code.CONFIGURATION, "RDMA: " + reason);
        });
        List<String> refused = new ArrayList<>();
        for (String name : Verbs.devices()) {
            try {
                return open(name, config);
            } catch (MooncakeException e) {
                refused.add(e.getMessage());
            }
        }
        throw new MooncakeException(
                MooncakeException.Code.CONFIGURATION,
                "RDMA: no usable device" + (refused.isEmpty() ? "" : ": " + String.join("; ", refused)));
    }

    private static RdmaPort open(String name, RdmaConfig config) {
        VerbsDevice device = Verbs.open(name);
        try {
            return new RdmaPort(device, config);
        } catch (RuntimeException e) {
            device.close();
            throw e;
        }
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

    VerbsDevice device() {
        return device;
    }

    /** Largest registration. */
    long registrationBytes() {
        return registrationBytes;
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
        } catch (VerbsException e) {
            pair.close();
            throw e;
        }
    }

    Endpoint endpoint(VerbsQueuePair pair, int sequence) {
        return new Endpoint(port.mtu(), port.lid(), gid.bytes(), pair.number(), sequence);
    }

    /** Connects {@code pair}; both sides do. */
    void connect(VerbsQueuePair pair, int sequence, Endpoint peer) {
        pair.toReadyToReceive(
                config.port(),
                gid.index(),
                new VerbsQueuePair.Peer(peer.gid(), peer.lid(), peer.number(), peer.sequence()),
                Math.min(port.mtu(), peer.mtu()),
                readDepth);
        pair.toReadyToSend(sequence, config.timeoutCode(), config.retries(), readDepth);
    }

    @Override
    public void close() {
        device.close();
    }

    @Override
    public String toString() {
        return device.name() + "/" + config.port() + " gid " + gid.index() + " (" + gid.type() + ")";
    }
}
