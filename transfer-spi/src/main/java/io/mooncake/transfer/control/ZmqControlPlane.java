// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.control;

import io.mooncake.base.Deadline;
import io.mooncake.base.MooncakeException;
import io.mooncake.transfer.ControlPlane;
import io.mooncake.transfer.PeerAddress;
import io.mooncake.transfer.control.ControlFrameDescriptor.Frame;
import io.mooncake.transfer.internal.Quietly;
import io.mooncake.transfer.tcp.GonePeers;
import io.mooncake.transfer.tcp.PeerAcceptor;
import io.mooncake.transfer.tcp.PeerChannel;
import io.mooncake.transfer.tcp.PeerSockets;
import java.io.IOException;
import java.nio.channels.SocketChannel;
import java.util.HashMap;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;
import org.zeromq.SocketType;
import org.zeromq.ZMQ;

/**
 * The control plane: a ROUTER that peers' DEALERs ask and push to, and an XPUB that peers' SUBs listen to. The engine itself reaches them by
 * inproc endpoints.
 *
 * <p>One loop owns the sockets ({@link ControlLoop}); handlers and listeners run on a small pool. Futures complete on the loop's thread.
 * Every queue is bounded: outstanding requests a peer, handler tasks, bytes of events that wait to be published, messages a subscriber.
 */
public final class ZmqControlPlane implements ControlPlane, AutoCloseable {
    private static final int HIGH_WATER_MARK = 4096;
    private static final int EVENT_HIGH_WATER_MARK = 512;
    private static final int HANDLER_THREADS = 4;
    private static final int MAX_HANDLER_TASKS = 8192;
    /** Threads that connect at a time, at most two for each peer that does not answer. */
    private static final int MAX_CONNECTS = 1024;

    private static final long MAX_PUBLISH_BYTES = 64L << 20;
    /** Connections of one life of a member to each of the two ports; an engine needs one. */
    static final int MAX_CONNECTIONS = 16;

    private static final int WORK_THREADS = 4;
    private static final int MAX_WORK = 4096;
    private static final long MAX_WORK_BYTES = 64L << 20;
    /** JeroMQ's own limit is 1,024: two for each peer. */
    private static final int MAX_SOCKETS = 65_536;

    private static final UUID NOBODY = new UUID(0, 0);
    private static final String REQUESTS = "inproc://requests";
    private static final String EVENTS = "inproc://events";

    private final UUID own;
    private final boolean checkIncarnation;
    private final GonePeers gone;
    private final ControlLoop loop;
    private final ThreadPoolExecutor handlerThreads;
    /** Of their own: work may take long, and ask peers for what only their handlers give. */
    private final ThreadPoolExecutor workThreads;

    private final ThreadPoolExecutor connectThreads;
    private final Connector connector;
    /** To lives that were declared over; for {@link ControlPlane#LIFE_SERVICE} alone. */
    private final Connector connectorToGone;

    private final Map<String, RequestHandler> handlers = new ConcurrentHashMap<>();
    private final Map<String, WorkHandler> workers = new ConcurrentHashMap<>();
    private final AtomicLong workBytes = new AtomicLong();
    private final AtomicLong correlations = new AtomicLong();
    private final AtomicLong publishBytes = new AtomicLong();
    private final Map<SocketChannel, Accepted> accepted = new ConcurrentHashMap<>();
    private volatile boolean closed;

    // Owned by the loop.
    private final Map<UUID, RequestClient> requestClients = new HashMap<>();
    private final Map<UUID, EventClient> eventClients = new HashMap<>();
    private ZMQ.@Nullable Socket router;
    private ZMQ.@Nullable Socket publisher;

    public ZmqControlPlane(PeerSockets sockets, UUID own, GonePeers gone, boolean checkIncarnation) {
        this.own = own;
        this.gone = gone;
        this.checkIncarnation = checkIncarnation;
        try {
            this.loop = new ControlLoop("mooncake-control", MAX_SOCKETS);
        } catch (IOException e) {
            throw new MooncakeException(MooncakeException.Code.EXHAUSTED, "control plane: " + e, e);
        }
        this.handlerThreads = pool("mooncake-handler", HANDLER_THREADS, MAX_HANDLER_TASKS);
        this.workThreads = pool("mooncake-work", WORK_THREADS, MAX_WORK);
        // No queue: a peer that does not answer holds its own connects up, and nobody else's.
        this.connectThreads = new ThreadPoolExecutor(
                0, MAX_CONNECTS, 10, TimeUnit.SECONDS, new SynchronousQueue<>(), threads("mooncake-connect"));
        this.connector = new Connector(loop, sockets, gone, connectThreads);
        this.connectorToGone = new Connector(loop, sockets, new GonePeers(), connectThreads);
        loop.post(() -> {
            router = loop.open(SocketType.ROUTER, HIGH_WATER_MARK, this::asked, accepted::remove);
            router.bind(REQUESTS);
            publisher = loop.open(
                    SocketType.XPUB,
                    EVENT_HIGH_WATER_MARK,
                    (socket, first) -> ControlLoop.lastPart(socket),
                    accepted::remove);
            publisher.bind(EVENTS);
        });
    }

