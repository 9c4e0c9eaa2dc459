// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory.policy;

/** What a policy asks of the pool before a block goes. Called under the pool's change lock. */
public interface Candidates {
    /** Whether {@code slot} holds a sealed block that no cached block follows. */
    boolean isLeaf(int slot);

    /** Leases and pins on the slot now. */
    int references(int slot);

    /** Takes the block for eviction; false when it is leased, pinned or moving. After true it is the caller's of {@link EvictionPolicy#evict}. */
    boolean startEviction(int slot);
}
