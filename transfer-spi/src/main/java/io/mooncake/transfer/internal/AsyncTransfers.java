// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.internal;

import io.mooncake.base.Deadline;
import io.mooncake.base.MooncakeException;
import io.mooncake.transfer.TransferStatus;
import io.mooncake.transfer.TransferTicket;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReferenceArray;
import org.jspecify.annotations.Nullable;

/**
 * Runs batches behind tickets. A ticket is cut into parts, each of which one thread drives as a synchronous call does; parts wait in a
 * bounded queue, where their deadlines run.
 */
public final class AsyncTransfers implements AutoCloseable {
    /** Parts that run at a time. */
    static final int THREADS = 32;

    /** Parts that wait. */
    public static final int MAX_WAITING = 4096;

    private final ThreadPoolExecutor threads;

    public AsyncTransfers() {
        threads = new ThreadPoolExecutor(
                THREADS, THREADS, 5, TimeUnit.SECONDS, new LinkedBlockingQueue<>(MAX_WAITING), task -> {
                    Thread thread = new Thread(task, "mooncake-async");
                    thread.setDaemon(true);
                    return thread;
                });
        threads.allowCoreThreadTimeOut(true);
    }

    /**
     * Requests of a ticket that share peer, direction and deadline.
     *
     * @param indexes where they are in the ticket
     * @param batch what runs, and what cancelling ends
     * @param run drives the batch to its end; returns a status for each of {@code indexes}
     */
    public record Part(int[] indexes, TransferBatch batch, java.util.function.Supplier<TransferStatus[]> run) {}

    /** Starts {@code parts}, which together have {@code size} requests. */
    public TransferTicket start(int size, List<Part> parts) {
        Ticket ticket = new Ticket(size, parts);
        if (parts.isEmpty()) {
            ticket.completion.complete(new TransferStatus[0]);
        }
        for (Part part : parts) {
            try {
                threads.execute(() -> ticket.run(part));
            } catch (java.util.concurrent.RejectedExecutionException e) {
                ticket.end(part, filled(part, TransferStatus.CANCELED));
            }
        }
        return ticket;
    }

    /** Throws when {@code parts} more can't wait. */
    public void requireRoom(int parts) {
        int waiting = threads.getQueue().size();
        if (waiting + parts > MAX_WAITING) {
            throw new MooncakeException(
                    MooncakeException.Code.EXHAUSTED,
                    "asynchronous transfers: " + waiting + " wait (expected: room for " + parts + " below "
                            + MAX_WAITING + ")");
        }
    }

    private static TransferStatus[] filled(Part part, TransferStatus status) {
        TransferStatus[] statuses = new TransferStatus[part.indexes.length];
        Arrays.fill(statuses, status);
        return statuses;
    }

    /** What waits is cancelled; what runs ends with its transport, which is closed next. */
    @Override
    public void close() {
        threads.shutdown();
        threads.getQueue().forEach(waiting -> {
            if (threads.remove(waiting)) {
                waiting.run();
            }
        });
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
