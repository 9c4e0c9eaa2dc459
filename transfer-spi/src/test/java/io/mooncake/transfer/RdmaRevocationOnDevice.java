// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer;

import static org.assertj.core.api.Assertions.assertThat;

import io.mooncake.base.Deadline;
import io.mooncake.transfer.internal.Capabilities;
import io.mooncake.transfer.internal.Counters;
import io.mooncake.transfer.internal.Region;
import io.mooncake.transfer.internal.RegionRegistry;
import io.mooncake.transfer.internal.SafetyChecks;
import io.mooncake.transfer.internal.TransferBatch;
import io.mooncake.transfer.rdma.RdmaTransport;
import java.security.SecureRandom;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import org.junit.jupiter.api.Test;

/** What the device revokes costs one request, not those that were outstanding with it. Needs a device, as {@link RdmaTransferOnDevice}. */
final class RdmaRevocationOnDevice {
    private static final int SIZE = 1 << 20;
    private static final int REQUESTS = 8;
    private static final int REVOKED = 3;

    /** Two ends in one process, by direct calls; what is to happen after a service has answered happens before the answer is seen. */
    private static final class Wire {
        final Map<UUID, Map<String, ControlPlane.RequestHandler>> handlers = new ConcurrentHashMap<>();
        final Map<String, Runnable> afterwards = new ConcurrentHashMap<>();
        final List<String> asked = new ArrayList<>();

        ControlPlane of(UUID own) {
            return new ControlPlane() {
                @Override
                public void handle(String service, RequestHandler handler) {
                    handlers.computeIfAbsent(own, id -> new ConcurrentHashMap<>())
                            .put(service, handler);
                }

                @Override
                public CompletionStage<byte[]> request(
                        PeerAddress peer, String service, byte[] payload, Deadline deadline) {
                    asked.add(service);
                    byte[] reply = handlers.get(peer.incarnation()).get(service).handle(own, payload);
                    Runnable then = afterwards.remove(service);
                    if (then != null) {
                        then.run();
                    }
                    return CompletableFuture.completedFuture(reply);
                }

                @Override
                public void publish(String topic, byte[] payload) {
                    throw new UnsupportedOperationException(topic);
                }

                @Override
                public Subscription subscribe(PeerAddress peer, String topic, EventListener listener) {
                    throw new UnsupportedOperationException(topic);
                }
            };
        }
    }

    private final Wire wire = new Wire();
    private final Capabilities capabilities = new Capabilities(new SecureRandom());
    private final RegionRegistry ownerRegions = new RegionRegistry();
    private final RegionRegistry readerRegions = new RegionRegistry();
    private final Counters counters = new Counters();
    private final PeerAddress ownerAddress = new PeerAddress(UUID.randomUUID(), "127.0.0.1", 1, 2, 3);
    private final UUID readerId = UUID.randomUUID();

    private RdmaTransport transport(UUID own, RegionRegistry regions) {
        return new RdmaTransport(
                RdmaTransferOnDevice.CONFIG,
                wire.of(own),
                regions,
                capabilities,
                SafetyChecks.ALL,
                gone -> false,
                counters,
                1);
    }

    @Test
    void execute_oneRegionRevokedMeanwhile_refusesThatOneAndRepeatsTheRest() {
        try (Memory theirs = new Memory(REQUESTS * SIZE);
                Memory ours = new Memory(REQUESTS * SIZE);
                RdmaTransport owner = transport(ownerAddress.incarnation(), ownerRegions);
                RdmaTransport reader = transport(readerId, readerRegions)) {
            reader.register(readerRegions.register(ours.address, ours.length, ours.guard()));
            RemoteHandle[] handles = new RemoteHandle[REQUESTS];
            long[] targets = new long[REQUESTS];
            long[] sizes = new long[REQUESTS];
            Region[] regions = new Region[REQUESTS];
            for (int i = 0; i < REQUESTS; i++) {
                theirs.fill(i, i * SIZE, SIZE);
                regions[i] = ownerRegions.register(theirs.address + (long) i * SIZE, SIZE, theirs.guard());
                owner.register(regions[i]);
                handles[i] = capabilities.issue(
                        readerId, regions[i].id(), 1, 0, SIZE, false, System.nanoTime() + 30_000_000_000L);
                targets[i] = ours.address + (long) i * SIZE;
                sizes[i] = SIZE;
            }
            wire.afterwards.put("mooncake.rdma.open", () -> owner.deregister(regions[REVOKED]));
            TransferBatch batch = new TransferBatch(
                    false,
                    handles,
                    targets,
                    sizes,
                    null,
                    null,
                    null,
                    System.nanoTime() + 30_000_000_000L,
                    TransferStatus.TIMEOUT,
                    1);
            reader.execute(ownerAddress, batch);
            for (int i = 0; i < REQUESTS; i++) {
                assertThat(batch.statuses()[i])
                        .as("request %d", i)
                        .isEqualTo(i == REVOKED ? TransferStatus.REFUSED : TransferStatus.COMPLETED);
                assertThat(i == REVOKED || ours.holds(i, i * SIZE, SIZE)).isTrue();
            }
            assertThat(reader.retriedSlices()).isBetween(1L, (long) REQUESTS);
            assertThat(wire.asked)
                    .startsWith("mooncake.rdma.connect", "mooncake.rdma.open", "mooncake.rdma.close")
                    .containsSequence("mooncake.rdma.connect", "mooncake.rdma.open", "mooncake.rdma.close");
            assertThat(counters.snapshot().requestsServed()).isEqualTo(REQUESTS - 1);
            reader.close();
            owner.close();
            reader.release();
            owner.release();
        }
    }
}
