// SPDX-License-Identifier: Apache-2.0
package io.mooncake.benchmarks.policy;

import io.mooncake.benchmarks.policy.Trace.TraceRequest;
import io.mooncake.memory.policy.Candidates;
import io.mooncake.memory.policy.EvictionPolicy;
import io.mooncake.memory.policy.Request;

/**
 * One cache that calls a policy as a pool does, with names instead of bytes. A request takes no time: it finds its longest cached prefix, and
 * when it ends, in the same moment, the blocks behind are stored as far as the policy lets them.
 */
final class ReplayedPool implements Candidates {
    private final EvictionPolicy policy;
    /** Slot of each block plus one, 0 when it is not here. */
    private final int[] slots;

    private final long[] names;
    private final long[] parents;
    private final int[] followers;
    private final boolean[] leased;
    private int used;
    private long nanos;

    /** @param distinctBlocks blocks are numbered below it */
    ReplayedPool(EvictionPolicy policy, int blocks, int distinctBlocks) {
        this.policy = policy;
        slots = new int[distinctBlocks];
        names = new long[blocks];
        parents = new long[blocks];
        followers = new int[blocks];
        leased = new boolean[blocks];
    }

    /** Serves one request; the blocks of its prefix that were there. */
    int serve(TraceRequest request, long now) {
        nanos = now;
        long[] blocks = request.blocks();
        int[] held = new int[blocks.length];
        int hits = 0;
        while (hits < blocks.length && slot(blocks[hits]) != EvictionPolicy.NONE) {
            int slot = slot(blocks[hits]);
            held[hits++] = slot;
            leased[slot] = true;
            policy.touch(slot, now);
        }
        policy.announce(
                Request.of(blocks).withPromptTokens(request.inputTokens()).withAnswer(request.outputTokens()));
        int kept = hits;
        while (kept < blocks.length) {
            int slot = allocate(blocks[kept]);
            if (slot == EvictionPolicy.NONE) {
                break;
            }
            store(slot, blocks, kept);
            held[kept++] = slot;
        }
        for (int i = 0; i < kept; i++) {
            leased[held[i]] = false;
            policy.released(held[i]);
        }
        return hits;
    }

    private int slot(long block) {
        return slots[(int) block] - 1;
    }

    private int allocate(long block) {
        if (used < names.length) {
            return used++;
        }
        if (!policy.admits(block, this)) {
            return EvictionPolicy.NONE;
        }
        int slot = policy.evict(this);
        if (slot != EvictionPolicy.NONE) {
            slots[(int) names[slot]] = 0;
            int parent = parents[slot] == names[slot] ? EvictionPolicy.NONE : slot(parents[slot]);
            if (parent != EvictionPolicy.NONE && --followers[parent] == 0) {
                policy.leaf(parent);
            }
        }
        return slot;
    }

    private void store(int slot, long[] blocks, int at) {
        names[slot] = blocks[at];
        parents[slot] = at == 0 ? blocks[at] : blocks[at - 1];
        followers[slot] = 0;
        leased[slot] = true;
        if (at > 0) {
            followers[slot(blocks[at - 1])]++;
        }
        slots[(int) blocks[at]] = slot + 1;
        policy.touch(slot, nanos);
        policy.stored(slot, blocks[at], parents[slot], true);
    }

    @Override
    public boolean isLeaf(int slot) {
        return followers[slot] == 0;
    }

    @Override
    public int references(int slot) {
        return leased[slot] ? 1 : 0;
    }

    @Override
    public boolean startEviction(int slot) {
        return !leased[slot];
    }
}
