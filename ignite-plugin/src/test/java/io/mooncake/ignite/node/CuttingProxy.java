// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.node;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import org.apache.ignite.configuration.AddressResolver;

/** Stands in front of every port of an engine, because Ignite's nodes are told so, and breaks connections when it is asked to. */
final class CuttingProxy implements AddressResolver, AutoCloseable {
    private final List<ServerSocket> listening = new CopyOnWriteArrayList<>();
    private final Set<Socket> open = ConcurrentHashMap.newKeySet();
    /** Ports that are Ignite's own. */
    private final int firstPort;

    private volatile boolean refusing;

    /**
     * @param firstPort first port of engines; below it nothing is proxied
     */
    CuttingProxy(int firstPort) {
        this.firstPort = firstPort;
    }

    @Override
    public List<InetSocketAddress> getExternalAddresses(InetSocketAddress inside) {
        if (inside.getPort() < firstPort) {
            return List.of(inside);
        }
        try {
            ServerSocket front = new ServerSocket(0, 64, InetAddress.getByName("127.0.0.1"));
            listening.add(front);
            start(() -> accept(front, inside));
            return List.of(new InetSocketAddress("127.0.0.1", front.getLocalPort()));
        } catch (IOException e) {
            throw new IllegalStateException(e);
        }
    }

    private void accept(ServerSocket front, InetSocketAddress inside) {
        try {
            while (true) {
                Socket in = front.accept();
                if (refusing) {
                    in.close();
                    continue;
                }
                Socket out = new Socket(inside.getAddress(), inside.getPort());
                in.setTcpNoDelay(true);
                out.setTcpNoDelay(true);
                open.add(in);
                open.add(out);
                start(() -> copy(in, out));
                start(() -> copy(out, in));
            }
        } catch (IOException e) {
            // Closed.
        }
    }

    private void copy(Socket from, Socket to) {
        try (from;
                to) {
            from.getInputStream().transferTo(to.getOutputStream());
        } catch (IOException e) {
            // Cut, or ended by an end.
        } finally {
            open.remove(from);
            open.remove(to);
        }
    }

    private static void start(Runnable work) {
        Thread thread = new Thread(work, "cutting-proxy");
        thread.setDaemon(true);
        thread.start();
    }

    /** Breaks all connections; whether there was one. */
    boolean cut() {
        boolean any = false;
        for (Socket socket : open) {
            any = true;
            try {
                socket.close();
            } catch (IOException e) {
                // Broken anyway.
            }
        }
        return any;
    }

    /** Whether new connections break at once. */
    void refuse(boolean refuses) {
        refusing = refuses;
        if (refuses) {
            cut();
        }
    }

    @Override
    public void close() throws IOException {
        for (ServerSocket front : listening) {
            front.close();
        }
        cut();
    }
}
