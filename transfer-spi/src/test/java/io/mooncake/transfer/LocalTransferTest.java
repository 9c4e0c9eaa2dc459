// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;

/** The contract over the copy within a process: an engine and itself. */
final class LocalTransferTest extends TransferContract {
    @Override
    long read(TransferStatistics statistics) {
        return statistics.readLocal();
    }

    @Override
    TransferEngine start() {
        return TransferEngine.start(TransferEngineConfig.of("127.0.0.1", SECRET));
    }

    @Override
    TransferEngine startReader() {
        return owner;
    }

    @Override
    void connect() {
        assertThat(owner.path(owner.address(), soon()))
                .isEqualTo(new PathReport(PathReport.Kind.LOCAL, PathReport.Kind.LOCAL, ""));
    }

    @Override
    @Test
    void peerGone_holderWithLease_unpinsAndRefusesBothWays() {
        // Nobody declares himself dead; what would end is asked of others.
        owner.peerGone(owner.incarnation());
        assertThat(read(handle(0, 100, false), 100, 0)).isEqualTo(TransferStatus.PEER_UNREACHABLE);
    }

    @Override
    @Test
    void close_ticketsUnderWay_allEnd() {
        // None of the tickets need have begun when the engine closes.
        assertThat(read(handle(0, 1000, false), 1000, 0)).isEqualTo(TransferStatus.COMPLETED);
        super.close_ticketsUnderWay_allEnd();
        assertThat(owner.statistics().readTcp()).isZero();
        assertThat(owner.statistics().readLocal()).isPositive();
    }

    /** The owner may reuse what a lease that has ended held: that it did is no news. */
    @Test
    void read_leaseEndsWhileTheGuardLooks_isExpired() {
        AtomicBoolean reused = new AtomicBoolean();
        AtomicReference<RemoteLease> held = new AtomicReference<>();
        try (Memory guarded = memory(1 << 20);
                TransferEngine engine = start()) {
            int region = guarded.register(engine, (offset, bytes, generation) -> {
                RemoteLease lease = held.get();
                if (lease != null) {
                    await(lease::expired);
                    reused.set(true);
                }
                return !reused.get();
            });
            readerMemory.register(engine);
            TestLeases few = new TestLeases(guarded, region);
            few.put(1, 0, 100_000, 100_000);
            engine.serveLeases(few);
            List<TransferEngine.ReadRequest> requests =
                    List.of(new TransferEngine.ReadRequest(0, readerMemory.address));
            // A busy machine may come after the end of the term to begin with.
            for (int i = 0; i < 20 && !reused.get(); i++) {
                held.set(null);
                RemoteLease lease = engine.lease(
                        engine.address(), "pool", List.of(TestLeases.key(1)), Duration.ofMillis(500), soon());
                held.set(lease);
                assertThat(engine.read(lease, requests, soon())).containsExactly(TransferStatus.LEASE_EXPIRED);
            }
            assertThat(reused).isTrue();
        }
    }

    @Test
    void batchTransferSyncRead_guardReadsToo_bothGetTheirOwnBytes() {
        Memory guarded = memory(1 << 20);
        ownerMemory.fill(1, 0, 3000);
        guarded.fill(2, 0, 2000);
        RemoteHandle inner = handle(0, 3000, false);
        AtomicBoolean within = new AtomicBoolean();
        int region = guarded.register(owner, (offset, bytes, generation) -> {
            if (within.compareAndSet(false, true)) {
                try {
                    return read(inner, 3000, 100_000) == TransferStatus.COMPLETED;
                } finally {
                    within.set(false);
                }
            }
            return true;
        });
        RemoteHandle outer = owner.issueHandle(owner.incarnation(), region, 1, 0, 2000, false, Duration.ofSeconds(30));
        assertThat(read(outer, 2000, 500_000)).isEqualTo(TransferStatus.COMPLETED);
        assertThat(readerMemory.holds(1, 100_000, 3000)).isTrue();
        assertThat(readerMemory.holds(2, 500_000, 2000)).isTrue();
        owner.unregisterMemory(region);
        guarded.close();
    }
}
