// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer;

import java.io.Closeable;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/** Stands between a reader and the data port of an owner, and swallows or slows what the owner says. */
final class FaultProxy implements AutoCloseable {
    private final ServerSocket server;
    private final PeerAddress owner;
    private final Set<Closeable> sockets = ConcurrentHashMap.newKeySet();
    /** Bytes of the owner that each connection lets through; what comes after vanishes. */
    volatile long passedBytes = Long.MAX_VALUE;
    /** Bytes a second of the owner that each connection lets through. */
    volatile long bytesPerSecond = Long.MAX_VALUE;

    FaultProxy(PeerAddress owner) throws IOException {
        this.owner = owner;
        this.server = new ServerSocket(0, 50, InetAddress.getByName("127.0.0.1"));
        daemon(this::accept);
    }

    /** The owner, as seen through this. */
    PeerAddress address() {
        return new PeerAddress(
                owner.incarnation(), "127.0.0.1", server.getLocalPort(), owner.controlPort(), owner.eventPort());
    }

    private static void daemon(Runnable task) {
        Thread thread = new Thread(task, "fault-proxy");
        thread.setDaemon(true);
        thread.start();
    }

    private void accept() {
        while (!server.isClosed()) {
            try {
                Socket reader = server.accept();
                Socket there = new Socket(owner.host(), owner.dataPort());
                reader.setTcpNoDelay(true);
                there.setTcpNoDelay(true);
                sockets.add(reader);
                sockets.add(there);
                daemon(() -> pump(reader, there, false));
                daemon(() -> pump(there, reader, true));
            } catch (IOException e) {
                if (server.isClosed()) {
                    return;
                }
            }
        }
    }

    private void pump(Socket from, Socket to, boolean ofOwner) {
        byte[] buffer = new byte[16 << 10];
        long passed = 0;
        try {
            InputStream in = from.getInputStream();
            OutputStream out = to.getOutputStream();
            while (true) {
                long rate = ofOwner ? bytesPerSecond : Long.MAX_VALUE;
                int read = in.read(buffer, 0, (int) Math.min(buffer.length, Math.max(1, rate / 10)));
                if (read < 0) {
                    break;
                }
                if (rate != Long.MAX_VALUE) {
                    Thread.sleep(read * 1000L / rate);
                }
                long room = ofOwner ? passedBytes - passed : read;
                if (room > 0) {
                    out.write(buffer, 0, (int) Math.min(room, read));
                }
                passed += read;
            }
        } catch (IOException e) {
            // One end is gone: so is the other.
            quietly(from);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } finally {
            quietly(from);
            quietly(to);
        }
    }

    private void quietly(Socket socket) {
        try {
            sockets.remove(socket);
            socket.close();
        } catch (IOException e) {
            throw new AssertionError(e);
        }
    }

    @Override
    public void close() throws IOException {
        server.close();
        for (Closeable socket : sockets) {
            socket.close();
        }
    }
}
