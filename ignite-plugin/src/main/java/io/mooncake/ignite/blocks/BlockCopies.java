// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.blocks;

import io.mooncake.ignite.internal.NodeServices;
import io.mooncake.memory.BlockKey;
import io.mooncake.memory.LocalKvPool;
import io.mooncake.memory.SsdTier;
import java.util.HashSet;
import java.util.Set;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/** Who has a block, as far as this node knows. */
final class BlockCopies {
    private BlockCopies() {}

    /** Living nodes that have it, this one included. */
    static Set<UUID> known(NodeServices services, LocalKvPool local, @Nullable SsdTier ssd, BlockKey key) {
        Set<UUID> nodes = new HashSet<>(services.index().holders(local.name(), key));
        if (here(local, ssd, key)) {
            nodes.add(services.localNodeId());
        }
        return nodes;
    }

    /** Whether memory or SSD of this node have it. */
    static boolean here(LocalKvPool local, @Nullable SsdTier ssd, BlockKey key) {
        return local.contains(key) || (ssd != null && ssd.contains(key));
    }
}
