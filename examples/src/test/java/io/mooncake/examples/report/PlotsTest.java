// SPDX-License-Identifier: Apache-2.0
package io.mooncake.examples.report;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.stream.DoubleStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

final class PlotsTest {
    @ParameterizedTest
    @CsvSource({"140,11649", "0.5,0.5", "1,10", "99,101", "3,3000"})
    void ladder_range_isCoveredTightly(double min, double max) {
        List<Double> ticks = Plots.ladder(min, max);
        double first = ticks.get(0);
        double last = ticks.get(ticks.size() - 1);
        assertThat(first).isLessThanOrEqualTo(min);
        assertThat(last).isGreaterThanOrEqualTo(max);
        assertThat(ticks).isSorted().hasSizeGreaterThan(1);
        assertThat(ticks.stream().filter(tick -> tick <= min)).hasSize(1);
    }

    @Test
    void niceCeiling_anyValue_isAtLeastIt() {
        DoubleStream.of(0.3, 1, 7, 99, 1_171, 42_368)
                .forEach(value -> assertThat(Plots.niceCeiling(value)).isBetween(value, 1.6 * value));
    }
}
