// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.tcp;

import static org.assertj.core.api.Assertions.assertThat;

import io.mooncake.transfer.PeerAddress;
import io.mooncake.transfer.RemoteHandle;
import io.mooncake.transfer.TransferStatus;
import io.mooncake.transfer.internal.Capabilities;
import io.mooncake.transfer.internal.ClusterKey;
import io.mooncake.transfer.internal.Counters;
import io.mooncake.transfer.internal.PeerConduct;
import io.mooncake.transfer.internal.RegionRegistry;
import io.mooncake.transfer.internal.SafetyChecks;
import io.mooncake.transfer.internal.TransferBatch;
import java.security.SecureRandom;
import java.util.List;
import java.util.UUID;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** What calls leave behind that move nothing. */
final class SkippedPeerTest {
    private static final long SECOND = 1_000_000_000L;

    private final PeerSockets sockets = new PeerSockets(
            ClusterKey.ofSecret("the secret of the test cluster"), UUID.randomUUID(), true, new Counters());
    private final TcpTransport transport = new TcpTransport(
            sockets,
            new RegionRegistry(),
            new Capabilities(new SecureRandom()),
            SafetyChecks.ALL,
            new GonePeers(),
            new PeerConduct(),
            1,
            List.of());
    private final PeerAddress peer = new PeerAddress(UUID.randomUUID(), "127.0.0.1", 1, 2, 3);

    @AfterEach
    void stop() {
        transport.close();
        sockets.close();
    }

    /** Of {@code requests} that nobody answers. */
    private static TransferBatch batch(int requests, long deadlineNanos) {
        RemoteHandle[] handles = new RemoteHandle[requests];
        long[] sizes = new long[requests];
        for (int i = 0; i < requests; i++) {
            handles[i] = new RemoteHandle(1, 1, 0, 8, false, 0, new byte[32]);
            sizes[i] = 8;
        }
        return new TransferBatch(
                false,
                handles,
                new long[requests],
                sizes,
                null,
                null,
                null,
                deadlineNanos,
                TransferStatus.LEASE_EXPIRED,
                1);
    }

    @Test
    void execute_peerIsSkipped_keepsItWorthProbing() {
        transport.execute(peer, batch(0, System.nanoTime() + SECOND));
        TcpPeerLink link = transport.known(peer.incarnation());
        assertThat(link).isNotNull();
        long now = System.nanoTime();
        for (int i = 0; i < Breaker.SILENT_CALLS; i++) {
            link.breaker().timedOut(now - 10 * SECOND, now - 20 * SECOND, now);
        }
        assertThat(link.breaker().closed()).isFalse();
        link.used(now - 3600 * SECOND);
        TransferBatch skipped = batch(1, now + 20 * SECOND);
        transport.execute(peer, skipped);
        assertThat(skipped.statuses()).containsExactly(TransferStatus.PEER_UNREACHABLE);
        assertThat(link.usedNanos() - now).isNotNegative();
    }

    @Test
    void execute_deadlineHasPassed_asksNobody() {
        TransferBatch late = batch(1, System.nanoTime() - 1);
        transport.execute(peer, late);
        assertThat(late.statuses()).containsExactly(TransferStatus.LEASE_EXPIRED);
        assertThat(transport.known(peer.incarnation())).isNull();
    }
}
