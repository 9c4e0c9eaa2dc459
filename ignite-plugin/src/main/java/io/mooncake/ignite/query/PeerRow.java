// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.query;

import io.mooncake.ignite.feed.FollowedOwner;
import io.mooncake.ignite.internal.Member;
import io.mooncake.ignite.internal.NodeServices;
import io.mooncake.ignite.place.StoreReport;
import java.util.Map;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * A row of {@code SYS.MOONCAKE_PEERS}: a node that runs the plugin, this one included, and how well this node hears of its blocks.
 *
 * @param member the node
 * @param heard what was heard of it; null for a node that announces nothing, and for this one
 * @param report what it says of itself; null where it has not said it yet, and for observers
 */
record PeerRow(
        Member member,
        @Nullable FollowedOwner heard,
        @Nullable StoreReport report) {
    static final String VIEW = "mooncake.peers";
    static final String DESCRIPTION = "Nodes that run Mooncake, and how well this node follows them.";
    static final Columns<PeerRow> COLUMNS = new Columns<PeerRow>("nodeId")
            .text("nodeId", row -> row.member.nodeId().toString())
            .text("consistentId", row -> row.member.consistentId())
            .text("role", row -> row.member.role().name())
            .text("endpoint", row -> row.member.address().encode())
            .text(
                    "pools",
                    row -> String.join(",", new TreeSet<>(row.member.pools().keySet())))
            .text("state", PeerRow::state)
            .number("silentMs", row -> row.heard == null ? 0 : TimeUnit.NANOSECONDS.toMillis(row.heard.silentNanos()))
            .number("repairs", row -> row.heard == null ? 0 : row.heard.repairs())
            .number("snapshots", row -> row.heard == null ? 0 : row.heard.snapshots())
            .number("badFrames", row -> row.heard == null ? 0 : row.heard.badFrames())
            .flag("draining", row -> row.report != null && row.report.draining())
            .flag("fenced", row -> row.report != null && row.report.fenced())
            .decimal("free", row -> row.report == null ? -1 : row.report.freeShare());

    /** LOCAL, CURRENT (all it said is in the index), BEHIND, SILENT (nothing heard for seconds) or NOT_FOLLOWED. */
    private String state() {
        if (member.local()) {
            return "LOCAL";
        }
        if (heard == null) {
            return "NOT_FOLLOWED";
        }
        return heard.silent() ? "SILENT" : heard.current() ? "CURRENT" : "BEHIND";
    }

    static Iterable<PeerRow> rows(NodeServices services, Map<String, Object> filter) {
        Object node = filter.get("nodeId");
        return LazyRows.of(
                services.members().all(),
                member -> LazyRows.matches(node, member.nodeId()),
                member -> new PeerRow(
                        member,
                        services.followed(member.nodeId()).orElse(null),
                        services.placement().report(member.nodeId()).orElse(null)));
    }
}
