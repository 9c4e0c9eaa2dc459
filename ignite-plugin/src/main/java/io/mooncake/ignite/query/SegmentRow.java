// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.query;

import io.mooncake.ignite.internal.NodeServices;
import io.mooncake.memory.SsdTierStatistics;
import io.mooncake.transfer.RegisteredRegion;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/**
 * A row of {@code SYS.MOONCAKE_SEGMENTS}: a piece of memory or disk that this node gives to the cluster.
 *
 * @param kind {@code MEMORY}, {@code GPU} or {@code SSD}
 * @param name {@code region 1} of the engine, or the pool whose SSD it is
 * @param bytes its size
 * @param usedBytes bytes of blocks in it; -1 where only its pools know
 * @param users transfers that touch it now
 */
record SegmentRow(String kind, String name, long bytes, long usedBytes, int users) {
    static final String VIEW = "mooncake.segments";
    static final String DESCRIPTION = "Memory registered for transfers, and SSDs, of this node.";
    static final Columns<SegmentRow> COLUMNS = new Columns<SegmentRow>("kind")
            .text("kind", SegmentRow::kind)
            .text("name", SegmentRow::name)
            .number("bytes", SegmentRow::bytes)
            .number("usedBytes", SegmentRow::usedBytes)
            .count("transfers", SegmentRow::users);

    /** Few: a pool has one of memory and one of SSD at most. */
    static Iterable<SegmentRow> rows(NodeServices services, Map<String, Object> filter) {
        List<SegmentRow> rows = new ArrayList<>();
        for (RegisteredRegion region : services.engine().regions()) {
            rows.add(new SegmentRow(
                    region.gpu() ? "GPU" : "MEMORY", "region " + region.id(), region.bytes(), -1, region.users()));
        }
        services.tiers().forEach((pool, tier) -> {
            SsdTierStatistics stats = tier.statistics();
            rows.add(new SegmentRow(
                    "SSD", pool, stats.capacityBlocks() * stats.blockBytes(), stats.blocks() * stats.blockBytes(), 0));
        });
        Object kind = filter.get("kind");
        rows.removeIf(row -> !LazyRows.matches(kind, row.kind));
        return rows;
    }
}
