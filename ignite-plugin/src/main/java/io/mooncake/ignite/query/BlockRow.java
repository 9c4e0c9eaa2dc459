// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.query;

import io.mooncake.memory.BlockView;
import io.mooncake.memory.LocalKvPool;
import io.mooncake.memory.SsdTier;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.NoSuchElementException;
import java.util.concurrent.TimeUnit;

/**
 * A row of {@code SYS.MOONCAKE_BLOCKS}: one block of this node. Its texts are made when they are read.
 *
 * @param pool name of the pool
 * @param view the block at the time of the query
 */
public record BlockRow(String pool, BlockView view) {
    static final String VIEW = "mooncake.blocks";
    static final String DESCRIPTION = "Blocks that this node's pools hold.";
    private static final String POOL = "pool";
    private static final String PREFIX = "prefix";
    static final Columns<BlockRow> COLUMNS = new Columns<BlockRow>(PREFIX, POOL)
            .text(POOL, BlockRow::pool)
            .text(PREFIX, BlockRow::prefix)
            .text("parent", row -> row.view().block().parent().hex())
            .count("depth", row -> row.view().block().depth())
            .count("tokens", row -> row.view().block().tokens().length)
            .number("bytes", row -> row.view().bytes())
            .text("tier", row -> row.view().tier())
            .number("hits", row -> row.view().hits())
            .count("leases", row -> row.view().leases())
            .number("generation", row -> row.view().block().generation())
            .number("ageMs", row -> TimeUnit.NANOSECONDS.toMillis(row.view().lastAccessAgeNanos()));

    String prefix() {
        return view.block().key().hex();
    }

    /**
     * The rows that pass {@code filter}, one pool after the other; a pool is read when the iteration reaches it.
     *
     * @param filter values by column; columns that the view cannot filter by are the query's business
     */
    static Iterable<BlockRow> rows(
            Map<String, LocalKvPool> pools, Map<String, SsdTier> tiers, Map<String, Object> filter) {
        Object pool = filter.get(POOL);
        Object prefix = filter.get(PREFIX);
        Collection<LocalKvPool> wanted = pools.values().stream()
                .filter(p -> pool == null || p.name().equals(pool))
                .toList();
        return () -> new Rows(wanted.iterator(), tiers, prefix == null ? "" : prefix.toString());
    }

    private static final class Rows implements Iterator<BlockRow> {
        private final Iterator<LocalKvPool> pools;
        private final Map<String, SsdTier> tiers;
        private final String prefix;
        private Iterator<BlockRow> current = List.<BlockRow>of().iterator();

        Rows(Iterator<LocalKvPool> pools, Map<String, SsdTier> tiers, String prefix) {
            this.pools = pools;
            this.tiers = tiers;
            this.prefix = prefix;
        }

        @Override
        public boolean hasNext() {
            while (!current.hasNext() && pools.hasNext()) {
                current = read(pools.next());
            }
            return current.hasNext();
        }

        @Override
        public BlockRow next() {
            if (!hasNext()) {
                throw new NoSuchElementException();
            }
            return current.next();
        }

        private Iterator<BlockRow> read(LocalKvPool pool) {
            List<BlockRow> rows = new ArrayList<>();
            SsdTier.forEachView(pool, tiers.get(pool.name()), view -> {
                BlockRow row = new BlockRow(pool.name(), view);
                if (prefix.isEmpty() || row.prefix().equals(prefix)) {
                    rows.add(row);
                }
            });
            return rows.iterator();
        }
    }
}
