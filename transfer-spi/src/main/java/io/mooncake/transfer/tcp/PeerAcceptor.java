// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.tcp;

import io.mooncake.transfer.TransferStatus;
import io.mooncake.transfer.internal.Quietly;
import java.io.IOException;
import java.net.StandardSocketOptions;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.util.ArrayDeque;
import java.util.UUID;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.RejectedExecutionException;

/**
 * One listening port. Strangers shake hands on threads of a bounded set; when it is full the oldest stranger is cut, so that a flood of
 * silent sockets keeps nobody of the cluster out for long.
 */
public final class PeerAcceptor implements AutoCloseable {
    /** Strangers at a time. */
    static final int MAX_STRANGERS = 64;

    private static final long ACCEPT_ERROR_PAUSE_MILLIS = 20;

    /** Gets an authenticated blocking channel, which is its to close. Runs on the handshake's thread and may keep it. */
    @FunctionalInterface
    public interface Handler {
        void accepted(SocketChannel channel, UUID peer);
    }

    private final PeerSockets sockets;
    private final ServerSocketChannel server;
    private final Plane plane;
    private final Handler handler;
    private final ExecutorService threads;
    // Guarded by itself; oldest first.
    private final ArrayDeque<WatchedChannel> strangers = new ArrayDeque<>();

    PeerAcceptor(PeerSockets sockets, ServerSocketChannel server, Plane plane, Handler handler) {
        this.sockets = sockets;
        this.server = server;
        this.plane = plane;
        this.handler = handler;
        String name = "mooncake-" + plane.name().toLowerCase(java.util.Locale.ROOT);
        this.threads = Executors.newCachedThreadPool(task -> {
            Thread thread = new Thread(task, name + "-peer");
            thread.setDaemon(true);
            return thread;
        });
        Thread acceptor = new Thread(this::accept, name + "-accept");
        acceptor.setDaemon(true);
        acceptor.start();
    }

    private void accept() {
        while (server.isOpen()) {
            try {
                SocketChannel channel = server.accept();
                channel.setOption(StandardSocketOptions.TCP_NODELAY, true);
                WatchedChannel stranger = new WatchedChannel(sockets.watchdog(), channel);
                stranger.watch();
                stranger.arm(System.nanoTime() + PeerSockets.HANDSHAKE_NANOS);
                admit(stranger);
                threads.execute(() -> shakeHands(stranger));
            } catch (IOException | RejectedExecutionException e) {
                pauseUnlessClosed();
            }
        }
    }

    /** Out of file descriptors, most likely: the port stays, and is tried again soon. */
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
            UUID claimed = sockets.handshake().accept(stranger.channel, plane);
            if (stranger.disarm()) {
                peer = claimed;
            }
        } catch (HandshakeException e) {
            if (e.status() != TransferStatus.STALE_INCARNATION) {
                sockets.refused(plane, stranger.channel, e);
            }
        } catch (IOException | RuntimeException e) {
            sockets.refused(plane, stranger.channel, e);
        } finally {
            stranger.unwatch();
            synchronized (strangers) {
                strangers.remove(stranger);
            }
            if (peer == null) {
                stranger.cut();
            }
        }
        if (peer != null) {
            handler.accepted(stranger.channel, peer);
        }
    }

    @Override
    public void close() {
        Quietly.close(server);
        synchronized (strangers) {
            strangers.forEach(WatchedChannel::cut);
        }
        threads.shutdown();
    }
}
