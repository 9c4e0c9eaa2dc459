// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer;

import io.mooncake.base.Deadline;
import io.mooncake.base.MooncakeException;
import io.mooncake.transfer.metadata.EngineRecord;
import io.mooncake.transfer.metadata.MetadataStore;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Collectors;

/** The engines of a cluster by name, in its metadata. Control plane. */
final class Directory implements AutoCloseable {
    private static final String HELLO_SERVICE = "mooncake.hello";
    private static final long POLL_NANOS = 20_000_000;
    private static final Duration HELLO = Duration.ofSeconds(1);
    private static final long HELLO_GRACE_NANOS = 100_000_000;

    private final MetadataStore store;
    private final ControlPlane control;

    /** @param store closed by this */
    Directory(MetadataStore store, ControlPlane control) {
        this.store = store;
        this.control = control;
        control.handle(HELLO_SERVICE, (from, payload) -> new byte[0]);
    }

    /** Publishes this engine; whether the service has it by the deadline. It follows later where not. */
    boolean publish(EngineRecord engine, Deadline deadline) {
        return store.register(engine, deadline);
    }

    /**
     * The engine of that name. The record of a node that died outlives it, and that of its next life may come later, so whoever is
     * named is asked whether it lives.
     */
    PeerAddress require(String name, Deadline deadline) {
        while (true) {
            List<PeerAddress> named =
                    named(name).stream().filter(one -> lives(one, deadline)).toList();
            if (named.size() == 1) {
                return named.get(0);
            }
            if (named.size() > 1) {
                throw MooncakeException.invalid(
                        "peer name", name, "the name of one engine; now of " + encoded(named) + ": give each a port");
            }
            if (deadline.expired()) {
                throw notFound(name);
            }
            LockSupport.parkNanos(Math.min(POLL_NANOS, Math.max(1, deadline.remainingNanos())));
            if (Thread.currentThread().isInterrupted()) {
                throw new MooncakeException(
                        MooncakeException.Code.DEADLINE_EXCEEDED, "peer name: " + name + ", interrupted");
            }
        }
    }

    private List<PeerAddress> named(String name) {
        return store.engines().stream()
                .filter(engine -> name.equals(engine.attributes().get(EngineRecord.NAME)))
                .map(EngineRecord::address)
                .toList();
    }

    private boolean lives(PeerAddress peer, Deadline deadline) {
        if (deadline.expired()) {
            return false;
        }
        Deadline soon = deadline.atMost(HELLO);
        try {
            control.request(peer, HELLO_SERVICE, new byte[0], soon)
                    .toCompletableFuture()
                    .get(soon.remainingNanos() + HELLO_GRACE_NANOS, TimeUnit.NANOSECONDS);
            return true;
        } catch (ExecutionException | TimeoutException e) {
            return false;
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return false;
        }
    }

    private MooncakeException notFound(String name) {
        String known = store.engines().stream()
                .map(engine -> engine.attributes().getOrDefault(EngineRecord.NAME, "(no name)"))
                .collect(Collectors.joining(", "));
        return new MooncakeException(
                MooncakeException.Code.NOT_FOUND,
                "peer name: " + name + " (expected: one of the engines in the metadata by the deadline; there are: "
                        + known
                        + "; metadata: " + store.status().state()
                        + (store.status().detail().isEmpty()
                                ? ""
                                : ", " + store.status().detail())
                        + ")");
    }

    private static String encoded(List<PeerAddress> peers) {
        return peers.stream().map(PeerAddress::encode).collect(Collectors.joining(" and "));
    }

    /** All engines that are published. */
    List<EngineRecord> engines() {
        return store.engines();
    }

    /** Takes this engine's record back. */
    @Override
    public void close() {
        store.close();
    }
}
