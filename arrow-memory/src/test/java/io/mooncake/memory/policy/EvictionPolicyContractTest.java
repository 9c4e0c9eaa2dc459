// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory.policy;

import static org.assertj.core.api.Assertions.assertThat;

import io.mooncake.memory.Seeds;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.LongSupplier;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** What holds of every policy. */
final class EvictionPolicyContractTest {
    /** A policy to test, by name. */
    record Subject(String name, Maker maker) {
        @Override
        public String toString() {
            return name;
        }
    }

    interface Maker {
        EvictionPolicy make(int slots, LongSupplier clock);
    }

    static Stream<Subject> policies() {
        return Policies.names().stream()
                .map(name -> new Subject(name, (slots, clock) -> Policies.byName(name, slots, clock)));
    }

    private static long[] chain(SplittableRandom random) {
        long[] chain = new long[1 + random.nextInt(6)];
        long block = 0;
        for (int i = 0; i < chain.length; i++) {
            block = block * 5 + 1 + random.nextInt(random.nextBoolean() ? 1 : 4);
            chain[i] = block;
        }
        return chain;
    }

    /** Random work of one thread; the slots evicted, in order. ModelPool checks each eviction. */
    private static List<Integer> work(Subject subject, long seed, int steps) {
        SplittableRandom random = new SplittableRandom(seed);
        ManualClock clock = new ManualClock();
        int blocks = 1 + random.nextInt(24);
        ModelPool pool = new ModelPool(subject.maker.make(blocks, clock), blocks);
        List<List<Integer>> leases = new ArrayList<>();
        List<Integer> evicted = new ArrayList<>();
        for (int i = 0; i < steps; i++) {
            clock.nanos += random.nextLong(3_000_000_000L);
            switch (random.nextInt(8)) {
                case 0 -> evicted.add(leases.size() < 4 || random.nextBoolean() ? -2 : pool.evict());
                case 1 -> {
                    for (int slot : List.copyOf(pool.slots.values())) {
                        if (pool.isLeaf(slot) && pool.references(slot) == 0 && random.nextInt(4) == 0) {
                            pool.remove(slot);
                            break;
                        }
                    }
                }
                case 2, 3 -> {
                    if (!leases.isEmpty()) {
                        pool.release(leases.remove(random.nextInt(leases.size())));
                    }
                }
                default -> {
                    long[] chain = chain(random);
                    List<Integer> held = pool.acquire(chain, clock.nanos);
                    pool.extend(chain, held, clock.nanos);
                    evicted.addAll(held);
                    leases.add(held);
                    if (random.nextInt(3) > 0) {
                        pool.release(leases.remove(leases.size() - 1));
                    }
                }
            }
        }
        leases.forEach(pool::release);
        for (int slot = pool.slots.isEmpty() ? -1 : pool.evict(); slot != EvictionPolicy.NONE; ) {
            evicted.add(slot);
            slot = pool.slots.isEmpty() ? EvictionPolicy.NONE : pool.evict();
        }
        assertThat(pool.slots).isEmpty();
        return evicted;
    }

    @ParameterizedTest
    @MethodSource("policies")
    void evict_randomChainsAndLeases_takesUnleasedLeavesOnly(Subject subject) {
        SplittableRandom random = Seeds.random("evict_randomChains " + subject);
        for (int i = 0; i < Seeds.count(10, 3_000); i++) {
            work(subject, random.nextLong(), 300);
        }
    }

    @ParameterizedTest
    @MethodSource("policies")
    void evict_sameSeedTwice_choosesAlike(Subject subject) {
        long seed = Seeds.random("evict_sameSeedTwice " + subject).nextLong();
        assertThat(work(subject, seed, 1_000)).isEqualTo(work(subject, seed, 1_000));
    }

    @ParameterizedTest
    @MethodSource("policies")
    void evict_allLeased_isNoneUntilOneIsReleased(Subject subject) {
        ManualClock clock = new ManualClock();
        ModelPool pool = new ModelPool(subject.maker.make(3, clock), 3);
        List<Integer> held = pool.acquire(new long[] {1, 2, 3}, 0);
        pool.extend(new long[] {1, 2, 3}, held, 0);
        assertThat(held).hasSize(3);
        assertThat(pool.evict()).isEqualTo(EvictionPolicy.NONE);
        pool.release(held.get(0));
        assertThat(pool.evict())
                .as("an inner block stays, also when every leaf is leased")
                .isEqualTo(EvictionPolicy.NONE);
        pool.release(held.get(2));
        assertThat(pool.evict()).isEqualTo(held.get(2));
        assertThat(pool.evict()).isEqualTo(EvictionPolicy.NONE);
        pool.release(held.get(1));
        assertThat(pool.evict()).isEqualTo(held.get(1));
        assertThat(pool.evict()).isEqualTo(held.get(0));
    }

    @ParameterizedTest
    @MethodSource("policies")
    void stored_manyTimesTheSlots_holdsNoMoreThanAtTheStart(Subject subject) {
        ManualClock clock = new ManualClock();
        int blocks = 64;
        EvictionPolicy policy = subject.maker.make(blocks, clock);
        ModelPool pool = new ModelPool(policy, blocks);
        long before = 0;
        for (int i = 0; i < 50_000; i++) {
            clock.nanos += 1_000_000;
            long[] chain = {3L * i, 3L * i + 1, 3L * i + 2};
            List<Integer> held = pool.acquire(chain, clock.nanos);
            pool.extend(chain, held, clock.nanos);
            pool.release(held);
            if (i == 25_000) {
                before = HeapSize.of(policy);
            }
        }
        assertThat(HeapSize.of(policy)).isLessThanOrEqualTo(before);
    }

    @ParameterizedTest
    @MethodSource("policies")
    void touch_manyThreadsBesideEvictions_losesNoLeaseAndNoBlock(Subject subject) throws Exception {
        SplittableRandom random = Seeds.random("touch_manyThreads " + subject);
        int blocks = 64;
        EvictionPolicy policy = subject.maker.make(blocks, System::nanoTime);
        SharedPool pool = new SharedPool(policy, blocks);
        AtomicBoolean stop = new AtomicBoolean();
        AtomicReference<Throwable> failure = new AtomicReference<>();
        CountDownLatch ended = new CountDownLatch(3);
        for (int i = 0; i < 3; i++) {
            SplittableRandom own = random.split();
            Thread thread = new Thread(() -> {
                try {
                    while (!stop.get()) {
                        pool.use(own.nextInt(blocks));
                    }
                } catch (Throwable e) {
                    failure.set(e);
                } finally {
                    ended.countDown();
                }
            });
            thread.start();
        }
        try {
            for (int i = 0; i < Seeds.count(8_000, 2_000_000) && failure.get() == null; i++) {
                pool.replace(i);
            }
        } finally {
            stop.set(true);
            assertThat(ended.await(60, TimeUnit.SECONDS)).isTrue();
        }
        assertThat(failure.get()).isNull();
        pool.drain();
    }
}
