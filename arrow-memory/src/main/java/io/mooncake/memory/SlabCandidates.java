// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory;

import io.mooncake.memory.block.BlockSlab;
import io.mooncake.memory.policy.Candidates;
import java.util.function.IntPredicate;
import java.util.function.LongSupplier;

/** What a policy may ask of the blocks in a slab. Under the pool's change lock. */
final class SlabCandidates implements Candidates {
    private final BlockSlab slab;
    private final IntPredicate followed;
    private final LongSupplier nanoClock;

    /**
     * @param followed whether a cached block follows the sealed one in a slot
     * @param nanoClock by which soft pins end
     */
    SlabCandidates(BlockSlab slab, IntPredicate followed, LongSupplier nanoClock) {
        this.slab = slab;
        this.followed = followed;
        this.nanoClock = nanoClock;
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
        return slab.startEviction(slot, nanoClock.getAsLong());
    }
}
