// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.tcp;

import static org.assertj.core.api.Assertions.assertThat;

import io.mooncake.transfer.PeerAddress;
import io.mooncake.transfer.internal.ClusterKey;
import io.mooncake.transfer.internal.Counters;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.StandardSocketOptions;
import java.nio.channels.ServerSocketChannel;
import java.util.UUID;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import jdk.net.ExtendedSocketOptions;
import org.junit.jupiter.api.Test;

/** A port that outlives the JVM's bad moments. */
final class PeerAcceptorTest {
    private static final ClusterKey KEY = ClusterKey.ofSecret("the secret of the test cluster");

    @Test
    void accept_noThreadToBeHad_closesThatSocketAndGoesOn() throws Exception {
        UUID self = UUID.randomUUID();
        BlockingQueue<PeerChannel> accepted = new ArrayBlockingQueue<>(1);
        AtomicInteger threads = new AtomicInteger();
        try (PeerSockets sockets = new PeerSockets(KEY, self, true, new Counters());
                ServerSocketChannel server = ServerSocketChannel.open()) {
            server.bind(new InetSocketAddress(InetAddress.getByName("127.0.0.1"), 0));
            int port = server.socket().getLocalPort();
            try (PeerAcceptor acceptor =
                    new PeerAcceptor(sockets, server, Plane.DATA, (channel, peer) -> accepted.add(channel), task -> {
                        if (threads.incrementAndGet() <= 3) {
                            throw new OutOfMemoryError("unable to create native thread (of the test)");
                        }
                        return new Thread(task);
                    })) {
                for (int i = 0; i < 3; i++) {
                    try (Socket socket = new Socket("127.0.0.1", port)) {
                        socket.setSoTimeout(20_000);
                        assertThat(socket.getInputStream().read()).isEqualTo(-1);
                    }
                }
                PeerAddress address = new PeerAddress(self, "127.0.0.1", port, port, port);
                try (PeerChannel channel = sockets.connect(address, Plane.DATA, System.nanoTime() + 20_000_000_000L)) {
                    PeerChannel served = accepted.poll(20, TimeUnit.SECONDS);
                    assertThat(served).isNotNull();
                    // Both ends notice a peer that lost its power.
                    for (PeerChannel end : new PeerChannel[] {channel, served}) {
                        assertThat(end.socket().getOption(StandardSocketOptions.SO_KEEPALIVE))
                                .isTrue();
                        assertThat(end.socket().getOption(ExtendedSocketOptions.TCP_KEEPIDLE))
                                .isLessThanOrEqualTo(60);
                    }
                    served.close();
                }
                assertThat(acceptor).isNotNull();
            }
        }
    }
}
