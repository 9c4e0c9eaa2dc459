// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.mirror;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

class WalkTimesTest {
    private final WalkTimes times = new WalkTimes();

    private static long millis(long millis) {
        // The clock's zero is anywhere.
        return Long.MAX_VALUE - TimeUnit.SECONDS.toNanos(5) + TimeUnit.MILLISECONDS.toNanos(millis);
    }

    @Test
    void due_neverRead_isDue() {
        assertThat(times.due(0, 0, 0)).isTrue();
    }

    @Test
    void due_blockCame_isDueAtOnce() {
        times.read(1, 1, millis(0));
        assertThat(times.due(1, 1, millis(0))).isFalse();
        assertThat(times.due(2, 1, millis(0))).isTrue();
    }

    @Test
    void due_blocksWereUsedOnly_isDueAfterTwoSeconds() {
        times.read(1, 1, millis(0));
        assertThat(times.due(1, 2, millis(1_999))).isFalse();
        assertThat(times.due(1, 2, millis(2_000))).isTrue();
        times.read(1, 2, millis(2_000));
        assertThat(times.due(1, 3, millis(2_001))).isFalse();
    }

    @Test
    void due_noCounterMoved_isDueAfterTenSeconds() {
        times.read(1, 1, millis(0));
        assertThat(times.due(1, 1, millis(9_999))).isFalse();
        assertThat(times.due(1, 1, millis(10_000))).isTrue();
    }
}
