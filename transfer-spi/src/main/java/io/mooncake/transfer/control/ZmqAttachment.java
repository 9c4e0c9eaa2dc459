// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.control;

import io.mooncake.base.MooncakeException;
import java.io.IOException;
import java.lang.reflect.AccessibleObject;
import java.lang.reflect.Field;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import org.jspecify.annotations.Nullable;
import org.zeromq.ZMQ;
import zmq.Options;
import zmq.Own;
import zmq.SocketBase;
import zmq.ZObject;
import zmq.io.IEngine;
import zmq.io.IOThread;
import zmq.io.SessionBase;
import zmq.io.StreamEngine;
import zmq.socket.Sockets;

/**
 * Gives a connected and authenticated channel to a JeroMQ socket, as JeroMQ's own listener does with an accepted one.
 *
 * <p>Why not bind and connect by JeroMQ: its frame decoder runs before any of its security mechanisms, and one hostile length field makes
 * the I/O thread of release 0.6.0 spin for ever. So JeroMQ neither listens nor connects here; it sees members of the cluster only. The
 * protected members that its listener uses are reached by reflection; {@link #requireAvailable} tells at start when a release lacks them.
 *
 * <p>Threading: call it on the thread that owns the socket.
 */
final class ZmqAttachment {
    private static final Methods METHODS = Methods.find();

    private ZmqAttachment() {}

    private record Methods(
            Method chooseIoThread,
            Method incSeqnum,
            Method launchChild,
            Method sendAttach,
            Field options,
            Field channel) {
        static Methods find() {
            try {
                return new Methods(
                        open(ZObject.class.getDeclaredMethod("chooseIoThread", long.class)),
                        open(Own.class.getDeclaredMethod("incSeqnum")),
                        open(Own.class.getDeclaredMethod("launchChild", Own.class)),
                        open(ZObject.class.getDeclaredMethod(
                                "sendAttach", SessionBase.class, IEngine.class, boolean.class)),
                        open(Own.class.getDeclaredField("options")),
                        open(StreamEngine.class.getDeclaredField("fd")));
            } catch (ReflectiveOperationException | RuntimeException e) {
                throw new MooncakeException(
                        MooncakeException.Code.CONFIGURATION, "JeroMQ on the class path (expected: release 0.6.0)", e);
            }
        }

        private static <M extends AccessibleObject> M open(M member) {
            member.setAccessible(true);
            return member;
        }
    }

    static void requireAvailable() {
        if (METHODS.launchChild == null) {
            throw new IllegalStateException("JeroMQ");
        }
    }

    /** From now on the channel is the socket's; {@code name} appears in its events. */
    static void attach(ZMQ.Socket socket, SocketChannel channel, String name) throws IOException {
        SocketBase base = socket.base();
        channel.configureBlocking(false);
        try {
            Options options = (Options) METHODS.options.get(base);
            StreamEngine engine = engine(channel, options, name);
            IOThread thread = (IOThread) METHODS.chooseIoThread.invoke(base, options.affinity);
            SessionBase session = Sockets.createSession(thread, false, base, options, null);
            METHODS.incSeqnum.invoke(session);
            METHODS.launchChild.invoke(base, session);
            METHODS.sendAttach.invoke(base, session, engine, false);
        } catch (IllegalAccessException | InvocationTargetException | RuntimeException e) {
            throw new IOException("JeroMQ did not take " + name, e);
        }
    }

    /** A connection whose addresses can be shown; nothing goes over it. Null where there is no loopback interface. */
    private static final class Shown {
        static final @Nullable SocketChannel CHANNEL = open();

        private static @Nullable SocketChannel open() {
            try (ServerSocketChannel server = ServerSocketChannel.open()) {
                server.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
                return SocketChannel.open(server.getLocalAddress());
            } catch (IOException e) {
                return null;
            }
        }
    }

    /** Whether channels without IP addresses can be attached. */
    static boolean takesLocal() {
        return Shown.CHANNEL != null;
    }

    /** Release 0.6.0 wants the addresses of a TCP connection, to show them; it works with any channel that can be polled. */
    private static StreamEngine engine(SocketChannel channel, Options options, String name)
            throws IOException, IllegalAccessException {
        if (channel.getLocalAddress() instanceof InetSocketAddress) {
            return new StreamEngine(channel, options, name);
        }
        SocketChannel shown = Shown.CHANNEL;
        if (shown == null) {
            throw new IOException("no loopback interface");
        }
        StreamEngine engine = new StreamEngine(shown, options, name);
        METHODS.channel.set(engine, channel);
        return engine;
    }
}
