// SPDX-License-Identifier: Apache-2.0
package io.mooncake.examples.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

final class NearestNameTest {
    private static final List<String> NAMES = List.of("node", "demo", "sql", "doctor", "help", "capacityBytes");

    @ParameterizedTest
    @CsvSource({"nod,node", "dmeo,demo", "SQL,sql", "docter,doctor", "capacityByte,capacityBytes", "hepl,help"})
    void of_typingError_findsTheNameMeant(String typed, String meant) {
        assertThat(NearestName.of(typed, NAMES)).contains(meant);
    }

    @Test
    void of_somethingElse_isEmpty() {
        assertThat(NearestName.of("transport", NAMES)).isEmpty();
        assertThat(NearestName.of("x", List.of())).isEmpty();
    }

    @Test
    void distance_swappedNeighbours_countOnce() {
        assertThat(NearestName.distance("dmeo", "demo")).isEqualTo(1);
        assertThat(NearestName.distance("", "abc")).isEqualTo(3);
        assertThat(NearestName.distance("kitten", "sitting")).isEqualTo(3);
    }
}
