// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.feed;

import java.time.Duration;
import java.util.Comparator;
import java.util.PriorityQueue;
import java.util.concurrent.atomic.AtomicLong;

/** A feed's thread that is the test's, by the test's clock: what is due runs in the order of its time, and in that of its coming. */
public final class ManualThread implements FeedThread {
    private record Task(long at, long number, Runnable work) {}

    private final AtomicLong now;
    private final PriorityQueue<Task> tasks =
            new PriorityQueue<>(Comparator.comparingLong(Task::at).thenComparingLong(Task::number));
    private long number;
    private boolean closed;

    public ManualThread(AtomicLong nanoClock) {
        now = nanoClock;
    }

    @Override
    public void execute(Runnable work) {
        at(now.get(), work);
    }

    @Override
    public void after(Duration delay, Runnable work) {
        at(now.get() + delay.toNanos(), work);
    }

    @Override
    public void every(Duration interval, Runnable work) {
        after(interval, () -> {
            work.run();
            every(interval, work);
        });
    }

    private void at(long at, Runnable work) {
        if (!closed) {
            tasks.add(new Task(at, number++, work));
        }
    }

    /** Time goes on to {@code nanos}, and all that is due on the way runs. */
    public void runUntil(long nanos) {
        while (!tasks.isEmpty() && tasks.peek().at() <= nanos) {
            Task task = tasks.remove();
            now.set(Math.max(now.get(), task.at()));
            task.work().run();
        }
        now.set(nanos);
    }

    @Override
    public void close() {
        closed = true;
        tasks.clear();
    }
}
