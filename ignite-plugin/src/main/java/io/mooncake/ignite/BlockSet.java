// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite;

import io.mooncake.memory.PinnedBlock;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Blocks taken for reading. Each stays in place, and its bytes unchanged, until this is closed.
 *
 * <p>Ownership: the caller owes one {@link #close()}, which is idempotent. Threading: safe for all threads.
 */
public final class BlockSet implements AutoCloseable {
    private final List<BlockResult> results;
    private final List<@Nullable PinnedBlock> blocks;

    /**
     * @param results one a key
     * @param blocks one a key, owned from now on; null where the result is not FOUND
     */
    public BlockSet(List<BlockResult> results, List<@Nullable PinnedBlock> blocks) {
        this.results = List.copyOf(results);
        this.blocks = Collections.unmodifiableList(new ArrayList<>(blocks));
    }

    /** What became of each key. */
    public List<BlockResult> results() {
        return results;
    }

    /** The block of the key at {@code index}, or null where it was not found; borrowed. */
    public @Nullable PinnedBlock block(int index) {
        return blocks.get(index);
    }

    @Override
    public void close() {
        for (PinnedBlock block : blocks) {
            if (block != null) {
                block.close();
            }
        }
    }
}
