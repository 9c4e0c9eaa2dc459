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
import org.apache.ignite.spi.systemview.view.SystemViewRowAttributeWalker;

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

    /** Shows Ignite the columns. */
    static final class Walker implements SystemViewRowAttributeWalker<BlockRow> {
        @Override
        public int count() {
            return 11;
        }

        @Override
        public List<String> filtrableAttributes() {
            return List.of(PREFIX, POOL);
        }

        @Override
        public void visitAll(AttributeVisitor visitor) {
            visitor.accept(0, POOL, String.class);
            visitor.accept(1, PREFIX, String.class);
            visitor.accept(2, "parent", String.class);
            visitor.accept(3, "depth", int.class);
            visitor.accept(4, "tokens", int.class);
            visitor.accept(5, "bytes", long.class);
            visitor.accept(6, "tier", String.class);
            visitor.accept(7, "hits", long.class);
            visitor.accept(8, "leases", int.class);
            visitor.accept(9, "generation", long.class);
            visitor.accept(10, "ageMs", long.class);
        }

        @Override
        public void visitAll(BlockRow row, AttributeWithValueVisitor visitor) {
            BlockView view = row.view();
            visitor.accept(0, POOL, String.class, row.pool());
            visitor.accept(1, PREFIX, String.class, row.prefix());
            visitor.accept(2, "parent", String.class, view.block().parent().hex());
            visitor.acceptInt(3, "depth", view.block().depth());
            visitor.acceptInt(4, "tokens", view.block().tokens().length);
            visitor.acceptLong(5, "bytes", view.bytes());
            visitor.accept(6, "tier", String.class, view.tier());
            visitor.acceptLong(7, "hits", view.hits());
            visitor.acceptInt(8, "leases", view.leases());
            visitor.acceptLong(9, "generation", view.block().generation());
            visitor.acceptLong(10, "ageMs", TimeUnit.NANOSECONDS.toMillis(view.lastAccessAgeNanos()));
        }
    }
}
