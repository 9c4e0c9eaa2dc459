// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory.policy;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.concurrent.atomic.AtomicIntegerArray;

/** Blocks without chains, leased by any threads, replaced by one. One word a slot: references, or {@value #GONE}. */
final class SharedPool implements Candidates {
    private static final int GONE = -1;

    private final EvictionPolicy policy;
    private final AtomicIntegerArray words;
    private final int blocks;
    private int stored;

    SharedPool(EvictionPolicy policy, int blocks) {
        this.policy = policy;
        this.blocks = blocks;
        words = new AtomicIntegerArray(blocks);
        for (int slot = 0; slot < blocks; slot++) {
            words.set(slot, GONE);
        }
    }

    /** Leases, touches and releases a block if one is there. */
    void use(int slot) {
        int word = words.get(slot);
        while (word != GONE && !words.compareAndSet(slot, word, word + 1)) {
            word = words.get(slot);
        }
        if (word != GONE) {
            policy.touch(slot, System.nanoTime());
            if (words.decrementAndGet(slot) == 0) {
                policy.released(slot);
            }
        }
    }

    /** Stores a block of which nothing was announced. */
    void storeUnannounced(int slot) {
        stored++;
        words.set(slot, 0);
        policy.stored(slot, slot, slot, true);
    }

    /** Touches at a given time. */
    void useAt(int slot, long nanos) {
        words.incrementAndGet(slot);
        policy.touch(slot, nanos);
        words.decrementAndGet(slot);
        policy.released(slot);
    }

    /** Evicts one if full, and stores another. */
    void replace(long block) {
        int slot = stored < blocks ? stored++ : policy.evict(this);
        assertThat(slot).as("a block that is not leased").isNotEqualTo(EvictionPolicy.NONE);
        policy.touch(slot, System.nanoTime());
        policy.announce(Request.of(new long[] {block}));
        words.set(slot, 1);
        policy.stored(slot, block, block, true);
        if (words.decrementAndGet(slot) == 0) {
            policy.released(slot);
        }
    }

    /** Evicts one if full, and stores another of which nothing was announced; its slot. */
    int replaceBy(long block, long parent) {
        int slot = stored < blocks ? stored++ : policy.evict(this);
        words.set(slot, 0);
        policy.stored(slot, block, parent, true);
        return slot;
    }

    /** Everything goes, each once. */
    void drain() {
        for (int i = 0; i < stored; i++) {
            assertThat(policy.evict(this)).isNotEqualTo(EvictionPolicy.NONE);
        }
        assertThat(policy.evict(this)).isEqualTo(EvictionPolicy.NONE);
    }

    @Override
    public boolean isLeaf(int slot) {
        return words.get(slot) != GONE;
    }

    @Override
    public int references(int slot) {
        return Math.max(words.get(slot), 0);
    }

    @Override
    public boolean startEviction(int slot) {
        return words.compareAndSet(slot, 0, GONE);
    }
}
