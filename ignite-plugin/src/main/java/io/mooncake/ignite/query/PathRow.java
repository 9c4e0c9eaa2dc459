// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.query;

import io.mooncake.base.Deadline;
import io.mooncake.base.MooncakeException;
import io.mooncake.ignite.internal.Member;
import io.mooncake.ignite.internal.NodeServices;
import io.mooncake.transfer.PathReport;
import io.mooncake.transfer.topology.PathMatrix;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/**
 * A row of {@code SYS.MOONCAKE_PATHS}: how this node's transfers to one other node go, why not better, and what was measured of one rail to
 * it; a row a rail, one without a rail where nothing was measured. The first question probes a peer that was not used yet.
 *
 * @param member the peer
 * @param reads the way of reads, or UNKNOWN
 * @param writes the way of writes, or UNKNOWN
 * @param over devices of the way over the network; empty when there is nothing to tell
 * @param reason why it is no better way; empty when there is none
 * @param rail {@code tcp 0}, {@code rdma 1}, {@code memory}; empty when nothing was measured
 * @param roundTripMicros of a small transfer; 0 when not measured
 * @param bytesPerSecond of large transfers; 0 when not measured
 */
public record PathRow(
        Member member,
        String reads,
        String writes,
        String over,
        String reason,
        String rail,
        double roundTripMicros,
        long bytesPerSecond) {
    static final String VIEW = "mooncake.paths";
    static final String DESCRIPTION = "How this node's transfers to other nodes go, and why.";
    private static final String NODE = "nodeId";
    static final Columns<PathRow> COLUMNS = new Columns<PathRow>(NODE)
            .text(NODE, row -> row.member().nodeId().toString())
            .text("consistentId", row -> row.member().consistentId())
            .text("endpoint", row -> row.member().address().encode())
            .text("reads", PathRow::reads)
            .text("writes", PathRow::writes)
            .text("network", PathRow::over)
            .text("reason", PathRow::reason)
            .text("rail", PathRow::rail)
            .decimal("roundTripMicros", PathRow::roundTripMicros)
            .number("bytesPerSecond", PathRow::bytesPerSecond);
    private static final String UNKNOWN = "UNKNOWN";
    private static final double NANOS_A_MICRO = 1e3;
    private static final long ONE_PEER_MILLIS = 1_000;
    private static final long ALL_PEERS_MILLIS = 3_000;

    /** The rows that pass {@code filter}: values by column. A query takes some seconds at most, however many peers don't answer. */
    static Iterable<PathRow> rows(NodeServices services, Map<String, Object> filter) {
        Object wanted = filter.get(NODE);
        Deadline all = Deadline.ofMillis(ALL_PEERS_MILLIS);
        List<PathMatrix.Entry> measured = services.engine().pathMatrix().entries();
        List<PathRow> rows = new ArrayList<>();
        for (Member member : services.members().all()) {
            if (!member.local() && (wanted == null || member.nodeId().toString().equals(wanted.toString()))) {
                PathRow path = ask(services, member, all);
                List<PathRow> rails = measured.stream()
                        .filter(one -> one.peer().equals(member.address().incarnation()))
                        .map(path::over)
                        .toList();
                rows.addAll(rails.isEmpty() ? List.of(path) : rails);
            }
        }
        return rows;
    }

    private PathRow over(PathMatrix.Entry measured) {
        return new PathRow(
                member,
                reads,
                writes,
                over,
                reason,
                measured.railName(),
                measured.roundTripNanos() / NANOS_A_MICRO,
                measured.bytesPerSecond());
    }

    private static PathRow unmeasured(Member member, String reads, String writes, String over, String reason) {
        return new PathRow(member, reads, writes, over, reason, "", 0, 0);
    }

    private static PathRow ask(NodeServices services, Member member, Deadline all) {
        if (all.expired()) {
            return unmeasured(member, UNKNOWN, UNKNOWN, "", "not asked, other nodes took too long");
        }
        try {
            PathReport report = services.engine().path(member.address(), Deadline.ofMillis(ONE_PEER_MILLIS));
            return unmeasured(member, report.reads().name(), report.writes().name(), report.over(), report.reason());
        } catch (MooncakeException e) {
            return unmeasured(member, UNKNOWN, UNKNOWN, "", String.valueOf(e.getMessage()));
        }
    }
}
