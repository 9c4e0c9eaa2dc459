// SPDX-License-Identifier: Apache-2.0
package io.mooncake.examples.demo;

import static org.assertj.core.api.Assertions.assertThat;

import io.mooncake.examples.demo.DemoOutcome.Check;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Each promise about the SSDs holds for good figures, and is broken by the figure that breaks it. */
final class SsdChecksTest {
    private static final NodeRow GOOD_NODE = node("node-1", true, 90, 20);

    private static NodeRow node(String name, boolean alive, long ssdBlocks, long ssdLoads) {
        return new NodeRow(name, alive, 10, 1, 1, 1, 1, 1, 66, 68, ssdBlocks, ssdLoads);
    }

    private static RequestRow answer(int local, int remote, boolean equal, double cachedMillis) {
        return new RequestRow(
                37,
                "depot",
                "depot-2",
                1,
                false,
                "node-3",
                1_167,
                local,
                local,
                remote,
                "NONE",
                cachedMillis,
                4_500,
                14,
                equal,
                equal,
                0,
                "q",
                "a",
                null,
                false);
    }

    private static RestartRow restart(RequestRow answer, int ssdTokens, long memoryBlocks, int othersTokens) {
        double saved = answer.computedMillis() - answer.cachedMillis();
        return new RestartRow(
                "node-3", false, 1, 8, 110, 110, memoryBlocks, othersTokens, 18, ssdTokens, saved, answer, null);
    }

    private static List<Boolean> held(List<NodeRow> nodes, RestartRow restart) {
        return SsdChecks.of(nodes, restart, 64).stream().map(Check::held).toList();
    }

    @Test
    void of_goodFigures_allHold() {
        assertThat(held(List.of(GOOD_NODE), restart(answer(1_152, 0, true, 200), 1_152, 0, 0)))
                .hasSize(5)
                .doesNotContain(false);
    }

    @Test
    void of_oneNodeWhoseMemoryHoldsAll_breaksTheFirstAlone() {
        List<NodeRow> nodes = List.of(GOOD_NODE, node("node-2", true, 68, 20));
        assertThat(held(nodes, restart(answer(1_152, 0, true, 200), 1_152, 0, 0)))
                .containsExactly(false, true, true, true, true);
    }

    @Test
    void of_nothingLoaded_breaksTheSecondAlone() {
        assertThat(held(List.of(node("node-1", true, 90, 0)), restart(answer(1_152, 0, true, 200), 1_152, 0, 0)))
                .containsExactly(true, false, true, true, true);
    }

    @Test
    void of_killedNode_isNotAsked() {
        List<NodeRow> nodes = List.of(GOOD_NODE, node("node-3", false, 0, 0));
        assertThat(held(nodes, restart(answer(1_152, 0, true, 200), 1_152, 0, 0)))
                .doesNotContain(false);
    }

    @ParameterizedTest
    @CsvSource({
        "1152, 0, 1088, 0, 0", // one block came from elsewhere
        "1088, 64, 1088, 0, 0", // a peer helped
        "640, 0, 640, 0, 0", // the SSD had half of it
        "0, 0, 0, 0, 0",
        "1152, 0, 1152, 18, 0", // memory was not empty
        "1152, 0, 1152, 0, 1152" // another node had it, too
    })
    void of_tokensNotFromTheSsdAlone_breaksTheThird(int local, int remote, int ssd, long memoryBlocks, int others) {
        assertThat(held(List.of(GOOD_NODE), restart(answer(local, remote, true, 200), ssd, memoryBlocks, others)))
                .containsExactly(true, true, false, true, true);
    }

    @Test
    void of_otherBitsOrNoTimeSaved_breaksTheLastTwo() {
        assertThat(held(List.of(GOOD_NODE), restart(answer(1_152, 0, false, 4_600), 1_152, 0, 0)))
                .containsExactly(true, true, true, false, false);
    }

    @Test
    void of_nodeThatDoesNotComeBack_isBrokenAndSaysWhy() {
        List<Check> checks = SsdChecks.of(List.of(GOOD_NODE), RestartRow.failed("node-3", true, "did not start"), 64);
        assertThat(checks.get(2).held()).isFalse();
        assertThat(checks.get(2).detail()).isEqualTo("did not start");
    }
}
