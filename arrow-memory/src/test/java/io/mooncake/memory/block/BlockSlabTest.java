// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory.block;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.mooncake.base.MooncakeException;
import io.mooncake.memory.BlockLayout;
import io.mooncake.memory.Seeds;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicIntegerArray;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.atomic.LongAdder;
import org.junit.jupiter.api.Test;

/** The slab's words only: its memory is not touched, so any address will do. */
class BlockSlabTest {
    private static final BlockLayout LAYOUT = new BlockLayout(1, 1, 1, 1, 1);

    private static BlockSlab slab(int slots) {
        return new BlockSlab(0, 0, slots * BlockDescriptor.strideBytes(LAYOUT), LAYOUT);
    }

    @Test
    void transitions_ofOneSlot_followTheDiagram() {
        BlockSlab slab = slab(1);
        int slot = slab.allocate();
        assertThat(slot).isZero();
        assertThat(slab.allocate()).isEqualTo(BlockSlab.NONE);
        assertThat(slab.generation(slot)).isEqualTo(1);
        assertThat(slab.lease(slot)).as("filling").isFalse();
        assertThat(slab.startEviction(slot)).isFalse();
        slab.seal(slot);
        assertThat(slab.lease(slot)).isTrue();
        assertThat(slab.references(slot)).isEqualTo(2);
        assertThat(slab.startEviction(slot)).as("leased").isFalse();
        assertThatThrownBy(() -> slab.free(slot)).isInstanceOf(MooncakeException.class);
        assertThat(slab.release(slot)).isFalse();
        assertThat(slab.release(slot)).isTrue();
        assertThatThrownBy(() -> slab.release(slot)).isInstanceOf(MooncakeException.class);
        assertThat(slab.startEviction(slot)).isTrue();
        assertThat(slab.lease(slot)).as("evicting").isFalse();
        slab.recycle(slot);
        assertThat(slab.generation(slot)).isEqualTo(2);
        slab.free(slot);
        assertThat(slab.generation(slot)).isEqualTo(3);
        assertThat(slab.freeSlots()).isEqualTo(1);
        assertThatThrownBy(() -> slab.seal(slot)).isInstanceOf(MooncakeException.class);
    }

    @Test
    void allocate_manyThreads_givesNoSlotTwice() throws Exception {
        SplittableRandom random = Seeds.random("allocate_manyThreads");
        int slots = 8;
        BlockSlab slab = slab(slots);
        AtomicIntegerArray owners = new AtomicIntegerArray(slots);
        AtomicReference<String> failure = new AtomicReference<>();
        int rounds = Seeds.count(200_000, 5_000_000);
        List<Thread> threads = new ArrayList<>();
        for (int t = 1; t <= 4; t++) {
            int me = t;
            SplittableRandom mine = random.split();
            Thread thread = new Thread(() -> {
                for (int i = 0; i < rounds && failure.get() == null; i++) {
                    int slot = slab.allocate();
                    if (slot == BlockSlab.NONE) {
                        continue;
                    }
                    if (!owners.compareAndSet(slot, 0, me)) {
                        failure.set("slot " + slot + " twice");
                    }
                    if (mine.nextInt(16) == 0) {
                        Thread.yield();
                    }
                    owners.set(slot, 0);
                    slab.free(slot);
                }
            });
            thread.start();
            threads.add(thread);
        }
        for (Thread thread : threads) {
            thread.join();
        }
        assertThat(failure.get()).isNull();
        assertThat(slab.freeSlots()).isEqualTo(slots);
    }

    /** Neighbours in memory are in one cache line, so threads that only ever take one slot each must not take them side by side. */
    @Test
    void allocate_otherThreads_startFarFromEachOther() throws Exception {
        BlockSlab slab = slab(20 * FreeSlots.GROUP_SLOTS);
        Set<Integer> groups = ConcurrentHashMap.newKeySet();
        for (int stripe = 0; stripe < FreeSlots.STRIPES; stripe++) {
            // Thread numbers follow each other, but for those that the JVM itself takes.
            Thread thread;
            int wanted = stripe;
            do {
                thread = new Thread(() -> {
                    int slot = slab.allocate();
                    slab.free(slot);
                    // The same again; else two groups are one thread's.
                    int again = slab.allocate();
                    slab.free(again);
                    groups.add(again == slot ? slot / FreeSlots.GROUP_SLOTS : -1);
                });
            } while ((thread.getId() & (FreeSlots.STRIPES - 1)) != wanted);
            thread.start();
            thread.join();
        }
        assertThat(groups).hasSize(FreeSlots.STRIPES).doesNotContain(-1);
    }

    @Test
    void allocate_fewSlotsManyThreads_leavesNoSlotBehind() throws Exception {
        BlockSlab slab = slab(2);
        List<Thread> threads = new ArrayList<>();
        LongAdder taken = new LongAdder();
        for (int t = 0; t < 8; t++) {
            Thread thread = new Thread(() -> {
                for (int i = 0; i < 20_000; i++) {
                    int slot = slab.allocate();
                    if (slot != BlockSlab.NONE) {
                        taken.increment();
                        slab.free(slot);
                    }
                }
            });
            thread.start();
            threads.add(thread);
        }
        for (Thread thread : threads) {
            thread.join();
        }
        assertThat(taken.sum()).isPositive();
        assertThat(List.of(slab.allocate(), slab.allocate())).containsExactlyInAnyOrder(0, 1);
        assertThat(slab.allocate()).isEqualTo(BlockSlab.NONE);
    }
}
