// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory.ssd;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

/** By a clock of its own: what counts as a stall. */
final class IoWatchTest {
    private static final long MILLI = 1_000_000;
    private static final long LIMIT = 10_000 * MILLI;

    private long now = 5;
    private final IoWatch watch = new IoWatch(2, () -> now);

    /** Looks every 50 ms for so long; how many stalls it saw. */
    private int look(long millis) {
        int stalls = 0;
        for (long at = 0; at < millis; at += 50) {
            now += 50 * MILLI;
            stalls += watch.stalls(LIMIT);
        }
        return stalls;
    }

    @Test
    void stalls_operationDoesNotEnd_areCountedOnceForEachLimit() {
        watch.begin(0);
        assertThat(look(9_900)).isZero();
        assertThat(look(200)).isEqualTo(1);
        assertThat(look(20_000)).isEqualTo(2);
        assertThat(watch.longest()).isEqualTo(3);
        watch.end(0);
        assertThat(look(20_000)).isZero();
        assertThat(watch.longest()).isZero();
    }

    @Test
    void stalls_processWasStopped_areNotTheDevices() {
        watch.begin(0);
        assertThat(look(6_000)).isZero();
        watch.begin(1);
        now += 22_000 * MILLI;
        assertThat(watch.stalls(LIMIT)).isZero();
        // Six seconds of the first were before the pause.
        assertThat(look(3_900)).isZero();
        assertThat(look(200)).isEqualTo(1);
        assertThat(look(5_500)).isZero();
        assertThat(look(500)).as("of the second, begun as it was stopped").isEqualTo(1);
    }

    @Test
    void stalls_afterAPause_areCountedAsBefore() {
        now += 60_000 * MILLI;
        assertThat(watch.stalls(LIMIT)).isZero();
        watch.begin(1);
        assertThat(look(25_000)).isEqualTo(2);
    }
}
