// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory;

import io.mooncake.base.MooncakeException;
import io.mooncake.base.MooncakeException.Code;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The one order of a pool's events. They are appended under the pool's change lock, so in the order in which the index changed, and
 * delivered by {@link #drain()} outside of every lock: the thread that finds nobody delivering delivers for all, until nothing is left.
 *
 * <p>Threading: append under the change lock; drain by any thread that holds no lock.
 */
final class BlockEvents {
    private static final Logger LOG = LoggerFactory.getLogger(BlockEvents.class);

    private final CopyOnWriteArrayList<BlockListener> listeners = new CopyOnWriteArrayList<>();
    private final ConcurrentLinkedQueue<Runnable> queue = new ConcurrentLinkedQueue<>();
    /** Calls of drain that are not yet accounted for; who raises it from zero delivers. */
    private final AtomicInteger pending = new AtomicInteger();

    private final LongAdder errors = new LongAdder();
    private volatile @Nullable Thread deliverer;

    void add(BlockListener listener) {
        listeners.add(listener);
    }

    void remove(BlockListener listener) {
        listeners.remove(listener);
    }

    /** Whether anybody listens; nobody needs an event built otherwise. */
    boolean wanted() {
        return !listeners.isEmpty();
    }

    long errors() {
        return errors.sum();
    }

    void append(Consumer<BlockListener> event) {
        queue.add(() -> {
            for (BlockListener listener : listeners) {
                try {
                    event.accept(listener);
                } catch (Throwable e) {
                    // Whatever one listener throws, errors included: the others, and the events behind, must not wait
                    // for ever.
                    errors.increment();
                    if (errors.sum() == 1) {
                        LOG.warn("A block listener threw; further ones are counted only", e);
                    }
                }
            }
        });
    }

    /** Appends {@code task} in the order of events; what is returned waits for its end and passes on what it threw. */
    Runnable appendTask(Runnable task) {
        if (deliverer == Thread.currentThread()) {
            throw new MooncakeException(Code.ILLEGAL_STATE, "snapshot: asked by a listener (expected: another thread)");
        }
        FutureTask<Void> future = new FutureTask<>(task, null);
        queue.add(future);
        return () -> await(future);
    }

    private static void await(FutureTask<Void> future) {
        boolean interrupted = false;
        try {
            while (true) {
                try {
                    future.get();
                    return;
                } catch (InterruptedException e) {
                    interrupted = true;
                } catch (ExecutionException e) {
                    if (e.getCause() instanceof RuntimeException thrown) {
                        throw thrown;
                    }
                    throw new MooncakeException(Code.INTERNAL, "snapshot: " + e.getCause(), e.getCause());
                }
            }
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    void drain() {
        if (queue.isEmpty() || pending.getAndIncrement() != 0) {
            return;
        }
        int seen = 1;
        do {
            deliverer = Thread.currentThread();
            for (Runnable event = queue.poll(); event != null; event = queue.poll()) {
                event.run();
            }
            deliverer = null;
            seen = pending.addAndGet(-seen);
        } while (seen != 0);
    }
}
