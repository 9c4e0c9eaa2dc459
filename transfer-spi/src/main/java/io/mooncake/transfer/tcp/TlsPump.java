// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.tcp;

import io.mooncake.transfer.internal.Quietly;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;

/**
 * Carries bytes between a TLS channel and one end of a socket pair on this machine, for code that needs a socket it can select. Two threads
 * a connection, one each way, with a buffer each; whichever side ends, both do. A side that does not read stops the other one by its full
 * buffers, so nothing is queued here.
 */
final class TlsPump {
    private static final int BUFFER_BYTES = 32 << 10;

    private TlsPump() {}

    /** Starts carrying; the end of the pair that is the caller's. */
    static SocketChannel start(PeerChannel wire) throws IOException {
        SocketChannel[] pair = pair();
        SocketChannel inner = pair[1];
        try {
            thread("mooncake-tls-in", () -> carry(wire, inner, wire, inner)).start();
            thread("mooncake-tls-out", () -> carry(inner, wire, wire, inner)).start();
        } catch (OutOfMemoryError e) {
            Quietly.close(pair[0]);
            Quietly.close(inner);
            throw new IOException("no thread for TLS", e);
        }
        return pair[0];
    }

    private static Thread thread(String name, Runnable work) {
        Thread thread = new Thread(work, name);
        thread.setDaemon(true);
        return thread;
    }

    private static void carry(
            java.nio.channels.ReadableByteChannel from,
            java.nio.channels.WritableByteChannel to,
            PeerChannel wire,
            SocketChannel inner) {
        try {
            ByteBuffer buffer = ByteBuffer.allocateDirect(BUFFER_BYTES);
            while (from.read(buffer.clear()) >= 0) {
                buffer.flip();
                while (buffer.hasRemaining()) {
                    to.write(buffer);
                }
            }
        } catch (IOException e) {
            // Either side ended; the other one learns it now.
            return;
        } finally {
            Quietly.close(wire);
            Quietly.close(inner);
        }
    }

    /** Two connected sockets. Whoever else finds the port in the moment that it is open is turned away. */
    private static SocketChannel[] pair() throws IOException {
        try (ServerSocketChannel server = ServerSocketChannel.open()) {
            server.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 4);
            SocketChannel first = SocketChannel.open(server.getLocalAddress());
            try {
                while (true) {
                    SocketChannel second = server.accept();
                    if (second.getRemoteAddress().equals(first.getLocalAddress())) {
                        first.setOption(java.net.StandardSocketOptions.TCP_NODELAY, true);
                        second.setOption(java.net.StandardSocketOptions.TCP_NODELAY, true);
                        return new SocketChannel[] {first, second};
                    }
                    second.close();
                }
            } catch (IOException e) {
                first.close();
                throw e;
            }
        }
    }
}
