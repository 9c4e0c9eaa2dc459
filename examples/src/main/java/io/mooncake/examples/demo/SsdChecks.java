// SPDX-License-Identifier: Apache-2.0
package io.mooncake.examples.demo;

import io.mooncake.examples.demo.DemoOutcome.Check;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.function.ToLongFunction;

/** What the demo promises of its nodes' SSDs. */
final class SsdChecks {
    private SsdChecks() {}

    /**
     * @param nodes the nodes before one was restarted; killed ones tell nothing
     * @param blockTokens tokens a block
     */
    static List<Check> of(List<NodeRow> nodes, RestartRow restart, int blockTokens) {
        List<Check> checks = new ArrayList<>();
        List<NodeRow> alive = nodes.stream().filter(NodeRow::alive).toList();
        checks.add(new Check(
                "every node's SSD keeps more blocks than its memory can hold",
                !alive.isEmpty() && alive.stream().allMatch(node -> node.ssdBlocks() > node.capacityBlocks()),
                figures(alive, NodeRow::ssdBlocks) + " on SSD; room for " + figures(alive, NodeRow::capacityBlocks)
                        + " in memory"));
        long loads = alive.stream().mapToLong(NodeRow::ssdLoads).sum();
        checks.add(new Check(
                "requests are answered with blocks that memory had given up and the SSD brought back",
                loads > 0,
                loads + " blocks (" + figures(alive, NodeRow::ssdLoads) + "), " + loads * blockTokens + " tokens"));
        RequestRow answer = restart.answer();
        String node = restart.node();
        if (answer == null) {
            checks.add(new Check(node + " answers after its restart with what its SSD kept", false, restart.failure()));
            return checks;
        }
        boolean fromSsd = restart.ssdTokens() > 0
                && restart.ssdTokens() == answer.localTokens()
                && answer.remoteTokens() == 0
                && answer.computedTokens() <= blockTokens
                && restart.memoryBlocksAfter() == 0
                && restart.othersTokens() < blockTokens;
        checks.add(new Check(
                node + " answers after its restart with what its SSD kept and nobody else has",
                fromSsd,
                restart.ssdTokens() + " of " + answer.promptTokens() + " tokens from the SSD, "
                        + answer.remoteTokens() + " fetched; " + restart.memoryBlocksAfter()
                        + " blocks in memory before, " + restart.othersTokens() + " tokens on other nodes"
                        + (fromSsd ? "" : "; reuse ended with " + answer.missReason())));
        checks.add(new Check(
                "the answer of the restarted node is bit-identical with a computed one",
                answer.logitsEqual() && answer.tokensEqual(),
                answer.logitsEqual() && answer.tokensEqual() ? "1 of 1" : "0 of 1"));
        checks.add(new Check(
                "the first token of the restarted node came sooner than computed",
                restart.savedMillis() > 0,
                String.format(
                        Locale.ROOT,
                        "%.0f ms with the SSD, %.0f ms computed: %.1f s saved",
                        answer.cachedMillis(),
                        answer.computedMillis(),
                        restart.savedMillis() / 1_000)));
        return checks;
    }

    private static String figures(List<NodeRow> nodes, ToLongFunction<NodeRow> figure) {
        return String.join(
                ", ",
                nodes.stream()
                        .map(node -> Long.toString(figure.applyAsLong(node)))
                        .toList());
    }
}
