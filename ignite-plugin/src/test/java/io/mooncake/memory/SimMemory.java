// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory;

import io.mooncake.memory.block.BlockSlab;
import io.mooncake.memory.index.ChainIndex;
import io.mooncake.memory.policy.Policies;
import java.util.function.LongSupplier;

/** A pool as {@link LocalKvPool#create} makes it, by another clock, and without its checksums where a simulation wants to see what they are for. */
public final class SimMemory {
    private SimMemory() {}

    /** A pool over {@code region[offset..offset+bytes)}; the least recently used leaf goes first. */
    public static LocalKvPool pool(
            String name,
            KvIdentity identity,
            int vocabulary,
            MemoryRegion region,
            long offset,
            long bytes,
            LongSupplier nanoClock,
            boolean checksums) {
        region.claim(offset, bytes);
        BlockSlab slab = new BlockSlab(region.address(), offset, bytes, BlockLayout.of(identity));
        return new LocalKvPool(
                name,
                identity,
                vocabulary,
                slab,
                new ChainIndex(identity.blockTokens(), vocabulary, slab.slots()),
                Policies.byName("lru", slab.slots(), nanoClock),
                nanoClock,
                new SafetyChecks(true, true, checksums),
                () -> region.unclaim(offset));
    }
}
