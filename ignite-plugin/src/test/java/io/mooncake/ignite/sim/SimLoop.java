// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.sim;

import io.mooncake.base.Waits;
import java.util.Comparator;
import java.util.PriorityQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;

/**
 * The one thread and the clock of a simulated cluster. What is due runs in the order of its time, and of its coming. Who waits runs what is due meanwhile, on top of its own
 * frames: so it goes on late where that waits longer, as a thread that got no processor.
 */
final class SimLoop {
    /** Who waits within so many who wait lets only those run that don't. */
    private static final int MAX_DEPTH = 10;

    private static final long LATER_NANOS = 1_000_000;

    private final PriorityQueue<Task> tasks =
            new PriorityQueue<>(Comparator.comparingLong(Task::at).thenComparingLong(Task::number));
    private long now;
    private long numbers;
    private int depth;
    private long trace = 17;

    /** @param waits whether it may wait */
    private record Task(long at, long number, @Nullable Life life, boolean waits, Runnable work) {}

    /** A process that runs, stands still, or is dead. */
    static final class Life {
        private final long seed;
        private boolean dead;
        private long pausedUntil;

        Life(long seed) {
            this.seed = seed;
        }

        boolean dead() {
            return dead;
        }

        void kill() {
            dead = true;
        }

        boolean pausedAt(long nanos) {
            return pausedUntil > nanos;
        }

        void pauseUntil(long nanos) {
            pausedUntil = nanos;
        }
    }

    /** Ends the frames of a process that was killed while it waited. */
    static final class Killed extends Error {
        private static final long serialVersionUID = 1;

        Killed() {
            super("killed", null, false, false);
        }
    }

    long now() {
        return now;
    }

    /** Hash of all that ran so far, and of what was noted. */
    long trace() {
        return trace;
    }

    void note(long value) {
        trace = (trace ^ value) * 0x9E37_79B9_7F4A_7C15L;
        trace ^= trace >>> 29;
    }

    /** @param life whose work it is: it runs while that does; null: nobody's */
    void after(long nanos, @Nullable Life life, boolean waits, Runnable work) {
        tasks.add(new Task(now + nanos, numbers++, life, waits, work));
    }

    /** Time goes on to {@code until}, and what is due on the way runs. */
    void runUntil(long until) {
        while (step(until)) {}
    }

    /** Runs what is due next, by {@code until}; @return whether there was something, else it is {@code until} now */
    private boolean step(long until) {
        Task task = tasks.peek();
        if (task == null || task.at() > until) {
            now = Math.max(now, until);
            return false;
        }
        tasks.remove();
        now = Math.max(now, task.at());
        Life life = task.life();
        if (life != null && life.dead) {
            return true;
        }
        if (life != null && life.pausedUntil > now) {
            tasks.add(new Task(life.pausedUntil, task.number(), life, task.waits(), task.work()));
            return true;
        }
        if (task.waits() && depth >= MAX_DEPTH) {
            tasks.add(new Task(now + LATER_NANOS, task.number(), life, true, task.work()));
            return true;
        }
        note(now ^ task.number() << 40 ^ (life == null ? 0 : life.seed));
        try {
            task.work().run();
        } catch (Killed e) {
            // Its frames are gone.
        }
        return true;
    }

    private void letRun(Life life, long until) {
        if (life.dead) {
            throw new Killed();
        }
        depth++;
        try {
            if (!step(until)) {
                return;
            }
        } finally {
            depth--;
        }
        if (life.dead) {
            throw new Killed();
        }
    }

    /** How a process waits. */
    Waits waits(Life life) {
        return new Waits() {
            @Override
            public long nanoTime() {
                return now;
            }

            @Override
            public <T> T await(CompletableFuture<T> future, long nanos)
                    throws InterruptedException, ExecutionException, TimeoutException {
                long until = now + nanos;
                while (!future.isDone() && now < until || life.pausedUntil > now) {
                    letRun(life, Math.max(until, life.pausedUntil));
                }
                if (!future.isDone()) {
                    throw new TimeoutException();
                }
                return future.get();
            }

            @Override
            public void pause(long nanos) {
                long until = now + nanos;
                while (now < until || life.pausedUntil > now) {
                    letRun(life, Math.max(until, life.pausedUntil));
                }
            }
        };
    }
}
