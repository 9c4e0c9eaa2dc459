// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.place;

import io.mooncake.ignite.internal.NodeServices;
import io.mooncake.memory.BlockKey;
import io.mooncake.memory.HeldBlock;
import io.mooncake.memory.LocalKvPool;
import io.mooncake.memory.SsdTier;
import io.mooncake.memory.Tenant;
import java.util.Comparator;
import java.util.function.Consumer;

/**
 * A block that this node holds in memory or on its SSD, as those who place copies need it.
 *
 * @param key its key
 * @param parent the key before it
 * @param depth index in its chain
 * @param tenant name of whose it is; the default one's where only the SSD of an earlier life knows it
 * @param hits how often it was leased by a look-up
 */
record Held(BlockKey key, BlockKey parent, int depth, String tenant, long hits) {
    private static final int PAGE = 1024;

    /** What is used most comes first; a chain's blocks are used alike, and its start goes first. */
    static final Comparator<Held> MOST_USED =
            Comparator.comparingLong((Held held) -> -held.hits()).thenComparingInt(Held::depth);

    /** Shows all of them, without the pool's lock. One that comes or goes meanwhile may be missed or shown twice. */
    static void forEach(NodeServices services, String name, Consumer<Held> visitor) {
        for (int at = 0; at != LocalKvPool.WALK_END; ) {
            at = page(services, name, at, visitor);
        }
    }

    /** Shows some of them; @return where the next page begins, or {@link LocalKvPool#WALK_END} */
    static int page(NodeServices services, String name, int from, Consumer<Held> visitor) {
        LocalKvPool pool = services.localPools().get(name);
        if (pool == null) {
            return LocalKvPool.WALK_END;
        }
        return SsdTier.forEachHeld(pool, services.tiers().get(name), from, PAGE, block -> visitor.accept(of(block)));
    }

    private static Held of(HeldBlock block) {
        String tenant = block.tenant().isEmpty() ? Tenant.DEFAULT.name() : block.tenant();
        return new Held(block.key(), block.parent(), block.depth(), tenant, block.hits());
    }
}
