// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.adapter.control;

import io.mooncake.ignite.Explanation;
import io.mooncake.ignite.Mooncake;
import java.util.ArrayList;
import java.util.List;
import org.apache.ignite.internal.processors.task.GridInternal;

/** Asks each node what it would reuse for a prompt. */
@GridInternal
public final class MooncakeExplainTask extends LinesTask<MooncakeExplainCommandArg> {
    private static final long serialVersionUID = 0;

    @Override
    protected LinesJob<MooncakeExplainCommandArg> job(MooncakeExplainCommandArg arg) {
        return new ExplainJob(arg, debug);
    }

    private static final class ExplainJob extends LinesJob<MooncakeExplainCommandArg> {
        private static final long serialVersionUID = 0;

        ExplainJob(MooncakeExplainCommandArg arg, boolean debug) {
            super(arg, debug);
        }

        @Override
        List<String> lines(Mooncake mooncake, MooncakeExplainCommandArg arg) {
            Explanation seen = mooncake.explain(arg.pool(), arg.tokenIds());
            List<String> lines = new ArrayList<>();
            lines.add(seen.promptTokens() + " tokens, " + seen.reusableTokens() + " reusable at most");
            for (Explanation.Piece piece : seen.pieces()) {
                lines.add(piece.fromToken() + ".." + piece.toToken() + " from " + piece.nodeId() + " " + piece.tier()
                        + " by " + piece.way());
            }
            for (Explanation.Gap gap : seen.gaps()) {
                lines.add(gap.fromToken() + ".." + gap.toToken() + " missing: " + gap.reason());
            }
            return lines;
        }
    }
}
