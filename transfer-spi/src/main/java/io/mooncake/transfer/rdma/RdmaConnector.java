// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.rdma;

import io.mooncake.natives.CompletionStatus;
import io.mooncake.natives.VerbsQueuePair;
import io.mooncake.transfer.TransferStatus;
import io.mooncake.transfer.internal.Counters;
import io.mooncake.transfer.rdma.RdmaFrameDescriptor.Connect;
import io.mooncake.transfer.rdma.RdmaFrameDescriptor.Connected;
import java.util.concurrent.locks.LockSupport;

/**
 * Makes connections: a queue pair of our own, one of the peer's, and a write of no bytes that has come back over them, so that a path which
 * carries nothing is found before a request depends on it.
 */
final class RdmaConnector {
    private static final int SPINS = 200;
    private static final long PAUSE_NANOS = 20_000;

    private final RdmaRegions registrations;
    private final Counters counters;

    RdmaConnector(RdmaRegions registrations, Counters counters) {
        this.registrations = registrations;
        this.counters = counters;
    }

    /**
     * Connects over {@code path}.
     *
     * @throws RdmaFailure PEER_UNREACHABLE when the device, the path or the peer's device does not carry it; no way when the peer says so
     */
    RdmaConnection connect(RdmaPath path, RdmaControl control, long deadlineNanos, TransferStatus deadlineStatus)
            throws RdmaFailure {
        RdmaConnection made = null;
        VerbsQueuePair pair = null;
        RdmaPort port = path.port();
        try {
            pair = port.create(0);
            int sequence = port.newSequence();
            Connected peer = RdmaFrameDescriptor.decodeConnected(control.ask(
                    RdmaOwner.CONNECT,
                    RdmaFrameDescriptor.encodeConnect(new Connect(path.wantedRail(), port.endpoint(pair, sequence))),
                    deadlineNanos,
                    deadlineStatus));
            path.peerHas(peer.rails());
            if (peer.connection() == 0) {
                throw RdmaFailure.path("no port of the peer is active");
            }
            RdmaConnection tried =
                    new RdmaConnection(pair, peer.connection(), path, peer.rail(), registrations, counters);
            try {
                port.connect(pair, sequence, peer.endpoint());
                tryOut(port, pair, deadlineNanos, deadlineStatus);
                made = tried;
            } finally {
                if (made == null) {
                    pair.close();
                    control.tell(RdmaOwner.HANG_UP, RdmaFrameDescriptor.encodeHangUp(new long[] {peer.connection()}));
                }
            }
            return made;
        } catch (RuntimeException e) {
            // The device refused: no queue pair left, no way to the peer's address, or the port is down.
            throw RdmaFailure.path(port + ": " + e.getMessage());
        } finally {
            if (made == null && pair != null) {
                pair.close();
            }
        }
    }

    private static void tryOut(RdmaPort port, VerbsQueuePair pair, long deadlineNanos, TransferStatus deadlineStatus)
            throws RdmaFailure {
        long[] descriptor = new long[VerbsQueuePair.POST_LONGS];
        long[] completion = new long[VerbsQueuePair.COMPLETION_LONGS];
        VerbsQueuePair.describe(descriptor, 0, 0, true, 0, 0, 0, 0, 0);
        pair.post(descriptor, 1);
        for (int turns = 0; pair.poll(completion) == 0; turns++) {
            if (System.nanoTime() - deadlineNanos >= 0) {
                throw new RdmaFailure(deadlineStatus);
            }
            if (Thread.currentThread().isInterrupted()) {
                throw new RdmaFailure(TransferStatus.CANCELED);
            }
            if (turns < SPINS) {
                Thread.onSpinWait();
            } else {
                LockSupport.parkNanos(PAUSE_NANOS);
            }
        }
        CompletionStatus status = CompletionStatus.of(completion[1]);
        if (status != CompletionStatus.SUCCESS) {
            throw RdmaFailure.path(port + ": a first write ended with " + status);
        }
    }
}