    private static ThreadPoolExecutor pool(String name, int threads, int queue) {
        ThreadPoolExecutor pool = new ThreadPoolExecutor(
                threads, threads, 30, TimeUnit.SECONDS, new LinkedBlockingQueue<>(queue), threads(name));
        pool.allowCoreThreadTimeOut(true);
        return pool;
    }

    private static ThreadFactory threads(String name) {
        return task -> {
            Thread thread = new Thread(task, name);
            thread.setDaemon(true);
            return thread;
        };
    }

    private record Accepted(UUID peer, boolean events) {}

    /** Takes the authenticated channels of the control port. */
    public PeerAcceptor.Handler requests() {
        return handler(false);
    }

    /** Takes the authenticated channels of the event port. */
    public PeerAcceptor.Handler subscribers() {
        return handler(true);
    }

    private PeerAcceptor.Handler handler(boolean events) {
        return new PeerAcceptor.Handler() {
            @Override
            public boolean admits(UUID peer) {
                return hasRoom(peer, events);
            }

            @Override
            public void accepted(PeerChannel channel, UUID peer) {
                accept(channel, peer, events);
            }
        };
    }

    private boolean hasRoom(UUID peer, boolean events) {
        Accepted one = new Accepted(peer, events);
        // JeroMQ does not tell of those that end before their greeting.
        accepted.keySet().removeIf(channel -> !channel.isOpen());
        return accepted.values().stream().filter(one::equals).count() < MAX_CONNECTIONS;
    }

    private void accept(PeerChannel stream, UUID peer, boolean events) {
        SocketChannel channel;
        try {
            channel = stream.handOver();
        } catch (IOException e) {
            Quietly.close(stream);
            return;
        }
        boolean posted = (!events || !gone.contains(peer))
                && loop.post(() -> {
                    ZMQ.Socket target = events ? publisher : router;
                    try {
                        // Asked again: several may have been let in at once.
                        if (target == null || (events && gone.contains(peer)) || !hasRoom(peer, events)) {
                            throw new IOException("not serving " + peer);
                        }
                        accepted.put(channel, new Accepted(peer, events));
                        ZmqAttachment.attach(target, channel, peer.toString());
                    } catch (IOException e) {
                        accepted.remove(channel);
                        Quietly.close(channel);
                    }
                });
        if (!posted) {
            Quietly.close(channel);
        }
    }

    @Override
    public void handle(String service, RequestHandler handler) {
        ControlFrameDescriptor.requireName("service", service);
        if (handlers.putIfAbsent(service, handler) != null) {
            throw new MooncakeException(
                    MooncakeException.Code.ILLEGAL_STATE, "service " + service + ": handled already");
        }
    }

    private void asked(ZMQ.Socket from, byte[] identity) {
        Frame frame = ControlFrameDescriptor.decode(ControlLoop.lastPart(from));
        boolean work = frame != null && frame.type() == ControlFrameDescriptor.WORK;
        if (frame == null || !(work || frame.type() == ControlFrameDescriptor.REQUEST)) {
            return;
        }
        if (barred(frame.sender(), frame.name())) {
            error(identity, frame, ControlFrameDescriptor.REFUSED, frame.sender() + " was declared over");
            return;
        }
        if (checkIncarnation && !frame.target().equals(own)) {
            error(identity, frame, ControlFrameDescriptor.STALE, "this is " + own);
            return;
        }
        if (work) {
            pulled(identity, frame);
            return;
        }
        RequestHandler handler = handlers.get(frame.name());
        if (handler == null) {
            error(identity, frame, ControlFrameDescriptor.REFUSED, "no service " + frame.name());
            return;
        }
        try {
            handlerThreads.execute(() -> answer(identity, frame, handler));
        } catch (RejectedExecutionException | OutOfMemoryError e) {
            error(identity, frame, ControlFrameDescriptor.BUSY, "busy");
        }
    }

