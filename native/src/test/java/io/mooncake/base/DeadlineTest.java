// SPDX-License-Identifier: Apache-2.0
package io.mooncake.base;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class DeadlineTest {
    private final AtomicLong nanos = new AtomicLong(17);

    @Test
    void remaining_clockMoves_countsDownToZeroAndStays() {
        Deadline deadline = Deadline.of(Duration.ofMillis(5), nanos::get);
        assertThat(deadline.remainingMillis()).isEqualTo(5);
        nanos.addAndGet(4_000_001);
        assertThat(deadline.remainingNanos()).isEqualTo(999_999);
        assertThat(deadline.remainingMillis())
                .as("rounded up, so never zero while time is left")
                .isEqualTo(1);
        assertThat(deadline.expired()).isFalse();
        nanos.addAndGet(999_999);
        assertThat(deadline.expired()).isTrue();
        nanos.addAndGet(1_000_000_000L);
        assertThat(deadline.remainingNanos()).isZero();
    }

    @Test
    void remaining_clockWrapsAround_isStillRight() {
        nanos.set(Long.MAX_VALUE - 10);
        Deadline deadline = Deadline.of(Duration.ofNanos(100), nanos::get);
        assertThat(deadline.remainingNanos()).isEqualTo(100);
        nanos.addAndGet(60);
        assertThat(deadline.remainingNanos()).isEqualTo(40);
    }

    @Test
    void atMost_laterCap_keepsTheDeadline() {
        Deadline deadline = Deadline.of(Duration.ofMillis(5), nanos::get);
        assertThat(deadline.atMost(Duration.ofMillis(9)).remainingMillis()).isEqualTo(5);
        assertThat(deadline.atMost(Duration.ofMillis(2)).remainingMillis()).isEqualTo(2);
    }

    @ParameterizedTest
    @ValueSource(longs = {0, -1, 86_400_001})
    void ofMillis_outOfRange_isRefused(long millis) {
        assertThatThrownBy(() -> Deadline.ofMillis(millis))
                .isInstanceOf(MooncakeException.class)
                .hasMessageStartingWith("deadline: ")
                .hasMessageEndingWith("(expected: more than zero, at most one day)");
    }

    @Test
    void ofMillis_systemClock_isNotExpiredAtOnce() {
        assertThat(Deadline.ofMillis(60_000).remainingMillis()).isBetween(50_000L, 60_000L);
    }
}
