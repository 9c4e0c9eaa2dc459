// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.sim;

import java.util.List;
import java.util.concurrent.AbstractExecutorService;
import java.util.concurrent.Callable;
import java.util.concurrent.Delayed;
import java.util.concurrent.FutureTask;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;

/** A process's timers on the loop; what they run never waits. */
final class SimTimer extends AbstractExecutorService implements ScheduledExecutorService {
    private final SimLoop loop;
    private final SimLoop.Life life;
    private boolean shut;

    SimTimer(SimLoop loop, SimLoop.Life life) {
        this.loop = loop;
        this.life = life;
    }

    private final class Timer<V> extends FutureTask<V> implements ScheduledFuture<V> {
        private final long everyNanos;

        Timer(Callable<V> work, long everyNanos) {
            super(work);
            this.everyNanos = everyNanos;
        }

        @Override
        public void run() {
            if (shut) {
                cancel(false);
            } else if (everyNanos == 0) {
                super.run();
            } else if (runAndReset()) {
                loop.after(everyNanos, life, false, this);
            }
        }

        @Override
        public long getDelay(TimeUnit unit) {
            throw new UnsupportedOperationException();
        }

        @Override
        public int compareTo(Delayed other) {
            throw new UnsupportedOperationException();
        }
    }

    private <V> Timer<V> start(Callable<V> work, long delay, long every, TimeUnit unit) {
        Timer<V> timer = new Timer<>(work, unit.toNanos(every));
        loop.after(unit.toNanos(delay), life, false, timer);
        return timer;
    }

    @Override
    public ScheduledFuture<?> schedule(Runnable work, long delay, TimeUnit unit) {
        return start(java.util.concurrent.Executors.callable(work), delay, 0, unit);
    }

    @Override
    public <V> ScheduledFuture<V> schedule(Callable<V> work, long delay, TimeUnit unit) {
        return start(work, delay, 0, unit);
    }

    @Override
    public ScheduledFuture<?> scheduleAtFixedRate(Runnable work, long delay, long every, TimeUnit unit) {
        return start(java.util.concurrent.Executors.callable(work), delay, every, unit);
    }

    @Override
    public ScheduledFuture<?> scheduleWithFixedDelay(Runnable work, long delay, long every, TimeUnit unit) {
        return start(java.util.concurrent.Executors.callable(work), delay, every, unit);
    }

    @Override
    public void execute(Runnable work) {
        loop.after(0, life, false, work);
    }

    @Override
    public void shutdown() {
        shut = true;
    }

    @Override
    public List<Runnable> shutdownNow() {
        shut = true;
        return List.of();
    }

    @Override
    public boolean isShutdown() {
        return shut;
    }

    @Override
    public boolean isTerminated() {
        return shut;
    }

    @Override
    public boolean awaitTermination(long timeout, TimeUnit unit) {
        return shut;
    }
}
