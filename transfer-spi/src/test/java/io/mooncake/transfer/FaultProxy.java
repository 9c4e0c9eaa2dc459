// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer;

import java.io.Closeable;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.Arrays;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/** Stands between a reader and a port of an owner; swallows or slows what the owner says, and damages what either says. */
final class FaultProxy implements AutoCloseable {
    /** One of the owner's. */
    enum Port {
        DATA,
        CONTROL,
        EVENT
    }

    private final ServerSocket server;
    private final PeerAddress owner;
    private final Port port;
    private final Set<Closeable> sockets = ConcurrentHashMap.newKeySet();
    /** Bytes of the owner that each connection lets through; what comes after vanishes. */
    volatile long passedBytes = Long.MAX_VALUE;
    /** Bytes a second of the owner that each connection lets through. */
    volatile long bytesPerSecond = Long.MAX_VALUE;
    /** Bytes of the reader that each connection lets through; what comes after waits until this is raised. */
    volatile long readerBytes = Long.MAX_VALUE;
    /** What happens to the bytes of one side, or null. */
    volatile @Nullable Damage damage;

    private final AtomicLong ofOwner = new AtomicLong();
    private final AtomicLong ofReader = new AtomicLong();

    /** Before the data port. */
    FaultProxy(PeerAddress owner) throws IOException {
        this(owner, Port.DATA);
    }

    FaultProxy(PeerAddress owner, Port port) throws IOException {
        this.owner = owner;
        this.port = port;
        this.server = new ServerSocket(0, 50, InetAddress.getByName("127.0.0.1"));
        daemon(this::accept);
    }

    /** The owner, as seen through this. */
    PeerAddress address() {
        int own = server.getLocalPort();
        return new PeerAddress(
                owner.incarnation(),
                "127.0.0.1",
                port == Port.DATA ? own : owner.dataPort(),
                port == Port.CONTROL ? own : owner.controlPort(),
                port == Port.EVENT ? own : owner.eventPort());
    }

    private int behind() {
        return switch (port) {
            case DATA -> owner.dataPort();
            case CONTROL -> owner.controlPort();
            case EVENT -> owner.eventPort();
        };
    }

    /** Bytes that one side has said. */
    long bytes(boolean byOwner) {
        return (byOwner ? ofOwner : ofReader).get();
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
                Socket there = new Socket(owner.host(), behind());
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

    private void pump(Socket from, Socket to, boolean byOwner) {
        byte[] buffer = new byte[16 << 10];
        Damage.Stream stream = new Damage.Stream();
        long passed = 0;
        try {
            InputStream in = from.getInputStream();
            OutputStream out = to.getOutputStream();
            while (true) {
                long rate = byOwner ? bytesPerSecond : Long.MAX_VALUE;
                int read = in.read(buffer, 0, (int) Math.min(buffer.length, Math.max(1, rate / 10)));
                if (read < 0) {
                    break;
                }
                if (rate != Long.MAX_VALUE) {
                    Thread.sleep(read * 1000L / rate);
                }
                (byOwner ? ofOwner : ofReader).addAndGet(read);
                Damage ordered = damage;
                byte[] said = stream.pass(
                        ordered == null || ordered.ofOwner != byOwner ? null : ordered, Arrays.copyOf(buffer, read));
                if (said == null) {
                    return;
                }
                long room = byOwner ? passedBytes - passed : said.length;
                if (room > 0) {
                    int now = byOwner ? said.length : awaitRoom(out, said, passed);
                    out.write(said, said.length - now, (int) Math.min(room, now));
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

    /** Passes on what may pass, then waits until the rest may; how much that is. */
    private int awaitRoom(OutputStream out, byte[] said, long passed) throws IOException, InterruptedException {
        int early = (int) Math.max(0, Math.min(said.length, readerBytes - passed));
        out.write(said, 0, early);
        while (readerBytes - passed < said.length && !server.isClosed()) {
            Thread.sleep(2);
        }
        return said.length - early;
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
