// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory;

import io.mooncake.memory.block.BlockSlab;
import io.mooncake.memory.policy.Candidates;
import java.util.function.IntPredicate;

/** What a policy may ask of the blocks in a slab. Under the pool's change lock. */
final class SlabCandidates implements Candidates {
    private final BlockSlab slab;
    private final IntPredicate followed;

    /**
     * @param followed whether a cached block follows the sealed one in a slot
     */
    SlabCandidates(BlockSlab slab, IntPredicate followed) {
        this.slab = slab;
        this.followed = followed;
    }

    @Override
    public boolean isLeaf(int slot) {
        return slab.isSealed(slot) && !followed.test(slot);
    }

    @Override
    public int references(int slot) {
        return slab.references(slot);
    }

    @Override
    public boolean startEviction(int slot) {
        return slab.startEviction(slot);
    }
}
