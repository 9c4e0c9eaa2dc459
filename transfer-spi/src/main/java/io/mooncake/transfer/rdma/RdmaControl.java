// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.rdma;

import io.mooncake.base.Deadline;
import io.mooncake.base.MooncakeException;
import io.mooncake.transfer.ControlPlane;
import io.mooncake.transfer.PeerAddress;
import io.mooncake.transfer.TransferStatus;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;

/** Questions to one peer's {@link RdmaOwner}, with the failures of the control plane as statuses. */
final class RdmaControl {
    private static final long GRACE_NANOS = 100_000_000L;
    private static final long TELL_MILLIS = 2000;

    private final ControlPlane control;
    private final PeerAddress peer;

    RdmaControl(ControlPlane control, PeerAddress peer) {
        this.control = control;
        this.peer = peer;
    }

    byte[] ask(String service, byte[] payload, long deadlineNanos, TransferStatus deadlineStatus) throws RdmaFailure {
        long left = deadlineNanos - System.nanoTime();
        if (left <= 0) {
            throw new RdmaFailure(deadlineStatus);
        }
        CompletableFuture<byte[]> reply = control.request(peer, service, payload, Deadline.of(Duration.ofNanos(left)))
                .toCompletableFuture();
        try {
            return reply.get(left + GRACE_NANOS, TimeUnit.NANOSECONDS);
        } catch (ExecutionException e) {
            TransferStatus status = status(e.getCause(), deadlineStatus);
            if (service.equals(RdmaOwner.CONNECT)
                    && (status == TransferStatus.REFUSED || status == TransferStatus.PEER_UNREACHABLE)) {
                throw RdmaFailure.noWay("the peer said: " + (e.getCause() == null ? e : e.getCause()).getMessage());
            }
            throw new RdmaFailure(status);
        } catch (TimeoutException e) {
            throw new RdmaFailure(deadlineStatus);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new RdmaFailure(TransferStatus.CANCELED);
        }
    }

    private static TransferStatus status(@Nullable Throwable cause, TransferStatus deadlineStatus) {
        if (!(cause instanceof MooncakeException known)) {
            return TransferStatus.PEER_UNREACHABLE;
        }
        return switch (known.code()) {
            case DEADLINE_EXCEEDED -> deadlineStatus;
            case STALE -> TransferStatus.STALE_INCARNATION;
            case PEER_REFUSED -> TransferStatus.REFUSED;
            case INVALID_ARGUMENT,
                    ILLEGAL_STATE,
                    CONFIGURATION,
                    MODEL_REFUSED,
                    EXHAUSTED,
                    PEER_UNREACHABLE,
                    CORRUPT,
                    DENIED,
                    NOT_FOUND,
                    INTERNAL -> TransferStatus.PEER_UNREACHABLE;
        };
    }

    /** Sends without waiting; a message that is lost costs the owner a time-out. */
    void tell(String service, byte[] payload) {
        control.request(peer, service, payload, Deadline.ofMillis(TELL_MILLIS));
    }
}
