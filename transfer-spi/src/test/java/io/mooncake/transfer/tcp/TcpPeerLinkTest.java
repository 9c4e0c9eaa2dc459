// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.tcp;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.mooncake.transfer.PeerAddress;
import io.mooncake.transfer.RailStatistics;
import io.mooncake.transfer.RemoteHandle;
import io.mooncake.transfer.TransferStatus;
import io.mooncake.transfer.internal.ClusterKey;
import io.mooncake.transfer.internal.Counters;
import io.mooncake.transfer.internal.Quietly;
import io.mooncake.transfer.internal.TransferBatch;
import java.util.List;
import java.util.UUID;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Connections and rails of one peer. */
final class TcpPeerLinkTest {
    private final UUID self = UUID.randomUUID();
    private final PeerSockets sockets =
            new PeerSockets(ClusterKey.ofSecret("the secret of the test cluster"), self, true, new Counters());
    private final ReceiveCredits credits = new ReceiveCredits(ReceiveCredits.BYTES, 1 << 20);

    @AfterEach
    void stop() {
        sockets.close();
    }

    /** One request, due in 20 s. */
    private static TransferBatch batch() {
        return new TransferBatch(
                false,
                new RemoteHandle[] {new RemoteHandle(1, 1, 0, 8, false, 0, new byte[32])},
                new long[1],
                new long[] {8},
                null,
                null,
                null,
                System.nanoTime() + 20_000_000_000L,
                TransferStatus.TIMEOUT,
                1);
    }

    @Test
    void drive_keptByAProbeAndClosedByThePeer_isStale() throws Exception {
        int port = sockets.listen(
                List.of("127.0.0.1"), 47_700, 47_899, List.of(), Plane.DATA, (channel, id) -> Quietly.close(channel));
        PeerAddress peer = new PeerAddress(self, "127.0.0.1", port, port, port);
        TcpPeerLink link = new TcpPeerLink(sockets, peer, List.of(), 2, credits);
        boolean answers = link.examiner().answers();
        // On a busy machine a connect may take longer than it may.
        for (int i = 0; i < 20 && !answers; i++) {
            answers = link.examiner().answers();
        }
        assertThat(answers).isTrue();
        TransferBatch batch = batch();
        TcpClientConnection kept = link.checkOut(true, batch);
        assertThat(kept).isNotNull();
        assertThat(kept.drive(batch, true)).isEqualTo(TcpClientConnection.Outcome.STALE);
        assertThat(batch.done()).isFalse();
        assertThat(credits.taken()).isZero();
    }

    @Test
    void checkOut_callerInterruptedWhileItConnects_restsNoRail() {
        PeerAddress peer = new PeerAddress(UUID.randomUUID(), "127.0.0.1", 1, 2, 3, List.of("127.0.0.2"));
        TcpPeerLink link = new TcpPeerLink(sockets, peer, List.of(), 2, credits);
        Thread.currentThread().interrupt();
        assertThatThrownBy(() -> link.checkOut(true, batch()))
                .isInstanceOfSatisfying(
                        HandshakeException.class, e -> assertThat(e.status()).isEqualTo(TransferStatus.CANCELED));
        assertThat(Thread.interrupted()).isTrue();
        assertThat(link.statistics()).noneMatch(RailStatistics::resting);
    }
}
