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
import io.mooncake.transfer.tcp.Plane;
import java.io.IOException;
import java.nio.channels.SocketChannel;
import java.util.EnumMap;
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
import java.util.concurrent.atomic.LongAdder;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.zeromq.SocketType;
import org.zeromq.ZMQ;

/**
 * The control plane: a ROUTER that peers' DEALERs ask, a PULL that peers' PUSHes fill, and an XPUB that peers' SUBs listen to. The engine itself
 * reaches them by inproc endpoints.
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

    /** Notices that handlers have and have not finished: with so many nothing more is pulled until half of them are done. */
    private static final int MAX_WORK = 256;

    private static final UUID NOBODY = new UUID(0, 0);
    private static final String REQUESTS = "inproc://requests";
    private static final String WORK = "inproc://work";
    private static final String EVENTS = "inproc://events";
    private static final Logger LOG = LoggerFactory.getLogger(ZmqControlPlane.class);
    private static final long LOG_PAUSE_NANOS = 1_000_000_000L;

    private final UUID own;
    private final boolean checkIncarnation;
    private final GonePeers gone;
    private final ControlLoop loop;
    private final ThreadPoolExecutor handlerThreads;
    private final ThreadPoolExecutor connectThreads;
    private final Connector connector;
    private final Map<String, RequestHandler> handlers = new ConcurrentHashMap<>();
    private final Map<String, WorkHandler> workers = new ConcurrentHashMap<>();
    private final LongAdder lostWork = new LongAdder();
    private final AtomicLong lostLoggedNanos = new AtomicLong(System.nanoTime() - LOG_PAUSE_NANOS);
    private final AtomicLong correlations = new AtomicLong();
    private final AtomicLong publishBytes = new AtomicLong();
    private final Map<SocketChannel, Accepted> accepted = new ConcurrentHashMap<>();
    private volatile boolean closed;

    // Owned by the loop.
    private final Map<UUID, RequestClient> requestClients = new HashMap<>();
    private final Map<UUID, EventClient> eventClients = new HashMap<>();
    private final Map<UUID, WorkClient> workClients = new HashMap<>();
    private int workUnderWay;
    private ZMQ.@Nullable Socket router;
    private ZMQ.@Nullable Socket puller;
    private ZMQ.@Nullable Socket publisher;

    public ZmqControlPlane(PeerSockets sockets, UUID own, GonePeers gone, boolean checkIncarnation) {
        this.own = own;
        this.gone = gone;
        this.checkIncarnation = checkIncarnation;
        try {
            this.loop = new ControlLoop("mooncake-control");
        } catch (IOException e) {
            throw new MooncakeException(MooncakeException.Code.EXHAUSTED, "control plane: " + e, e);
        }
        this.handlerThreads = pool("mooncake-handler", HANDLER_THREADS, MAX_HANDLER_TASKS);
        // No queue: a peer that does not answer holds its own connects up, and nobody else's.
        this.connectThreads = new ThreadPoolExecutor(
                0, MAX_CONNECTS, 10, TimeUnit.SECONDS, new SynchronousQueue<>(), threads("mooncake-connect"));
        this.connector = new Connector(loop, sockets, gone, connectThreads);
        loop.post(() -> {
            router = loop.open(SocketType.ROUTER, HIGH_WATER_MARK, this::asked, accepted::remove);
            router.bind(REQUESTS);
            puller = loop.open(SocketType.PULL, WorkClient.HIGH_WATER_MARK, this::pulled, accepted::remove);
            puller.bind(WORK);
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

    private record Accepted(UUID peer, Plane plane) {}

    /** What takes the authenticated channels of a port, by the planes that it serves. */
    public Map<Plane, PeerAcceptor.Handler> served(Plane... planes) {
        Map<Plane, PeerAcceptor.Handler> handling = new EnumMap<>(Plane.class);
        for (Plane plane : planes) {
            handling.put(plane, handler(plane));
        }
        return handling;
    }

    private PeerAcceptor.Handler handler(Plane plane) {
        return new PeerAcceptor.Handler() {
            @Override
            public boolean admits(UUID peer) {
                return hasRoom(peer, plane);
            }

            @Override
            public void accepted(PeerChannel channel, UUID peer) {
                accept(channel, peer, plane);
            }
        };
    }

    private ZMQ.@Nullable Socket socket(Plane plane) {
        return switch (plane) {
            case CONTROL -> router;
            case WORK -> puller;
            case EVENT -> publisher;
            case DATA -> null;
        };
    }

    private boolean hasRoom(UUID peer, Plane plane) {
        Accepted one = new Accepted(peer, plane);
        // JeroMQ does not tell of those that end before their greeting.
        accepted.keySet().removeIf(channel -> !channel.isOpen());
        return accepted.values().stream().filter(one::equals).count() < MAX_CONNECTIONS;
    }

    private void accept(PeerChannel stream, UUID peer, Plane plane) {
        SocketChannel channel;
        try {
            channel = stream.handOver();
        } catch (IOException e) {
            Quietly.close(stream);
            return;
        }
        boolean posted = !gone.contains(peer)
                && loop.post(() -> {
                    ZMQ.Socket target = socket(plane);
                    try {
                        // Asked again: several may have been let in at once.
                        if (target == null || gone.contains(peer) || !hasRoom(peer, plane)) {
                            throw new IOException("not serving " + peer);
                        }
                        accepted.put(channel, new Accepted(peer, plane));
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
        if (frame == null || frame.type() != ControlFrameDescriptor.REQUEST || gone.contains(frame.sender())) {
            return;
        }
        if (checkIncarnation && !frame.target().equals(own)) {
            error(identity, frame, ControlFrameDescriptor.STALE, "this is " + own);
            return;
        }
        RequestHandler handler = handlers.get(frame.name());
        if (handler == null) {
            error(identity, frame, ControlFrameDescriptor.REFUSED, "no service " + frame.name());
            return;
        }
        try {
            handlerThreads.execute(() -> answer(identity, frame, handler));
        } catch (RejectedExecutionException e) {
            error(identity, frame, ControlFrameDescriptor.BUSY, "busy");
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
        ControlFrameDescriptor.requirePayload(payload);
        CompletableFuture<byte[]> reply = new CompletableFuture<>();
        long deadlineNanos = System.nanoTime() + deadline.remainingNanos();
        long correlation = correlations.incrementAndGet();
        byte[] frame = ControlFrameDescriptor.encode(new Frame(
                ControlFrameDescriptor.REQUEST,
                ControlFrameDescriptor.NONE,
                correlation,
                own,
                peer.incarnation(),
                service,
                payload));
        RequestClient.Pending pending = new RequestClient.Pending(correlation, frame, deadlineNanos, reply);
        boolean posted = loop.post(() -> {
            if (gone.contains(peer.incarnation()) || closed) {
                reply.completeExceptionally(unreachable(peer));
                return;
            }
            requestClients
                    .computeIfAbsent(
                            peer.incarnation(),
                            id -> new RequestClient(loop, connector, peer, checkIncarnation, here(peer, REQUESTS)))
                    .send(pending);
        });
        if (!posted) {
            reply.completeExceptionally(unreachable(peer));
        }
        return reply;
    }

    /** Where the engine itself is reached, or null for others. */
    private @Nullable String here(PeerAddress peer, String endpoint) {
        return peer.incarnation().equals(own) ? endpoint : null;
    }

    private static MooncakeException unreachable(PeerAddress peer) {
        return new MooncakeException(MooncakeException.Code.PEER_UNREACHABLE, peer.encode() + " is gone");
    }

    // ------------------------------------------------------------------------------------------------------- work

    @Override
    public void pull(String queue, WorkHandler handler) {
        ControlFrameDescriptor.requireName("queue", queue);
        if (workers.putIfAbsent(queue, handler) != null) {
            throw new MooncakeException(MooncakeException.Code.ILLEGAL_STATE, "queue " + queue + ": pulled already");
        }
    }

    @Override
    public CompletionStage<Void> push(PeerAddress peer, String queue, byte[] payload, Deadline deadline) {
        ControlFrameDescriptor.requireName("queue", queue);
        ControlFrameDescriptor.requirePayload(payload);
        CompletableFuture<Void> taken = new CompletableFuture<>();
        byte[] frame = ControlFrameDescriptor.encode(new Frame(
                ControlFrameDescriptor.WORK, ControlFrameDescriptor.NONE, 0, own, peer.incarnation(), queue, payload));
        WorkClient.Notice notice = new WorkClient.Notice(frame, System.nanoTime() + deadline.remainingNanos(), taken);
        boolean posted = loop.post(() -> {
            if (gone.contains(peer.incarnation()) || closed) {
                taken.completeExceptionally(unreachable(peer));
                return;
            }
            workClients
                    .computeIfAbsent(peer.incarnation(), id -> new WorkClient(loop, connector, peer, here(peer, WORK)))
                    .send(notice);
        });
        if (!posted) {
            taken.completeExceptionally(unreachable(peer));
        }
        return taken;
    }

    private void pulled(ZMQ.Socket from, byte[] first) {
        ControlLoop.lastPart(from);
        Frame frame = ControlFrameDescriptor.decode(first);
        if (frame == null || frame.type() != ControlFrameDescriptor.WORK || gone.contains(frame.sender())) {
            return;
        }
        WorkHandler handler = workers.get(frame.name());
        if (handler == null || (checkIncarnation && !frame.target().equals(own))) {
            lost(frame.name() + ": nobody pulls it", null);
            return;
        }
        if (++workUnderWay >= MAX_WORK) {
            loop.hold(from, true);
        }
        try {
            handlerThreads.execute(() -> work(frame, handler));
        } catch (RejectedExecutionException e) {
            finished();
            lost(frame.name() + ": too much waits", e);
        }
    }

    private void work(Frame frame, WorkHandler handler) {
        try {
            handler.handle(frame.sender(), frame.payload());
        } catch (RuntimeException e) {
            lost(frame.name(), e);
        } finally {
            loop.post(this::finished);
        }
    }

    private void finished() {
        workUnderWay--;
        ZMQ.Socket from = puller;
        if (from != null && workUnderWay <= MAX_WORK / 2) {
            loop.hold(from, false);
        }
    }

    /** Counts, and logs at most one a second. */
    private void lost(String why, @Nullable Exception e) {
        lostWork.increment();
        long last = lostLoggedNanos.get();
        long now = System.nanoTime();
        if (now - last >= LOG_PAUSE_NANOS && lostLoggedNanos.compareAndSet(last, now)) {
            LOG.warn("A work notice was lost: {} ({} so far)", why, lostWork.sum(), e);
        }
    }

    // ----------------------------------------------------------------------------------------------------- events

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
            WorkClient work = workClients.remove(incarnation);
            if (work != null) {
                work.close("declared gone");
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
            workClients.values().forEach(client -> client.close("this engine closes"));
            workClients.clear();
            router = null;
            puller = null;
            publisher = null;
        });
        loop.close();
        handlerThreads.shutdownNow();
        connectThreads.shutdownNow();
        accepted.keySet().forEach(Quietly::close);
    }
}
