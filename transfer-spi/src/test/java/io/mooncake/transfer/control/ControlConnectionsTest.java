// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.control;

import static org.assertj.core.api.Assertions.assertThat;

import io.mooncake.base.Deadline;
import io.mooncake.transfer.PeerAddress;
import io.mooncake.transfer.TransferEngine;
import io.mooncake.transfer.TransferEngineConfig;
import io.mooncake.transfer.TransferStatus;
import io.mooncake.transfer.internal.ClusterKey;
import io.mooncake.transfer.internal.Counters;
import io.mooncake.transfer.tcp.HandshakeException;
import io.mooncake.transfer.tcp.PeerChannel;
import io.mooncake.transfer.tcp.PeerSockets;
import io.mooncake.transfer.tcp.Plane;
import java.io.IOException;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** A member that hoards connections of the control plane gets so many and no more, and costs the others nothing. */
final class ControlConnectionsTest {
    private static final String SECRET = "the secret of the test cluster";
    private static final long SECOND = 1_000_000_000L;

    private final TransferEngine server = TransferEngine.start(TransferEngineConfig.of("127.0.0.1", SECRET));
    private final PeerSockets hoarder =
            new PeerSockets(ClusterKey.ofSecret(SECRET), UUID.randomUUID(), true, new Counters());
    private final Deque<PeerChannel> hoard = new ArrayDeque<>();

    @AfterEach
    void stop() throws IOException {
        for (PeerChannel channel : hoard) {
            channel.close();
        }
        hoarder.close();
        server.close();
    }

    /** One more connection, or why not. */
    private @Nullable HandshakeException connect(Plane plane) {
        try {
            hoard.add(hoarder.connect(server.address(), plane, System.nanoTime() + 10 * SECOND));
            return null;
        } catch (HandshakeException e) {
            return e;
        }
    }

    @ParameterizedTest
    @EnumSource(
            value = Plane.class,
            names = {"CONTROL", "EVENT"})
    void connect_memberHasAllItsConnections_isRefusedUntilOneEnds(Plane plane) throws Exception {
        for (int i = 0; i < ZmqControlPlane.MAX_CONNECTIONS; i++) {
            assertThat(connect(plane)).isNull();
        }
        // The last ones are taken over in the background.
        HandshakeException refused = null;
        long taken = System.nanoTime() + 60 * SECOND;
        while (refused == null && System.nanoTime() - taken < 0) {
            Thread.sleep(100);
            refused = connect(plane);
        }
        assertThat(refused).isNotNull();
        assertThat(refused.status()).isEqualTo(TransferStatus.REFUSED);
        server.control().handle("echo", (from, payload) -> payload);
        PeerAddress address = server.address();
        try (TransferEngine other = TransferEngine.start(TransferEngineConfig.of("127.0.0.1", SECRET))) {
            assertThat(other.control()
                            .request(address, "echo", new byte[] {7}, Deadline.ofMillis(20_000))
                            .toCompletableFuture()
                            .get(20, TimeUnit.SECONDS))
                    .containsExactly(7);
        }
        hoard.removeFirst().close();
        long until = System.nanoTime() + 60 * SECOND;
        while (connect(plane) != null && System.nanoTime() - until < 0) {
            Thread.sleep(50);
        }
        assertThat(System.nanoTime() - until).isNegative();
    }
}
