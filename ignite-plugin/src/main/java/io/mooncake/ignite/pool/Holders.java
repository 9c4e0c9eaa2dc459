// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.pool;

import io.mooncake.ignite.index.PoolIndex.Partial;
import io.mooncake.ignite.index.PoolIndex.Run;
import io.mooncake.memory.BlockKey;
import io.mooncake.transfer.PeerAddress;
import io.mooncake.transfer.topology.Locality;
import java.util.List;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/** What a pool needs to know of other nodes. Answers at once, from memory. */
public interface Holders {
    /** Living holders of {@code keys[from]} and how many blocks from there each has, longest first. */
    List<Run> runs(List<BlockKey> keys, int from);

    /**
     * The block after {@code parent} that begins with most of {@code tokens[from..]}; null for none, and in EXACT mode, as {@link
     * io.mooncake.ignite.index.PoolIndex#partial} says.
     */
    default @Nullable Partial partial(BlockKey parent, int[] tokens, int from) {
        return null;
    }

    /** Where the engine of that node is, or null when the node is gone. */
    @Nullable
    PeerAddress address(UUID nodeId);

    /** How near that node is. */
    Locality.Closeness closeness(UUID nodeId);
}