    private boolean barred(UUID peer, String service) {
        return gone.contains(peer) && !service.equals(LIFE_SERVICE);
    }

    /** Work waits for one of its threads, and who pushed it for the answer, which says that one has it. */
    private void pulled(byte[] identity, Frame frame) {
        WorkHandler handler = workers.get(frame.name());
        if (handler == null) {
            error(identity, frame, ControlFrameDescriptor.REFUSED, "nobody pulls from " + frame.name());
            return;
        }
        int bytes = frame.payload().length;
        if (workBytes.addAndGet(bytes) > MAX_WORK_BYTES) {
            workBytes.addAndGet(-bytes);
            error(identity, frame, ControlFrameDescriptor.BUSY, "too many bytes of work wait");
            return;
        }
        try {
            workThreads.execute(() -> work(identity, frame, handler));
        } catch (RejectedExecutionException | OutOfMemoryError e) {
            workBytes.addAndGet(-bytes);
            error(identity, frame, ControlFrameDescriptor.BUSY, "too much work waits");
        }
    }

    private void work(byte[] identity, Frame frame, WorkHandler handler) {
        workBytes.addAndGet(-frame.payload().length);
        respond(identity, frame, ControlFrameDescriptor.REPLY, ControlFrameDescriptor.NONE, new byte[0]);
        try {
            handler.handle(frame.sender(), frame.payload());
        } catch (RuntimeException e) {
            loop.post(() -> loop.failed("Work of queue " + frame.name(), e));
        }
    }

    private void answer(byte[] identity, Frame request, RequestHandler handler) {
        byte[] reply;
        try {
            reply = ControlFrameDescriptor.requirePayload(handler.handle(request.sender(), request.payload()));
        } catch (RuntimeException e) {
            error(
                    identity,
                    request,
                    ControlFrameDescriptor.REFUSED,
                    e.getMessage() == null ? e.toString() : e.getMessage());
            return;
        }
        respond(identity, request, ControlFrameDescriptor.REPLY, ControlFrameDescriptor.NONE, reply);
    }

    private void error(byte[] identity, Frame request, int error, String text) {
        String bounded = text.length() > 1024 ? text.substring(0, 1024) : text;
        byte[] payload = bounded.getBytes(java.nio.charset.StandardCharsets.UTF_8);
        respond(identity, request, ControlFrameDescriptor.ERROR, error, payload);
    }

    private void respond(byte[] identity, Frame request, int type, int error, byte[] payload) {
        byte[] frame = ControlFrameDescriptor.encode(
                new Frame(type, error, request.correlation(), own, request.sender(), request.name(), payload));
        loop.post(() -> {
            ZMQ.Socket target = router;
            if (target != null && target.send(identity, ZMQ.SNDMORE | ZMQ.DONTWAIT)) {
                target.send(frame, ZMQ.DONTWAIT);
            }
        });
    }

    @Override
    public CompletionStage<byte[]> request(PeerAddress peer, String service, byte[] payload, Deadline deadline) {
        ControlFrameDescriptor.requireName("service", service);
        return send(peer, ControlFrameDescriptor.REQUEST, service, payload, deadline);
    }

    private CompletableFuture<byte[]> send(
            PeerAddress peer, int type, String service, byte[] payload, Deadline deadline) {
        ControlFrameDescriptor.requirePayload(payload);
        CompletableFuture<byte[]> reply = new CompletableFuture<>();
        long deadlineNanos = System.nanoTime() + deadline.remainingNanos();
        long correlation = correlations.incrementAndGet();
        byte[] frame = ControlFrameDescriptor.encode(
                new Frame(type, ControlFrameDescriptor.NONE, correlation, own, peer.incarnation(), service, payload));
        RequestClient.Pending pending = new RequestClient.Pending(correlation, frame, deadlineNanos, reply);
        boolean posted = loop.post(() -> {
            boolean over = gone.contains(peer.incarnation());
            if (barred(peer.incarnation(), service) || closed) {
                reply.completeExceptionally(unreachable(peer));
                return;
            }
            try {
                requestClients
                        .computeIfAbsent(
                                peer.incarnation(),
                                id -> new RequestClient(
                                        loop,
                                        over ? connectorToGone : connector,
                                        peer,
                                        checkIncarnation,
                                        here(peer, REQUESTS)))
                        .send(pending);
            } catch (RuntimeException | Error e) {
                // Out of sockets, most likely: who asked must not wait for ever.
                reply.completeExceptionally(new MooncakeException(MooncakeException.Code.EXHAUSTED, peer.encode(), e));
            }
        });
        if (!posted) {
            reply.completeExceptionally(unreachable(peer));
        }
        return reply;
    }

