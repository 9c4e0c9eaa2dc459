// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.query;

import io.mooncake.ignite.internal.Member;
import io.mooncake.ignite.internal.NodeServices;
import io.mooncake.transfer.GrantedLease;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/**
 * A row of {@code SYS.MOONCAKE_LEASES}: blocks of this node that it promised to a reader not to move.
 *
 * @param node id of the reader; empty for one that is no member
 * @param lease as the engine keeps it
 */
record LeaseRow(String node, GrantedLease lease) {
    static final String VIEW = "mooncake.leases";
    static final String DESCRIPTION = "Leases on this node's blocks that other nodes hold.";
    static final Columns<LeaseRow> COLUMNS = new Columns<LeaseRow>("lease")
            .number("lease", row -> row.lease.id())
            .text("nodeId", LeaseRow::node)
            .text("incarnation", row -> row.lease.holder().toString())
            .count("blocks", row -> row.lease.elements())
            .number("bytes", row -> row.lease.bytes())
            .number("leftMs", row -> TimeUnit.NANOSECONDS.toMillis(row.lease.leftNanos()));

    static Iterable<LeaseRow> rows(NodeServices services, Map<String, Object> filter) {
        Object lease = filter.get("lease");
        return LazyRows.of(
                services.engine().leases(),
                one -> LazyRows.matches(lease, one.id()),
                one -> new LeaseRow(holder(services, one), one));
    }

    private static String holder(NodeServices services, GrantedLease lease) {
        for (Member member : services.members().all()) {
            if (member.address().incarnation().equals(lease.holder())) {
                return member.nodeId().toString();
            }
        }
        return "";
    }
}
