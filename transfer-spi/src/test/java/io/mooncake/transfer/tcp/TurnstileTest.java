// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.tcp;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Peers take turns, whatever the others do inside. */
final class TurnstileTest {
    private final AtomicBoolean stop = new AtomicBoolean();
    private final List<Thread> threads = new ArrayList<>();

    @AfterEach
    void end() throws InterruptedException {
        stop.set(true);
        for (Thread thread : threads) {
            thread.join(20_000);
            assertThat(thread.isAlive()).isFalse();
        }
    }

    private void start(Runnable work) {
        Thread thread = new Thread(work);
        thread.setDaemon(true);
        threads.add(thread);
        thread.start();
    }

    /** Goes through again and again; counts the bytes. */
    private void visit(Turnstile turnstile, UUID peer, int bytes, long insideNanos, AtomicLong moved) {
        start(() -> {
            try (Turnstile.Visitor visitor = turnstile.visitor(peer)) {
                while (!stop.get()) {
                    visitor.enter(bytes);
                    LockSupport.parkNanos(insideNanos);
                    moved.addAndGet(bytes);
                    visitor.leave();
                }
            }
        });
    }

    @Test
    void enter_fewerThanPlaces_neverExceedsThem() throws InterruptedException {
        Turnstile turnstile = new Turnstile(4);
        AtomicInteger inside = new AtomicInteger();
        AtomicInteger most = new AtomicInteger();
        CountDownLatch done = new CountDownLatch(8);
        for (int i = 0; i < 8; i++) {
            UUID peer = new UUID(0, i % 3);
            start(() -> {
                try (Turnstile.Visitor visitor = turnstile.visitor(peer)) {
                    for (int n = 0; n < 2000; n++) {
                        visitor.enter(1000);
                        most.accumulateAndGet(inside.incrementAndGet(), Math::max);
                        inside.decrementAndGet();
                        visitor.leave();
                    }
                }
                done.countDown();
            });
        }
        done.await();
        // A visitor that the scheduler stopped inside for longer than the patience no longer counts.
        assertThat(most.get()).isBetween(1, 8);
    }

    @Test
    void enter_manyConnectionsOfOnePeerAndOneOfAnother_bothGetTheirShare() throws InterruptedException {
        Turnstile turnstile = new Turnstile(1);
        AtomicLong greedy = new AtomicLong();
        AtomicLong good = new AtomicLong();
        for (int i = 0; i < 32; i++) {
            visit(turnstile, new UUID(0, 1), 1 << 20, 100_000, greedy);
        }
        visit(turnstile, new UUID(0, 2), 1 << 20, 100_000, good);
        double share = 0;
        // First come, first served would give the good one a thirty-third; a busy machine may keep it from its turns
        // for a while.
        for (int i = 0; i < 5 && share <= 0.2; i++) {
            long goods = good.get();
            long all = goods + greedy.get();
            Thread.sleep(2000);
            share = (double) (good.get() - goods) / Math.max(1, good.get() + greedy.get() - all);
        }
        stop.set(true);
        assertThat(share).isGreaterThan(0.2);
    }

    @Test
    void enter_allPlacesStall_othersWaitForThePatienceOnly() throws InterruptedException {
        Turnstile turnstile = new Turnstile(4);
        CountDownLatch stalled = new CountDownLatch(3);
        for (int i = 0; i < 16; i++) {
            start(() -> {
                try (Turnstile.Visitor visitor = turnstile.visitor(new UUID(0, 1))) {
                    visitor.enter(1 << 20);
                    stalled.countDown();
                    while (!stop.get()) {
                        LockSupport.parkNanos(1_000_000);
                    }
                    visitor.leave();
                }
            });
        }
        stalled.await();
        try (Turnstile.Visitor good = turnstile.visitor(new UUID(0, 2))) {
            long before = System.nanoTime();
            for (int i = 0; i < 20; i++) {
                good.enter(1 << 20);
                good.leave();
            }
            // All sixteen stall one after the other, in turn with us: at most that many patiences, and never for good.
            assertThat(System.nanoTime() - before).isLessThan(20_000_000_000L);
        }
    }

    @Test
    void enter_interrupted_keepsTheFlagAndItsTurn() throws InterruptedException {
        Turnstile turnstile = new Turnstile(1);
        AtomicBoolean flag = new AtomicBoolean();
        Turnstile.Visitor first = turnstile.visitor(new UUID(0, 1));
        first.enter(1);
        CountDownLatch through = new CountDownLatch(1);
        Thread second = new Thread(() -> {
            try (Turnstile.Visitor visitor = turnstile.visitor(new UUID(0, 2))) {
                Thread.currentThread().interrupt();
                visitor.enter(1);
                flag.set(Thread.currentThread().isInterrupted());
                visitor.leave();
            }
            through.countDown();
        });
        second.start();
        through.await();
        first.leave();
        first.close();
        assertThat(flag).isTrue();
    }
}
