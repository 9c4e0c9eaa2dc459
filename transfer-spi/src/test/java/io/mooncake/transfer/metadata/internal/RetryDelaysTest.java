// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.metadata.internal;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.SplittableRandom;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;

class RetryDelaysTest {
    @Test
    void nextNanos_doublesUpToTheBound_andKeepsARandomHalf() {
        RetryDelays delays = new RetryDelays(Duration.ofMillis(100), Duration.ofSeconds(2), new SplittableRandom(1));
        long whole = 100_000_000;
        for (int i = 0; i < 100; i++) {
            assertThat(delays.nextNanos()).isBetween(whole / 2, whole);
            whole = Math.min(2_000_000_000, 2 * whole);
        }
        assertThat(delays.failures()).isEqualTo(100);
        delays.succeeded();
        assertThat(delays.nextNanos()).isLessThanOrEqualTo(100_000_000);
    }

    @Test
    void nextNanos_sameSeed_isTheSame_otherSeedIsNot() {
        assertThat(first(7)).containsExactly(first(7));
        assertThat(first(7)).isNotEqualTo(first(8));
    }

    private static long[] first(long seed) {
        RetryDelays delays = new RetryDelays(Duration.ofMillis(100), Duration.ofSeconds(2), new SplittableRandom(seed));
        return LongStream.generate(delays::nextNanos).limit(10).toArray();
    }
}
