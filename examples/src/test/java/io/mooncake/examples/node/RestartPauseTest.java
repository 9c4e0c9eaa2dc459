// SPDX-License-Identifier: Apache-2.0
package io.mooncake.examples.node;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

class RestartPauseTest {
    @Test
    void nextMillis_failsAgainAndAgain_doublesUntilAMinute() {
        AtomicLong now = new AtomicLong();
        RestartPause pause = new RestartPause(now::get);
        long[] expected = {1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000};
        for (long millis : expected) {
            pause.started();
            now.addAndGet(TimeUnit.MINUTES.toNanos(9));
            assertThat(pause.nextMillis()).isEqualTo(millis);
        }
        // One that does not start at all does not count as having lived.
        now.addAndGet(TimeUnit.HOURS.toNanos(1));
        assertThat(pause.nextMillis()).isEqualTo(60_000);
        pause.started();
        now.addAndGet(TimeUnit.MINUTES.toNanos(10));
        assertThat(pause.nextMillis()).isEqualTo(1_000);
        assertThat(pause.nextMillis()).isEqualTo(2_000);
    }
}
