// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Blocks that are being copied between memory and SSD. Between its two ends a copy is in neither's hands, so a removal that comes meanwhile marks it: what
 * was read is not stored then, and what was written can't be read before it is taken off again.
 *
 * <p>Threading: guarded by the catalogue's lock; but a mark, which is set under the pool's change lock too, may be read under either.
 */
final class TierTransits {
    /** One block under way. */
    static final class Transit {
        private final BlockKey key;
        private final boolean up;
        private volatile boolean removed;

        private Transit(BlockKey key, boolean up) {
            this.key = key;
            this.up = up;
        }

        /** Whether its block was removed since it began. */
        boolean removed() {
            return removed;
        }
    }

    private final Map<BlockKey, List<Transit>> byKey = new HashMap<>();

    /** Begins a write. */
    Transit down(BlockKey key) {
        return add(new Transit(key, false));
    }

    /** Begins a read; null when what the SSD has of {@code key} is what a removal found half written. */
    @Nullable
    Transit up(BlockKey key) {
        for (Transit other : byKey.getOrDefault(key, List.of())) {
            if (!other.up && other.removed) {
                return null;
            }
        }
        return add(new Transit(key, true));
    }

    private Transit add(Transit transit) {
        byKey.computeIfAbsent(transit.key, key -> new ArrayList<>(1)).add(transit);
        return transit;
    }

    void end(Transit transit) {
        List<Transit> all = byKey.get(transit.key);
        if (all != null && all.remove(transit) && all.isEmpty()) {
            byKey.remove(transit.key);
        }
    }

    /** {@code key} is removed now. */
    void removed(BlockKey key) {
        byKey.getOrDefault(key, List.of()).forEach(transit -> transit.removed = true);
    }
}
