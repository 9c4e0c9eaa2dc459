// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory.policy;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.atomic.AtomicIntegerArray;

/** A pool of names: calls a policy as {@link EvictionPolicy} says, and holds each of its answers against what the pool knows. */
public final class ModelPool implements Candidates {
    final EvictionPolicy policy;
    final Map<Long, Integer> slots = new HashMap<>();
    final AtomicIntegerArray references;
    private final long[] names;
    private final long[] parents;
    private final int[] followers;
    private final boolean[] sealed;
    private final List<Integer> free = new ArrayList<>();
    private int evicting = EvictionPolicy.NONE;

    public ModelPool(EvictionPolicy policy, int blocks) {
        this.policy = policy;
        references = new AtomicIntegerArray(blocks);
        names = new long[blocks];
        parents = new long[blocks];
        followers = new int[blocks];
        sealed = new boolean[blocks];
        for (int slot = blocks - 1; slot >= 0; slot--) {
            free.add(slot);
        }
    }

    /** Leases and touches the longest prefix of {@code chain} that is here; the slots. */
    List<Integer> acquire(long[] chain, long nanos) {
        return acquire(chain, Request.of(chain), nanos);
    }

    /** The same, announcing {@code request}. */
    public List<Integer> acquire(long[] chain, Request request, long nanos) {
        List<Integer> held = new ArrayList<>();
        for (long block : chain) {
            Integer slot = slots.get(block);
            if (slot == null) {
                break;
            }
            references.incrementAndGet(slot);
            policy.touch(slot, nanos);
            held.add(slot);
        }
        policy.announce(request);
        return held;
    }

    /** Stores what of {@code chain} is not held yet, as far as the policy lets it; all of it is held then. */
    public void extend(long[] chain, List<Integer> held, long nanos) {
        while (held.size() < chain.length) {
            long block = chain[held.size()];
            int slot = free.isEmpty() ? evictFor(block) : free.remove(free.size() - 1);
            if (slot == EvictionPolicy.NONE) {
                return;
            }
            store(slot, block, held.isEmpty() ? block : chain[held.size() - 1], nanos);
            held.add(slot);
        }
    }

    private int evictFor(long block) {
        return policy.admits(block, this) ? evict() : EvictionPolicy.NONE;
    }

    /** One eviction, checked. */
    int evict() {
        boolean leafCanGo = false;
        for (int slot : slots.values()) {
            leafCanGo |= references.get(slot) == 0 && followers[slot] == 0;
        }
        evicting = EvictionPolicy.NONE;
        int slot = policy.evict(this);
        assertThat(slot).isEqualTo(evicting);
        assertThat(slot != EvictionPolicy.NONE).as("one goes while a leaf can").isEqualTo(leafCanGo);
        if (slot != EvictionPolicy.NONE) {
            assertThat(sealed[slot]).isTrue();
            assertThat(references.get(slot)).isZero();
            assertThat(followers[slot]).as("chains stay whole").isZero();
            forget(slot);
        }
        return slot;
    }

    /** The block goes without the policy's doing. */
    void remove(int slot) {
        policy.removed(slot);
        forget(slot);
        free.add(slot);
    }

    private void forget(int slot) {
        sealed[slot] = false;
        slots.remove(names[slot]);
        Integer parent = parents[slot] == names[slot] ? null : slots.get(parents[slot]);
        if (parent != null && --followers[parent] == 0) {
            policy.leaf(parent);
        }
    }

    private void store(int slot, long block, long parent, long nanos) {
        names[slot] = block;
        parents[slot] = parent;
        followers[slot] = 0;
        for (int other : slots.values()) {
            followers[slot] += parents[other] == block && names[other] != block ? 1 : 0;
        }
        sealed[slot] = true;
        references.set(slot, 1);
        slots.put(block, slot);
        if (parent != block && slots.containsKey(parent)) {
            followers[slots.get(parent)]++;
        }
        policy.touch(slot, nanos);
        policy.stored(slot, block, parent, followers[slot] == 0);
    }

    public void release(List<Integer> held) {
        for (int slot : held) {
            release(slot);
        }
    }

    void release(int slot) {
        if (references.decrementAndGet(slot) == 0) {
            policy.released(slot);
        }
    }

    /** Notes the end of a look-up's lease. */
    public void leaseEnded(List<Integer> held, long nanos) {
        for (int slot : held) {
            policy.leaseEnded(slot, nanos);
        }
    }

    /** Names of the blocks that are here. */
    public Set<Long> blocks() {
        return slots.keySet();
    }

    long name(int slot) {
        return names[slot];
    }

    boolean isFull() {
        return free.isEmpty();
    }

    @Override
    public boolean isLeaf(int slot) {
        return sealed[slot] && followers[slot] == 0;
    }

    @Override
    public int references(int slot) {
        return references.get(slot);
    }

    @Override
    public boolean startEviction(int slot) {
        assertThat(evicting).isEqualTo(EvictionPolicy.NONE);
        if (!references.compareAndSet(slot, 0, 0)) {
            return false;
        }
        evicting = slot;
        return true;
    }
}
