// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.tcp;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.mooncake.transfer.PeerAddress;
import io.mooncake.transfer.TransferStatus;
import io.mooncake.transfer.internal.ClusterKey;
import io.mooncake.transfer.internal.Counters;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.util.UUID;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** Nobody waits for a peer when the sockets have been closed. */
final class PeerSocketsTest {
    private static final long HOUR = 3_600_000_000_000L;

    private final PeerSockets sockets = new PeerSockets(
            ClusterKey.ofSecret("the secret of the test cluster"), UUID.randomUUID(), true, new Counters());

    @Test
    void close_handshakeWithSilentPeer_endsNowAndLater() throws Exception {
        try (ServerSocketChannel silent = ServerSocketChannel.open()) {
            silent.bind(new InetSocketAddress(InetAddress.getByName("127.0.0.1"), 0));
            int port = silent.socket().getLocalPort();
            PeerAddress peer = new PeerAddress(UUID.randomUUID(), "127.0.0.1", port, port, port);
            FutureTask<PeerChannel> waiting =
                    new FutureTask<>(() -> sockets.connect(peer, Plane.DATA, System.nanoTime() + HOUR));
            new Thread(waiting).start();
            try (SocketChannel accepted = silent.accept()) {
                assertThat(accepted.isOpen()).isTrue();
                sockets.close();
                assertThatThrownBy(() -> waiting.get(20, TimeUnit.SECONDS))
                        .hasCauseInstanceOf(HandshakeException.class);
            }
            assertThatThrownBy(() -> sockets.connect(peer, Plane.DATA, System.nanoTime() + HOUR))
                    .isInstanceOfSatisfying(HandshakeException.class, e -> assertThat(e.status())
                            .isEqualTo(TransferStatus.PEER_UNREACHABLE));
        }
    }
}
