// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.query;

import io.mooncake.base.MooncakeException;
import io.mooncake.ignite.Explanation;
import io.mooncake.ignite.internal.NodeServices;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;

/**
 * A row of {@code SYS.MOONCAKE_EXPLAIN}: a piece of the prompt that the query asks for, and where this node would take it from, or why it is
 * missed. {@code WHERE POOL = 'name' AND TOKENS = '1,2,3'} is the question; without both there is no row. Ignite's H2 engine tells a view what
 * its query asks for; Calcite does not, so there are never rows there.
 *
 * @param pool as it was asked
 * @param tokens as they were asked, parted by commas
 * @param fromToken index of the first token of the piece
 * @param toToken index behind the last
 * @param node id of the node that has it; empty when it is missed
 * @param tier DRAM, SSD or MIXED; empty when it is missed
 * @param way how it would come; empty when it is missed
 * @param reason why it is missed; empty when it is not
 */
record ExplainRow(
        String pool, String tokens, int fromToken, int toToken, String node, String tier, String way, String reason) {
    static final String VIEW = "mooncake.explain";
    static final String DESCRIPTION =
            "What this node would reuse for a prompt: WHERE POOL = 'name' AND TOKENS = '1,2,3'.";
    private static final String POOL = "pool";
    private static final String TOKENS = "tokens";
    static final Columns<ExplainRow> COLUMNS = new Columns<ExplainRow>(POOL, TOKENS)
            .text(POOL, ExplainRow::pool)
            .text(TOKENS, ExplainRow::tokens)
            .count("fromToken", ExplainRow::fromToken)
            .count("toToken", ExplainRow::toToken)
            .text("nodeId", ExplainRow::node)
            .text("tier", ExplainRow::tier)
            .text("way", ExplainRow::way)
            .text("reason", ExplainRow::reason);

    /** @throws MooncakeException NOT_FOUND or INVALID_ARGUMENT, naming the value; it becomes the query's error */
    static Iterable<ExplainRow> rows(NodeServices services, Map<String, Object> filter) {
        Object pool = filter.get(POOL);
        Object tokens = filter.get(TOKENS);
        if (pool == null || tokens == null) {
            return List.of();
        }
        String asked = tokens.toString();
        Explanation seen = services.mooncake()
                .explain(
                        pool.toString(),
                        services.tenants().of(services.adapter().sqlCaller()),
                        parse(asked));
        List<ExplainRow> rows = new ArrayList<>();
        for (Explanation.Piece piece : seen.pieces()) {
            rows.add(new ExplainRow(
                    pool.toString(),
                    asked,
                    piece.fromToken(),
                    piece.toToken(),
                    piece.nodeId().toString(),
                    piece.tier(),
                    piece.way(),
                    ""));
        }
        for (Explanation.Gap gap : seen.gaps()) {
            rows.add(new ExplainRow(
                    pool.toString(),
                    asked,
                    gap.fromToken(),
                    gap.toToken(),
                    "",
                    "",
                    "",
                    gap.reason().name()));
        }
        return rows;
    }

    private static int[] parse(String tokens) {
        try {
            return Arrays.stream(tokens.split(",", -1))
                    .map(String::strip)
                    .mapToInt(Integer::parseInt)
                    .toArray();
        } catch (NumberFormatException e) {
            throw MooncakeException.invalid("tokens", tokens, "token ids, parted by commas");
        }
    }
}
