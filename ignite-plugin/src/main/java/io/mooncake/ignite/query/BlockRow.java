// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.query;

import io.mooncake.base.MooncakeException;
import io.mooncake.memory.BlockKey;
import io.mooncake.memory.HeldBlock;
import io.mooncake.memory.HeldIn;
import io.mooncake.memory.LocalKvPool;
import io.mooncake.memory.SsdTier;
import java.util.ArrayDeque;
import java.util.Collection;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.NoSuchElementException;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * A row of {@code SYS.MOONCAKE_BLOCKS}: one block of this node as a walk showed it. Its texts are made when they are read.
 *
 * @param pool name of the pool
 * @param key chain digest
 * @param parent digest of the block before it
 * @param depth index in the chain
 * @param tokens its own tokens
 * @param bytes payload bytes
 * @param where the tiers that have it
 * @param hits times it was leased by a look-up
 * @param leases references held on it now
 * @param generation as it was stored under
 * @param idleNanos nanoseconds since it was used
 * @param pinned {@code HARD}, {@code SOFT}, or empty
 */
record BlockRow(
        String pool,
        BlockKey key,
        BlockKey parent,
        int depth,
        int tokens,
        long bytes,
        HeldIn where,
        long hits,
        int leases,
        long generation,
        long idleNanos,
        String pinned) {
    static final String VIEW = "mooncake.blocks";
    static final String DESCRIPTION = "Blocks that this node's pools hold.";
    private static final String POOL = "pool";
    private static final String PREFIX = "prefix";
    /** Blocks that are looked at a time: all that a query keeps of the pool. */
    private static final int PAGE = 256;

    static final Columns<BlockRow> COLUMNS = new Columns<BlockRow>(PREFIX, POOL)
            .text(POOL, BlockRow::pool)
            .text(PREFIX, row -> row.key.hex())
            .text("parent", row -> row.parent.hex())
            .count("depth", BlockRow::depth)
            .count("tokens", BlockRow::tokens)
            .number("bytes", BlockRow::bytes)
            .text("tier", row -> row.where == HeldIn.SSD ? "SSD" : "DRAM")
            .number("hits", BlockRow::hits)
            .count("leases", BlockRow::leases)
            .number("generation", BlockRow::generation)
            .number("ageMs", row -> TimeUnit.NANOSECONDS.toMillis(row.idleNanos))
            .text("pinned", BlockRow::pinned);

    private static BlockRow of(String pool, HeldBlock block) {
        return new BlockRow(
                pool,
                block.key(),
                block.parent(),
                block.depth(),
                block.tokenCount(),
                block.bytes(),
                block.where(),
                block.hits(),
                block.leases(),
                block.generation(),
                block.idleNanos(),
                block.isPinnedHard() ? "HARD" : block.isPinnedSoft() ? "SOFT" : "");
    }

    /**
     * The rows that pass {@code filter}, one pool after the other, a page at a time: a query holds neither a lock nor a copy of the pool.
     *
     * @param filter values by column; columns that the view cannot filter by are the query's business
     */
    static Iterable<BlockRow> rows(
            Map<String, LocalKvPool> pools, Map<String, SsdTier> tiers, Map<String, Object> filter) {
        Object pool = filter.get(POOL);
        Object prefix = filter.get(PREFIX);
        Collection<LocalKvPool> wanted = pools.values().stream()
                .filter(one -> LazyRows.matches(pool, one.name()))
                .toList();
        BlockKey key = prefix == null ? null : key(prefix.toString());
        if (prefix != null && key == null) {
            return List.of();
        }
        return () -> new Rows(wanted.iterator(), tiers, key);
    }

    /** The key that {@code prefix} is the text of; null where it is none, so that no block has it. */
    private static @Nullable BlockKey key(String prefix) {
        try {
            BlockKey key = BlockKey.parse(prefix);
            return key.hex().equals(prefix) ? key : null;
        } catch (IllegalArgumentException | MooncakeException e) {
            return null;
        }
    }

    private static final class Rows implements Iterator<BlockRow> {
        private final Iterator<LocalKvPool> pools;
        private final Map<String, SsdTier> tiers;
        private final @Nullable BlockKey wanted;
        private final ArrayDeque<BlockRow> page = new ArrayDeque<>();
        private @Nullable LocalKvPool current;
        private int at = LocalKvPool.WALK_END;

        Rows(Iterator<LocalKvPool> pools, Map<String, SsdTier> tiers, @Nullable BlockKey wanted) {
            this.pools = pools;
            this.tiers = tiers;
            this.wanted = wanted;
        }

        @Override
        public boolean hasNext() {
            while (page.isEmpty()) {
                if (at == LocalKvPool.WALK_END) {
                    if (!pools.hasNext()) {
                        return false;
                    }
                    current = pools.next();
                    at = 0;
                }
                LocalKvPool pool = current;
                if (pool != null) {
                    at = read(pool, at);
                }
            }
            return true;
        }

        private int read(LocalKvPool pool, int from) {
            int next = SsdTier.forEachHeld(pool, tiers.get(pool.name()), from, PAGE, block -> {
                if (wanted == null || block.key().equals(wanted)) {
                    page.add(of(pool.name(), block));
                }
            });
            // A pool has one block of a key at most.
            return wanted != null && !page.isEmpty() ? LocalKvPool.WALK_END : next;
        }

        @Override
        public BlockRow next() {
            if (!hasNext()) {
                throw new NoSuchElementException();
            }
            return page.remove();
        }
    }
}