    @Override
    public CompletionStage<Void> push(PeerAddress peer, String queue, byte[] payload, Deadline deadline) {
        ControlFrameDescriptor.requireName("queue", queue);
        return send(peer, ControlFrameDescriptor.WORK, queue, payload, deadline).thenAccept(taken -> {});
    }

    @Override
    public void pull(String queue, WorkHandler handler) {
        ControlFrameDescriptor.requireName("queue", queue);
        if (workers.putIfAbsent(queue, handler) != null) {
            throw new MooncakeException(MooncakeException.Code.ILLEGAL_STATE, "queue " + queue + ": pulled already");
        }
    }

    /** Where the engine itself is reached, or null for others. */
    private @Nullable String here(PeerAddress peer, String endpoint) {
        return peer.incarnation().equals(own) ? endpoint : null;
    }

    /** Whether channels of {@link io.mooncake.transfer.tcp.LocalSockets} can be used. */
    public static boolean takesLocalSockets() {
        return ZmqAttachment.takesLocal();
    }

    private static MooncakeException unreachable(PeerAddress peer) {
        return new MooncakeException(MooncakeException.Code.PEER_UNREACHABLE, peer.encode() + " is gone");
    }

    @Override
    public void publish(String topic, byte[] payload) {
        ControlFrameDescriptor.requireName("topic", topic);
        ControlFrameDescriptor.requirePayload(payload);
        if (publishBytes.addAndGet(payload.length) > MAX_PUBLISH_BYTES) {
            publishBytes.addAndGet(-payload.length);
            return;
        }
        byte[] frame = ControlFrameDescriptor.encode(
                new Frame(ControlFrameDescriptor.EVENT, ControlFrameDescriptor.NONE, 0, own, NOBODY, topic, payload));
        loop.post(() -> {
            publishBytes.addAndGet(-payload.length);
            ZMQ.Socket target = publisher;
            if (target != null && target.send(ControlFrameDescriptor.topicKey(topic), ZMQ.SNDMORE | ZMQ.DONTWAIT)) {
                target.send(frame, ZMQ.DONTWAIT);
            }
        });
    }

    @Override
    public Subscription subscribe(PeerAddress peer, String topic, EventListener listener) {
        ControlFrameDescriptor.requireName("topic", topic);
        EventSubscription subscription = new EventSubscription(
                topic, listener, handlerThreads, ended -> loop.post(() -> unsubscribe(peer.incarnation(), ended)));
        loop.post(() -> {
            if (!gone.contains(peer.incarnation()) && !closed) {
                eventClients
                        .computeIfAbsent(
                                peer.incarnation(),
                                id -> new EventClient(loop, connector, peer, checkIncarnation, here(peer, EVENTS)))
                        .add(subscription);
            }
        });
        return subscription;
    }

    private void unsubscribe(UUID peer, EventSubscription subscription) {
        EventClient client = eventClients.get(peer);
        if (client != null && client.remove(subscription)) {
            eventClients.remove(peer);
            client.close();
        }
    }

    /** Ends everything with that life of a peer; it is in the list of the gone already. */
    public void peerGone(UUID incarnation) {
        loop.post(() -> {
            RequestClient requests = requestClients.remove(incarnation);
            if (requests != null) {
                requests.close("declared gone");
            }
            EventClient events = eventClients.remove(incarnation);
            if (events != null) {
                events.close();
            }
            accepted.forEach((channel, one) -> {
                if (one.peer.equals(incarnation)) {
                    hangUp(channel);
                }
            });
        });
    }

    /** JeroMQ polls the channel, so it is shut down rather than closed: JeroMQ reads the end and closes it itself. */
    private static void hangUp(SocketChannel channel) {
        try {
            channel.shutdownInput();
            channel.shutdownOutput();
        } catch (IOException e) {
            Quietly.close(channel);
        }
    }

    @Override
    public void close() {
        loop.post(() -> {
            closed = true;
            requestClients.values().forEach(client -> client.close("this engine closes"));
            requestClients.clear();
            eventClients.values().forEach(EventClient::close);
            eventClients.clear();
            router = null;
            publisher = null;
        });
        loop.close();
        handlerThreads.shutdownNow();
        workThreads.shutdownNow();
        connectThreads.shutdownNow();
        accepted.keySet().forEach(Quietly::close);
    }
}
