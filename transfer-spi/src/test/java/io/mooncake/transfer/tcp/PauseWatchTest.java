// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.tcp;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

final class PauseWatchTest {
    private static final long MILLI = 1_000_000;
    // Close to where the clock overflows.
    private static final long START = Long.MAX_VALUE - 2000 * MILLI;

    private final PauseWatch watch = new PauseWatch(START);

    private static long at(long millis) {
        return START + millis * MILLI;
    }

    private void tickFor(long fromMillis, long toMillis) {
        for (long millis = fromMillis; millis <= toMillis; millis += 50) {
            watch.tick(at(millis));
        }
    }

    @Test
    void ranSince_regularTicks_isTrueFromTheBeginning() {
        tickFor(50, 3000);
        assertThat(watch.ranSince(START, at(3010))).isTrue();
        assertThat(watch.ranSince(START - 1, at(3010))).isFalse();
    }

    @Test
    void ranSince_lateTick_isFalseForWhatBeganBeforeIt() {
        tickFor(50, 500);
        watch.tick(at(1500));
        tickFor(1550, 3000);
        assertThat(watch.ranSince(at(1499), at(3000))).isFalse();
        assertThat(watch.ranSince(at(1500), at(3000))).isTrue();
    }

    @Test
    void ranSince_pauseThatNoTickHasSeenYet_isFalse() {
        tickFor(50, 500);
        assertThat(watch.ranSince(START, at(650))).isTrue();
        assertThat(watch.ranSince(START, at(1500))).isFalse();
    }
}
