// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.query;

import io.mooncake.ignite.index.ClusterIndex;
import io.mooncake.ignite.index.HeldCopy;
import io.mooncake.ignite.internal.NodeServices;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/**
 * A row of {@code SYS.MOONCAKE_PREFIXES}: a block of another node that this node knows of, a row for each holder. What this node holds itself is
 * in {@code SYS.MOONCAKE_BLOCKS}.
 *
 * @param pool name of the pool
 * @param copy the block and its holder
 */
record IndexRow(String pool, HeldCopy copy) {
    static final String VIEW = "mooncake.prefixes";
    static final String DESCRIPTION = "Blocks of other nodes that this node knows of.";
    private static final String POOL = "pool";
    private static final String NODE = "nodeId";
    static final Columns<IndexRow> COLUMNS = new Columns<IndexRow>(POOL, NODE)
            .text(POOL, IndexRow::pool)
            .text("prefix", row -> row.copy.key().hex())
            .text(NODE, row -> row.copy.nodeId().toString())
            .text("place", row -> row.copy.place().name());

    /** The rows that pass {@code filter}, one pool after the other, read from the index as they are taken. */
    static Iterable<IndexRow> rows(NodeServices services, Map<String, Object> filter) {
        Object pool = filter.get(POOL);
        Object node = filter.get(NODE);
        ClusterIndex index = services.index();
        List<Iterable<IndexRow>> pools = new ArrayList<>();
        for (String name : index.pools()) {
            if (LazyRows.matches(pool, name)) {
                pools.add(LazyRows.of(
                        () -> index.held(name),
                        copy -> LazyRows.matches(node, copy.nodeId())
                                && services.members().find(copy.nodeId()).isPresent(),
                        copy -> new IndexRow(name, copy)));
            }
        }
        return LazyRows.chained(pools);
    }
}
