// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.control;

import io.mooncake.transfer.internal.Quietly;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.Pipe;
import java.nio.channels.SocketChannel;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.LongAdder;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.zeromq.SocketType;
import org.zeromq.ZContext;
import org.zeromq.ZMQ;
import zmq.Msg;

/**
 * The one thread that owns all JeroMQ sockets of an engine, which are not thread-safe. Others hand it tasks; a pipe wakes it.
 *
 * <p>{@code signalled} is set by whoever adds a task and cleared by the loop before it empties the queue, so that at most one byte is in
 * the pipe and no task is left behind. Whatever a task, a message or a turn throws is counted and costs that one only.
 */
final class ControlLoop implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(ControlLoop.class);
    private static final int MAX_POLL_MILLIS = 1000;
    private static final int MAX_MESSAGES_A_TURN = 256;
    private static final long JOIN_MILLIS = 5000;
    private static final long FAILURE_PAUSE_NANOS = 10_000_000L;
    private static final long LOG_PAUSE_NANOS = 1_000_000_000L;

    /** What lives on the loop. */
    interface Actor {
        /** Does what is due and says in how many milliseconds it wants to be asked again. */
        long turn(long nowNanos);
    }

    /** Takes the messages of a socket. */
    interface Receiver {
        /** Called with the first part; reads the others itself. */
        void receive(ZMQ.Socket socket, byte[] firstPart);
    }

    private record Polled(ZMQ.Socket socket, Receiver receiver) {}

    private final ZContext context = new ZContext(1);
    private final ConcurrentLinkedQueue<Runnable> tasks = new ConcurrentLinkedQueue<>();
    private final AtomicBoolean signalled = new AtomicBoolean();
    private final Pipe wakeup;
    private final Thread thread;
    private final LongAdder failures = new LongAdder();
    private volatile boolean closed;

    // Owned by the loop's thread.
    private final List<Polled> polled = new ArrayList<>();
    private final List<Actor> actors = new ArrayList<>();
    private boolean changed = true;
    private long loggedAtNanos = System.nanoTime() - LOG_PAUSE_NANOS;

    ControlLoop(String name, int maxSockets) throws IOException {
        ZmqAttachment.requireAvailable();
        context.getContext().setMaxSockets(maxSockets);
        wakeup = Pipe.open();
        wakeup.source().configureBlocking(false);
        wakeup.sink().configureBlocking(false);
        context.setLinger(0);
        context.setNotificationExceptionHandler((where, e) -> LOG.warn("JeroMQ: {}", e.toString()));
        thread = new Thread(this::run, name);
        thread.setDaemon(true);
        thread.start();
    }

    /** Runs {@code task} on the loop; false when it has ended. */
    boolean post(Runnable task) {
        if (closed) {
            return false;
        }
        tasks.add(task);
        if (closed) {
            // The loop may have emptied its queue for the last time.
            return !tasks.remove(task);
        }
        if (signalled.compareAndSet(false, true)) {
            try {
                wakeup.sink().write(ByteBuffer.allocate(1));
            } catch (IOException e) {
                return false;
            }
        }
        return true;
    }

    /**
     * Opens a socket that is polled. Loop only.
     *
     * @param disconnected hears, on the loop, of each attached channel that has ended
     */
    ZMQ.Socket open(SocketType type, int highWaterMark, Receiver receiver, Consumer<SocketChannel> disconnected) {
        ZMQ.Socket socket = context.createSocket(type);
        socket.setLinger(0);
        socket.setHWM(highWaterMark);
        socket.setMaxMsgSize(ControlFrameDescriptor.MAX_FRAME_BYTES);
        socket.setMsgAllocator(ControlLoop::allocate);
        socket.setEventHook(
                event -> {
                    Object channel = event.getValue();
                    if (channel instanceof SocketChannel ended) {
                        post(() -> disconnected.accept(ended));
                    }
                },
                ZMQ.EVENT_DISCONNECTED);
        polled.add(new Polled(socket, receiver));
        changed = true;
        return socket;
    }

    /**
     * Memory for a message. Release 0.6.0 takes a length with the highest bit set for one within the limit, and whatever is thrown here leaves
     * its only I/O thread in a loop without end. So a length that can't be becomes an empty message, which is no frame.
     */
    private static Msg allocate(int bytes) {
        return new Msg(bytes < 0 || bytes > ControlFrameDescriptor.MAX_FRAME_BYTES ? 0 : bytes);
    }

    /** Closes a socket. Loop only. */
    void close(ZMQ.Socket socket) {
        polled.removeIf(one -> one.socket == socket);
        changed = true;
        context.destroySocket(socket);
    }

    void add(Actor actor) {
        actors.add(actor);
    }

    void remove(Actor actor) {
        actors.remove(actor);
    }

    private void run() {
        ZMQ.Poller poller = null;
        try {
            while (!closed) {
                try {
                    // First: it may close sockets.
                    long pause = pause();
                    if (changed || poller == null) {
                        if (poller != null) {
                            poller.close();
                        }
                        poller = poller();
                    }
                    poller.poll(pause);
                    drainWakeup(poller.pollin(0));
                    runTasks();
                    if (!changed) {
                        receive(poller);
                    }
                } catch (RuntimeException | IOException | Error e) {
                    // Whatever it was, other peers still have their sockets: with a new poller, after a rest.
                    failed("A turn of the control loop", e);
                    changed = true;
                    LockSupport.parkNanos(FAILURE_PAUSE_NANOS);
                }
            }
        } finally {
            closed = true;
            runTasks();
            if (poller != null) {
                poller.close();
            }
            context.close();
            Quietly.close(wakeup.sink());
            Quietly.close(wakeup.source());
        }
    }

    private ZMQ.Poller poller() {
        ZMQ.Poller poller = context.createPoller(polled.size() + 1);
        poller.register(wakeup.source(), ZMQ.Poller.POLLIN);
        for (Polled one : polled) {
            poller.register(one.socket, ZMQ.Poller.POLLIN);
        }
        changed = false;
        return poller;
    }

    private long pause() {
        long pause = MAX_POLL_MILLIS;
        long now = System.nanoTime();
        for (Actor actor : List.copyOf(actors)) {
            try {
                pause = Math.min(pause, actor.turn(now));
            } catch (RuntimeException | Error e) {
                failed("A client's turn", e);
            }
        }
        return tasks.isEmpty() && !changed ? Math.max(0, pause) : 0;
    }

    /** A byte may also come after its task was done: who added it sets the signal first. */
    private void drainWakeup(boolean readable) throws IOException {
        if (readable || signalled.get()) {
            ByteBuffer sink = ByteBuffer.allocate(16);
            while (wakeup.source().read(sink) > 0) {
                sink.clear();
            }
            signalled.set(false);
        }
    }

    private void runTasks() {
        Runnable task = tasks.poll();
        while (task != null) {
            try {
                task.run();
            } catch (RuntimeException | Error e) {
                failed("A control task", e);
            }
            task = tasks.poll();
        }
    }

    private void receive(ZMQ.Poller poller) {
        for (int i = 0; i < polled.size() && !changed; i++) {
            Polled one = polled.get(i);
            if (!poller.pollin(i + 1)) {
                continue;
            }
            for (int n = 0; n < MAX_MESSAGES_A_TURN && !changed; n++) {
                byte[] first = one.socket.recv(ZMQ.DONTWAIT);
                if (first == null) {
                    break;
                }
                try {
                    one.receiver.receive(one.socket, first);
                } catch (RuntimeException | Error e) {
                    failed("A control message", e);
                }
            }
        }
    }

    /** Counts, and logs at most one a second. Loop only. */
    void failed(String what, Throwable e) {
        failures.increment();
        long now = System.nanoTime();
        if (now - loggedAtNanos >= LOG_PAUSE_NANOS) {
            loggedAtNanos = now;
            LOG.warn("{} failed ({} so far)", what, failures.sum(), e);
        }
    }

    /** Failures that cost nothing else. */
    long failures() {
        return failures.sum();
    }

    /** Reads what is left of a message and returns its last part, or null when there is none. */
    static byte @Nullable [] lastPart(ZMQ.Socket socket) {
        byte[] last = null;
        while (socket.hasReceiveMore()) {
            last = socket.recv(ZMQ.DONTWAIT);
        }
        return last;
    }

    @Override
    public void close() {
        post(() -> closed = true);
        try {
            thread.join(JOIN_MILLIS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
