// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.feed;

import io.mooncake.memory.HeldBlock;
import io.mooncake.memory.LocalKvPool;
import io.mooncake.memory.SsdTier;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * What a pool and its SSD hold, read where they hold it: nothing is kept here.
 *
 * <p>A pool tells what changed after it changed, so a page is never behind the events. Threading: safe for all threads.
 */
public final class PoolBlocks implements HeldBlocks {
    /** Bytes of a page's events, about. */
    private static final int PAGE_BYTES = 256 << 10;

    private final LocalKvPool pool;
    private final @Nullable SsdTier tier;
    private final int pageBlocks;

    /** @param tier null: none */
    public PoolBlocks(LocalKvPool pool, @Nullable SsdTier tier) {
        this.pool = pool;
        this.tier = tier;
        pageBlocks =
                Math.max(1, PAGE_BYTES / FeedRecords.maxBytes(pool.identity().blockTokens()));
    }

    @Override
    public void onEvent(BlockEvent event) {}

    /**
     * @throws io.mooncake.base.MooncakeException ILLEGAL_STATE when the pool is closed, INVALID_ARGUMENT for a cursor that no page returned
     */
    @Override
    public long read(long cursor, Page page) {
        Adder adder = new Adder(page);
        int at = (int) Math.max(-1, Math.min(cursor, Integer.MAX_VALUE));
        do {
            // Slots may be empty: a page takes some more as long as all of them would fit.
            at = SsdTier.forEachHeld(pool, tier, at, pageBlocks, adder);
        } while (at != LocalKvPool.WALK_END && adder.blocks == 0);
        return at == LocalKvPool.WALK_END ? -1 : at;
    }

    private static final class Adder implements Consumer<HeldBlock> {
        private final Page page;
        private int blocks;

        Adder(Page page) {
            this.page = page;
        }

        @Override
        public void accept(HeldBlock block) {
            blocks++;
            // Always fits: a page has room for twice as many.
            page.add(BlockEvent.stored(
                    block.key(), block.parent(), block.depth(), block.tokens(), FeedService.place(block.where())));
        }
    }
}
