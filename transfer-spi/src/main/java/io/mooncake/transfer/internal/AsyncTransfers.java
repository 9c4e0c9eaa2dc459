// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.internal;

import io.mooncake.base.Deadline;
import io.mooncake.base.MooncakeException;
import io.mooncake.transfer.PeerQueue;
import io.mooncake.transfer.TransferStatus;
import io.mooncake.transfer.TransferTicket;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReferenceArray;
import org.jspecify.annotations.Nullable;

/**
 * Runs batches behind tickets. A ticket is cut into parts, each of which one thread drives as a synchronous call does; parts wait in a
 * bounded queue of their peer, where their deadlines run.
 *
 * <p>Peers take turns: a peer has at most {@link #THREADS_A_PEER} threads, and one that has parts waiting gives its thread to the next peer
 * that waits after each. So a peer whose parts last until their deadlines keeps nobody else's waiting, unless dozens of such peers do.
 *
 * <p>A {@link Lane} stands once in {@code ready} for each of its turns that no thread has. All of its state is guarded by this.
 */
public final class AsyncTransfers implements AutoCloseable {
    /** Parts that run at a time. */
    static final int THREADS = 256;

    /** Parts of one peer that run at a time. */
    static final int THREADS_A_PEER = 8;

    /** Parts that wait, of one peer. */
    public static final int MAX_WAITING = 4096;

    /** Parts that wait, of all peers. */
    private static final int MAX_WAITING_IN_ALL = 16 * MAX_WAITING;

    private final ThreadPoolExecutor threads;
    // Guarded by this.
    private final Map<UUID, Lane> lanes = new HashMap<>();
    private final ArrayDeque<Lane> ready = new ArrayDeque<>();
    private int working;
    private int waiting;
    private boolean closed;

    /** What one peer has to do. */
    private static final class Lane {
        final UUID peer;
        final ArrayDeque<Runnable> parts = new ArrayDeque<>();
        int turns;

        Lane(UUID peer) {
            this.peer = peer;
        }
    }

    public AsyncTransfers() {
        threads = new ThreadPoolExecutor(0, Integer.MAX_VALUE, 5, TimeUnit.SECONDS, new SynchronousQueue<>(), task -> {
            Thread thread = new Thread(task, "mooncake-async");
            thread.setDaemon(true);
            return thread;
        });
    }

    /**
     * Requests of a ticket that share peer, direction and deadline.
     *
     * @param peer whose turn it takes
     * @param indexes where they are in the ticket
     * @param batch what runs, and what cancelling ends
     * @param run drives the batch to its end; returns a status for each of {@code indexes}
     */
    public record Part(
            UUID peer, int[] indexes, TransferBatch batch, java.util.function.Supplier<TransferStatus[]> run) {}

    /**
     * Starts {@code parts}, which together have {@code size} requests.
     *
     * @throws MooncakeException EXHAUSTED when they can't wait
     */
    public TransferTicket start(int size, List<Part> parts) {
        Ticket ticket = new Ticket(size, parts);
        if (parts.isEmpty()) {
            ticket.completion.complete(new TransferStatus[0]);
        }
        synchronized (this) {
            requireRoom(parts);
            for (Part part : parts) {
                if (closed || !add(part.peer, () -> ticket.run(part))) {
                    ticket.end(part, filled(part, TransferStatus.CANCELED));
                }
            }
        }
        return ticket;
    }

    /** Throws when {@code parts} can't wait. */
    private void requireRoom(List<Part> parts) {
        int most = waiting + parts.size() > MAX_WAITING_IN_ALL ? waiting : 0;
        Map<UUID, Integer> more = new HashMap<>();
        for (Part part : parts) {
            Lane lane = lanes.get(part.peer);
            int own = lane == null ? 0 : lane.parts.size();
            most = own + more.merge(part.peer, 1, Integer::sum) > MAX_WAITING ? Math.max(most, own) : most;
        }
        if (most > 0) {
            throw new MooncakeException(
                    MooncakeException.Code.EXHAUSTED,
                    "asynchronous transfers: " + most + " wait (expected: room for " + parts.size() + " below "
                            + MAX_WAITING + " a peer, " + MAX_WAITING_IN_ALL + " in all)");
        }
    }

    /** False when there is no thread for it, and none to come. */
    private boolean add(UUID peer, Runnable part) {
        Lane lane = lanes.computeIfAbsent(peer, Lane::new);
        if (lane.turns == THREADS_A_PEER) {
            return enqueue(lane, part);
        }
        if (working == THREADS) {
            lane.turns++;
            ready.add(lane);
            return enqueue(lane, part);
        }
        try {
            threads.execute(() -> work(lane));
        } catch (OutOfMemoryError | RejectedExecutionException e) {
            // No room for a thread: who has one does it.
            if (lane.turns == 0) {
                lanes.remove(peer);
                return false;
            }
            return enqueue(lane, part);
        }
        lane.turns++;
        working++;
        return enqueue(lane, part);
    }

