// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory.index;

import io.mooncake.memory.BlockKey;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Blocks whose parent is not in the tree, by slot and by the key of the parent they wait for. Rare and short-lived, so on plain maps: some 200
 * bytes a block and its tokens. Under the owner's lock.
 */
final class ParkedBlocks {
    /**
     * One block.
     *
     * @param parent key that it waits for
     * @param tokens its own
     */
    record Parked(int slot, BlockKey parent, int[] tokens, long id) {}

    private final Map<Integer, Parked> bySlot = new HashMap<>();
    private final Map<BlockKey, List<Parked>> byParent = new HashMap<>();

    int count() {
        return bySlot.size();
    }

    @Nullable
    Parked get(int slot) {
        return bySlot.get(slot);
    }

    /** Whether any waits for {@code parent}. */
    boolean anyWaits(BlockKey parent) {
        return !byParent.isEmpty() && byParent.containsKey(parent);
    }

    void add(Parked block) {
        bySlot.put(block.slot, block);
        byParent.computeIfAbsent(block.parent, key -> new ArrayList<>(1)).add(block);
    }

    void remove(Parked block) {
        bySlot.remove(block.slot);
        List<Parked> waiting = byParent.get(block.parent);
        if (waiting != null) {
            waiting.remove(block);
            if (waiting.isEmpty()) {
                byParent.remove(block.parent);
            }
        }
    }

    /** Those that wait for {@code parent}; a copy. */
    List<Parked> waiting(BlockKey parent) {
        List<Parked> waiting = byParent.isEmpty() ? null : byParent.get(parent);
        return waiting == null ? List.of() : List.copyOf(waiting);
    }
}
