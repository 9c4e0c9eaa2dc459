// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer;

import io.mooncake.base.Deadline;
import io.mooncake.base.MooncakeException;
import io.mooncake.base.Waits;
import io.mooncake.transfer.internal.LeaseFrameDescriptor;
import io.mooncake.transfer.internal.LeaseTable;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeoutException;

/** Asks peers for leases and gives them back, over the control plane. */
final class LeaseClient {
    private static final String LEASE_SERVICE = "mooncake.lease";
    private static final String RELEASE_SERVICE = "mooncake.release";
    private static final long REPLY_GRACE_NANOS = 100_000_000L;
    private static final Duration RELEASE_TIME = Duration.ofSeconds(2);

    private final ControlPlane control;
    private final Waits waits;

    LeaseClient(ControlPlane control, Waits waits) {
        this.control = control;
        this.waits = waits;
    }

    /** Answers the leases that peers ask for. */
    void serve(LeaseTable leases) {
        control.handle(LEASE_SERVICE, leases::grant);
        control.handle(RELEASE_SERVICE, (from, payload) -> {
            leases.release(from, payload);
            return new byte[0];
        });
    }

    RemoteLease lease(PeerAddress peer, String namespace, List<byte[]> keys, Duration term, Deadline deadline) {
        if (term.toMillis() < 10 || term.toMillis() > 60_000) {
            throw MooncakeException.invalid("term", term, "10 ms..60 s");
        }
        byte[] payload = LeaseFrameDescriptor.encodeRequest(namespace, term.toNanos(), keys);
        long askedAtNanos = waits.nanoTime();
        byte[] reply = await(
                peer, control.request(peer, LEASE_SERVICE, payload, deadline).toCompletableFuture(), deadline);
        LeaseFrameDescriptor.Reply decoded = LeaseFrameDescriptor.decodeReply(reply);
        if (decoded.termNanos() < 1 || decoded.termNanos() > term.toNanos()) {
            throw new MooncakeException(
                    MooncakeException.Code.CORRUPT,
                    "lease reply: " + decoded.termNanos() + " ns (expected: 1.." + term.toNanos() + ")");
        }
        ReaderLease lease = new ReaderLease(peer, decoded, askedAtNanos, waits::nanoTime, this::release);
        if (decoded.elements().size() != keys.size()) {
            lease.close();
            throw new MooncakeException(
                    MooncakeException.Code.CORRUPT,
                    "lease reply: " + decoded.elements().size() + " elements (expected: " + keys.size() + ")");
        }
        return lease;
    }

    private byte[] await(PeerAddress peer, CompletableFuture<byte[]> reply, Deadline deadline) {
        try {
            return waits.await(reply, deadline.remainingNanos() + REPLY_GRACE_NANOS);
        } catch (ExecutionException e) {
            if (e.getCause() instanceof MooncakeException known) {
                throw new MooncakeException(known.code(), String.valueOf(known.getMessage()), known);
            }
            throw new MooncakeException(MooncakeException.Code.INTERNAL, "lease request: " + e, e);
        } catch (TimeoutException e) {
            throw new MooncakeException(
                    MooncakeException.Code.DEADLINE_EXCEEDED, peer.encode() + ": no lease by the deadline", e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new MooncakeException(MooncakeException.Code.DEADLINE_EXCEEDED, "interrupted", e);
        }
    }

    private void release(PeerAddress peer, long lease, long copiedBytes) {
        // No answer is waited for: a release that is lost costs the owner the rest of the term.
        control.request(
                peer,
                RELEASE_SERVICE,
                LeaseFrameDescriptor.encodeRelease(lease, copiedBytes),
                waits.deadline(RELEASE_TIME));
    }
}
