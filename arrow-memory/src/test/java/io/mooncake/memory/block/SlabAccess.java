// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory.block;

import io.mooncake.memory.BlockLayout;

/** Lets tests of other packages switch a check off. */
public final class SlabAccess {
    private SlabAccess() {}

    public static BlockSlab slab(long address, long offset, long bytes, BlockLayout layout, boolean checkGenerations) {
        return new BlockSlab(address, offset, bytes, layout, checkGenerations);
    }
}
