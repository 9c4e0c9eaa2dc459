// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.tcp;

import io.mooncake.transfer.TransferStatus;
import io.mooncake.transfer.internal.Quietly;
import java.io.EOFException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.util.ArrayDeque;
import java.util.Locale;
import java.util.UUID;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.ThreadFactory;
import javax.net.ssl.SSLException;
import org.jspecify.annotations.Nullable;

/**
 * One listening port. Strangers shake hands on threads of a bounded set; when it is full the oldest stranger is cut, so that a flood of
 * silent sockets keeps nobody of the cluster out for long.
 */
public final class PeerAcceptor implements AutoCloseable {
    /** Strangers at a time. */
    static final int MAX_STRANGERS = 64;

    private static final long ACCEPT_ERROR_PAUSE_MILLIS = 20;
    private static final long LAST_WORDS_NANOS = 300_000_000L;

    /** Gets an authenticated blocking channel, which is its to close. Runs on the handshake's thread and may keep it. */
    @FunctionalInterface
    public interface Handler {
        void accepted(PeerChannel channel, UUID peer);

        /** Whether one more connection of that member is wanted; asked before it is connected. */
        default boolean admits(UUID peer) {
            return true;
        }
    }

    private final PeerSockets sockets;
    private final ServerSocketChannel server;
    private final Plane plane;
    /** Of this machine, whose engines look whether the port still lives. */
    private final boolean local;

    private final Handler handler;
    private final ExecutorService threads;
    // Guarded by itself; oldest first.
    private final ArrayDeque<WatchedChannel> strangers = new ArrayDeque<>();

    PeerAcceptor(PeerSockets sockets, ServerSocketChannel server, Plane plane, Handler handler) {
        this(sockets, server, plane, handler, task -> {
            Thread thread = new Thread(task, name(plane) + "-peer");
            thread.setDaemon(true);
            return thread;
        });
    }

    PeerAcceptor(PeerSockets sockets, ServerSocketChannel server, Plane plane, Handler handler, ThreadFactory threads) {
        this.sockets = sockets;
        this.server = server;
        this.plane = plane;
        this.local = LocalSockets.is(server);
        this.handler = handler;
        this.threads = Executors.newCachedThreadPool(threads);
        Thread acceptor = new Thread(this::accept, name(plane) + "-accept");
        acceptor.setDaemon(true);
        acceptor.start();
    }

    private static String name(Plane plane) {
        return "mooncake-" + plane.name().toLowerCase(Locale.ROOT);
    }

    private void accept() {
        while (server.isOpen()) {
            try {
                meet(server.accept());
            } catch (IOException | RuntimeException | OutOfMemoryError e) {
                // Most likely out of file descriptors, threads or memory: the port stays, and is tried again soon.
                pauseUnlessClosed();
            }
        }
    }

    /** Hands a stranger to a thread of its own; closes it where that fails. */
    private void meet(SocketChannel socket) throws IOException {
        WatchedChannel stranger = null;
        boolean met = false;
        try {
            PeerSockets.setOptions(socket);
            WatchedChannel made = new WatchedChannel(sockets.watchdog(), sockets.accepting(socket));
            stranger = made;
            made.watch();
            made.arm(System.nanoTime() + PeerSockets.HANDSHAKE_NANOS);
            admit(made);
            threads.execute(() -> shakeHands(made));
            met = true;
        } finally {
            if (!met) {
                Quietly.close(socket);
                forget(stranger);
            }
        }
    }

    private void forget(@Nullable WatchedChannel stranger) {
        if (stranger != null) {
            stranger.unwatch();
            synchronized (strangers) {
                strangers.remove(stranger);
            }
        }
    }

    private void pauseUnlessClosed() {
        if (server.isOpen()) {
            try {
                Thread.sleep(ACCEPT_ERROR_PAUSE_MILLIS);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        }
    }

    private void admit(WatchedChannel stranger) {
        WatchedChannel oldest = null;
        synchronized (strangers) {
            strangers.add(stranger);
            if (strangers.size() > MAX_STRANGERS) {
                oldest = strangers.poll();
            }
        }
        if (oldest != null) {
            oldest.cut();
        }
    }

    private void shakeHands(WatchedChannel stranger) {
        UUID peer = null;
        try {
            sockets.secure(stranger.channel);
            UUID claimed = sockets.handshake().accept(stranger.channel, plane, handler::admits);
            if (stranger.disarm()) {
                peer = claimed;
            }
        } catch (HandshakeException e) {
            if (e.status() != TransferStatus.STALE_INCARNATION) {
                sockets.refused(plane, stranger.channel, e);
                endPolitely(stranger);
            }
        } catch (SSLException e) {
            sockets.refused(plane, stranger.channel, e);
            endPolitely(stranger);
        } catch (EOFException e) {
            if (!local && server.isOpen()) {
                sockets.refused(plane, stranger.channel, e);
            }
        } catch (IOException | RuntimeException e) {
            if (server.isOpen()) {
                sockets.refused(plane, stranger.channel, e);
            }
        } finally {
            forget(stranger);
            if (peer == null) {
                stranger.cut();
            }
        }
        if (peer != null) {
            handler.accepted(stranger.channel, peer);
        }
    }

    /** A socket that is closed with bytes unread is reset, and our last words with it; so they are read first, for a moment. */
    private static void endPolitely(WatchedChannel stranger) {
        try {
            SocketChannel socket = stranger.channel.socket();
            stranger.arm(System.nanoTime() + LAST_WORDS_NANOS);
            socket.shutdownOutput();
            ByteBuffer rest = ByteBuffer.allocate(4096);
            while (socket.read(rest.clear()) >= 0) {}
        } catch (IOException e) {
            // It is gone, or time is over.
            return;
        }
    }

    @Override
    public void close() {
        LocalSockets.remove(server);
        Quietly.close(server);
        synchronized (strangers) {
            strangers.forEach(WatchedChannel::cut);
        }
        threads.shutdown();
    }
}