    private boolean enqueue(Lane lane, Runnable part) {
        lane.parts.add(part);
        waiting++;
        return true;
    }

    private void work(Lane first) {
        Lane lane = first;
        while (lane != null) {
            Runnable part = take(lane);
            boolean sound = false;
            try {
                if (part != null) {
                    part.run();
                }
                sound = true;
            } finally {
                if (!sound) {
                    // An error of this JVM ends the thread; what waits goes on with another, or with the next that is
                    // started.
                    lost(lane);
                }
            }
            lane = next(lane);
        }
    }

    private synchronized @Nullable Runnable take(Lane lane) {
        Runnable part = lane.parts.poll();
        if (part != null) {
            waiting--;
        }
        return part;
    }

    /** Ends a turn; the lane that this thread serves next, or null when it is to end. */
    private synchronized @Nullable Lane next(Lane done) {
        if (done.parts.isEmpty()) {
            endTurn(done);
        } else {
            ready.add(done);
        }
        Lane next = ready.poll();
        if (next == null) {
            working--;
        }
        return next;
    }

    private void endTurn(Lane lane) {
        if (--lane.turns == 0) {
            lanes.remove(lane.peer, lane);
        }
    }

    private synchronized void lost(Lane lane) {
        Lane next = next(lane);
        if (next != null) {
            try {
                threads.execute(() -> work(next));
            } catch (OutOfMemoryError | RejectedExecutionException e) {
                working--;
                ready.addFirst(next);
            }
        }
    }

    /** What each peer has to do now; a peer with nothing to do is not among them. */
    public synchronized List<PeerQueue> queues() {
        List<PeerQueue> queues = new ArrayList<>(lanes.size());
        for (Lane lane : lanes.values()) {
            queues.add(new PeerQueue(lane.peer, lane.turns, lane.parts.size()));
        }
        return queues;
    }

    private static TransferStatus[] filled(Part part, TransferStatus status) {
        TransferStatus[] statuses = new TransferStatus[part.indexes.length];
        Arrays.fill(statuses, status);
        return statuses;
    }

    /** What waits is cancelled; what runs ends with its transport, which is closed next. */
    @Override
    public void close() {
        List<Runnable> left = new ArrayList<>();
        synchronized (this) {
            closed = true;
            lanes.values().forEach(lane -> {
                left.addAll(lane.parts);
                lane.parts.clear();
            });
            waiting = 0;
        }
        threads.shutdown();
        // The engine is closed: each finds that out at once.
        left.forEach(Runnable::run);
    }

    private static final class Ticket implements TransferTicket {
        private final AtomicReferenceArray<@Nullable TransferStatus> statuses;
        private final List<Part> parts;
        private final AtomicInteger open;
        private final CompletableFuture<TransferStatus[]> completion = new CompletableFuture<>();
        private volatile boolean canceled;

        Ticket(int size, List<Part> parts) {
            this.statuses = new AtomicReferenceArray<>(size);
            this.parts = parts;
            this.open = new AtomicInteger(parts.size());
        }

        void run(Part part) {
            TransferStatus[] ended = filled(part, TransferStatus.CANCELED);
            try {
                if (!canceled) {
                    ended = part.run.get();
                }
            } catch (RuntimeException e) {
                // The engine was closed, or the memory is not registered any more: nothing was moved.
                return;
            } finally {
                // After an error of this JVM too: nobody waits for a thread that has gone.
                end(part, ended);
            }
        }

        void end(Part part, TransferStatus[] ended) {
            for (int i = 0; i < ended.length; i++) {
                statuses.set(part.indexes[i], ended[i]);
            }
            if (open.decrementAndGet() == 0) {
                TransferStatus[] all = new TransferStatus[statuses.length()];
                for (int i = 0; i < all.length; i++) {
                    TransferStatus status = statuses.get(i);
                    all[i] = status == null ? TransferStatus.CANCELED : status;
                }
                completion.complete(all);
            }
        }

        @Override
        public int size() {
            return statuses.length();
        }

        @Override
        public Optional<TransferStatus> poll(int index) {
            return Optional.ofNullable(statuses.get(index));
        }

        @Override
        public boolean done() {
            return completion.isDone();
        }

        @Override
        public CompletionStage<TransferStatus[]> completion() {
            return completion.minimalCompletionStage();
        }

        @Override
        public Optional<TransferStatus[]> await(Deadline deadline) {
            try {
                return Optional.of(completion
                        .get(deadline.remainingNanos(), TimeUnit.NANOSECONDS)
                        .clone());
            } catch (TimeoutException e) {
                return Optional.empty();
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                return Optional.empty();
            } catch (ExecutionException e) {
                throw new IllegalStateException("a ticket completes with statuses only", e);
            }
        }

        @Override
        public void cancel() {
            canceled = true;
            for (Part part : parts) {
                part.batch.abort(TransferStatus.CANCELED);
            }
        }
    }
}
