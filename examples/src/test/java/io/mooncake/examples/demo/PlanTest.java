// SPDX-License-Identifier: Apache-2.0
package io.mooncake.examples.demo;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

final class PlanTest {
    @ParameterizedTest
    @ValueSource(ints = {24, 25, 36, 41, 60, 99, 400})
    void of_anyTotal_movesAtLeastAQuarter(int total) {
        List<Plan.Request> requests = Plan.of(total).requests();
        assertThat(requests).hasSize(total);
        long moved = requests.stream().filter(r -> r.kind() == Plan.Kind.MOVED).count();
        assertThat(4 * moved).isGreaterThanOrEqualTo(total);
        assertThat(requests)
                .extracting(Plan.Request::index)
                .doesNotHaveDuplicates()
                .isSorted();
    }

    @ParameterizedTest
    @ValueSource(ints = {24, 36, 100})
    void of_anyTotal_turnsOfAConversationFollowEachOther(int total) {
        Map<String, Integer> turns = new HashMap<>();
        for (Plan.Wave wave : Plan.of(total).waves()) {
            assertThat(wave.requests()).extracting(Plan.Request::conversation).doesNotHaveDuplicates();
            for (Plan.Request request : wave.requests()) {
                assertThat(request.turn()).isEqualTo(turns.merge(request.conversation(), 1, Integer::sum));
            }
        }
    }

    @Test
    void of_tooFewOrMany_isRefused() {
        assertThatThrownBy(() -> Plan.of(23)).hasMessage("--requests: 23 (expected: 24..400)");
        assertThatThrownBy(() -> Plan.of(401)).hasMessageContaining("401");
    }

    @Test
    void systemPrompt_desks_differFromTheFirstSentence() {
        List<String> prompts =
                Plan.of(24).desks().stream().map(Plan::systemPrompt).toList();
        assertThat(prompts).doesNotHaveDuplicates().allMatch(text -> !text.contains("{") && text.length() > 4_000);
        assertThat(prompts.get(0)).startsWith("You answer questions at the harbour desk");
    }
}
