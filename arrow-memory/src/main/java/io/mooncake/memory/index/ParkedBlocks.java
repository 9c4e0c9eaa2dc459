// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory.index;

import io.mooncake.memory.BlockKey;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Blocks whose parent is not in the tree, by slot and by the key of the parent they wait for. Few as a rule, so on plain maps. Under the owner's
 * lock.
 */
final class ParkedBlocks {
    /**
     * One block.
     *
     * @param parent key that it waits for
     * @param tokens its own
     */
    record Parked(int slot, BlockKey parent, int[] tokens, long id) {}

    /** Of a block, besides its tokens: its record, the cells of both maps, a list, boxes. */
    private static final int BYTES = 240;

    private final Map<Integer, Parked> bySlot = new HashMap<>();
    private final Map<BlockKey, List<Parked>> byParent = new HashMap<>();

    /** Bytes of the Java heap for {@code count} blocks. */
    static long bytes(int blockTokens, int count) {
        return (BYTES + 4L * blockTokens) * count;
    }

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

    /** Those that wait for {@code parent}. */
    List<Parked> waiting(BlockKey parent) {
        return byParent.getOrDefault(parent, List.of());
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

    /** Takes out those that wait for {@code parent}. */
    List<Parked> take(BlockKey parent) {
        List<Parked> waiting = byParent.isEmpty() ? null : byParent.remove(parent);
        if (waiting == null) {
            return List.of();
        }
        waiting.forEach(block -> bySlot.remove(block.slot));
        return waiting;
    }
}
