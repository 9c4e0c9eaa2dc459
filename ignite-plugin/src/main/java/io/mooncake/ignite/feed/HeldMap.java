// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.feed;

import io.mooncake.memory.BlockKey;
import java.util.HashMap;
import java.util.Map;
import java.util.TreeMap;

/**
 * What a node holds by its events alone, in the order in which it was stored. Some hundred bytes a block.
 *
 * <p>Threading: safe for all threads.
 */
final class HeldMap implements HeldBlocks {
    // Guarded by this.
    private final Map<BlockKey, Long> storedAt = new HashMap<>();
    private final TreeMap<Long, BlockEvent> held = new TreeMap<>();
    private long next = 1;

    @Override
    public synchronized void onEvent(BlockEvent event) {
        switch (event.kind()) {
            case STORED -> {
                remove(event.key());
                storedAt.put(event.key(), next);
                held.put(next++, event);
            }
            case PLACED -> {
                Long at = storedAt.get(event.key());
                if (at != null) {
                    held.computeIfPresent(
                            at,
                            (same, block) -> BlockEvent.stored(
                                    block.key(), block.parentKey(), block.depth(), block.tokens(), event.place()));
                }
            }
            case REMOVED -> remove(event.key());
        }
    }

    private void remove(BlockKey key) {
        Long before = storedAt.remove(key);
        if (before != null) {
            held.remove(before);
        }
    }

    @Override
    public synchronized long read(long cursor, Page page) {
        for (Map.Entry<Long, BlockEvent> entry : held.tailMap(cursor).entrySet()) {
            if (!page.add(entry.getValue())) {
                return entry.getKey();
            }
        }
        return -1;
    }
}
