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
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.security.SecureRandom;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A peer is declared gone while calls still connect to it. */
final class GonePeerTest {
    private final GonePeers gone = new GonePeers();
    private final PeerSockets sockets = new PeerSockets(
            ClusterKey.ofSecret("the secret of the test cluster"), UUID.randomUUID(), true, new Counters());
    private final TcpTransport transport = new TcpTransport(
            sockets,
            new RegionRegistry(),
            new Capabilities(new SecureRandom()),
            SafetyChecks.ALL,
            gone,
            new PeerConduct(),
            1,
            List.of());

    @AfterEach
    void stop() {
        transport.close();
        sockets.close();
    }

    private static TransferBatch batch(long nanos) {
        return new TransferBatch(
                false,
                new RemoteHandle[] {new RemoteHandle(1, 1, 0, 8, false, 0, new byte[32])},
                new long[1],
                new long[] {8},
                null,
                null,
                null,
                System.nanoTime() + nanos,
                TransferStatus.TIMEOUT,
                1);
    }

    @ParameterizedTest
    @ValueSource(strings = {"127.0.0.1", "127.0.0.1,127.0.0.2"})
    void peerGone_callConnects_endsAtOnce(String hosts) throws Exception {
        try (ServerSocketChannel silent = ServerSocketChannel.open()) {
            silent.bind(new InetSocketAddress(InetAddress.getByName("0.0.0.0"), 0));
            int port = silent.socket().getLocalPort();
            List<String> all = List.of(hosts.split(","));
            PeerAddress peer =
                    new PeerAddress(UUID.randomUUID(), all.get(0), port, port, port, all.subList(1, all.size()));
            FutureTask<TransferStatus[]> call = new FutureTask<>(() -> {
                TransferBatch batch = batch(3_600_000_000_000L);
                transport.execute(peer, batch);
                return batch.statuses();
            });
            new Thread(call).start();
            try (SocketChannel accepted = silent.accept()) {
                assertThat(accepted.isOpen()).isTrue();
                gone.add(peer.incarnation());
                transport.peerGone(peer.incarnation());
                assertThat(call.get(20, TimeUnit.SECONDS)).containsExactly(TransferStatus.PEER_UNREACHABLE);
            }
        }
    }

    @Test
    void connect_peerIsGoneAlready_asksNobody() throws Exception {
        try (ServerSocketChannel silent = ServerSocketChannel.open()) {
            silent.bind(new InetSocketAddress(InetAddress.getByName("127.0.0.1"), 0));
            int port = silent.socket().getLocalPort();
            PeerAddress peer = new PeerAddress(UUID.randomUUID(), "127.0.0.1", port, port, port);
            FutureTask<PeerChannel> late = new FutureTask<>(
                    () -> sockets.connect(peer, Plane.CONTROL, System.nanoTime() + 3_600_000_000_000L, () -> true));
            new Thread(late).start();
            org.assertj.core.api.Assertions.assertThatThrownBy(() -> late.get(20, TimeUnit.SECONDS))
                    .hasCauseInstanceOf(HandshakeException.class)
                    .hasMessageContaining("gone");
        }
    }
}
