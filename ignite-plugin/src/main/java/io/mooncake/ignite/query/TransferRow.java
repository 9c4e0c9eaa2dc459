// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.query;

import io.mooncake.ignite.internal.Member;
import io.mooncake.ignite.internal.NodeServices;
import io.mooncake.transfer.PeerQueue;
import io.mooncake.transfer.RailStatistics;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;

/**
 * A row of {@code SYS.MOONCAKE_TRANSFERS}: what moves between this node and one other now, and what went by each network connection.
 *
 * @param member the other node
 * @param queue asynchronous transfers under way
 * @param rails how the rails over TCP do; empty where nothing went that way
 */
record TransferRow(Member member, PeerQueue queue, List<RailStatistics> rails) {
    static final String VIEW = "mooncake.transfers";
    static final String DESCRIPTION = "Transfers between this node and each other node.";
    static final Columns<TransferRow> COLUMNS = new Columns<TransferRow>("nodeId")
            .text("nodeId", row -> row.member.nodeId().toString())
            .text("consistentId", row -> row.member.consistentId())
            .count("running", row -> row.queue.running())
            .count("waiting", row -> row.queue.waiting())
            .count("tcpRails", row -> row.rails.size())
            .count("restingRails", row ->
                    (int) row.rails.stream().filter(RailStatistics::resting).count())
            .number(
                    "tcpBytes",
                    row -> row.rails.stream().mapToLong(RailStatistics::bytes).sum())
            .number("tcpFailures", row -> row.rails.stream()
                    .mapToLong(RailStatistics::failures)
                    .sum());

    static Iterable<TransferRow> rows(NodeServices services, Map<String, Object> filter) {
        Object node = filter.get("nodeId");
        Map<UUID, PeerQueue> queues = new HashMap<>();
        services.engine().queues().forEach(queue -> queues.put(queue.peer(), queue));
        return LazyRows.of(
                services.members().all(),
                member -> !member.local() && LazyRows.matches(node, member.nodeId()),
                member -> new TransferRow(
                        member,
                        queues.getOrDefault(
                                member.address().incarnation(),
                                new PeerQueue(member.address().incarnation(), 0, 0)),
                        services.engine().rails(member.address())));
    }
}
