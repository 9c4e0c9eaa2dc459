// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.tcp;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

/** On a clock of its own. */
final class BreakerTest {
    private static final long SECOND = 1_000_000_000L;

    private final Breaker breaker = new Breaker();

    /** Calls in a row, each as long as {@code nanos}, that hear nothing; when the last one has ended. */
    private long silentCalls(int calls, long startNanos, long heardNanos, long nanos) {
        long now = startNanos;
        for (int i = 0; i < calls; i++) {
            breaker.timedOut(now, heardNanos, now + nanos);
            now += nanos;
        }
        return now;
    }

    @Test
    void timedOut_shortCallsToPeerThatWasIdle_openNothing() {
        silentCalls(Breaker.SILENT_CALLS + 3, 100 * SECOND, SECOND, 1_000_000);
        assertThat(breaker.closed()).isTrue();
        assertThat(breaker.pass()).isEqualTo(Breaker.Pass.YES);
    }

    @Test
    void timedOut_silenceWhileItIsAsked_opensAndOneTrialCloses() {
        long now = silentCalls(Breaker.SILENT_CALLS - 1, 100 * SECOND, SECOND, SECOND);
        assertThat(breaker.closed()).isTrue();
        now = silentCalls(1, now, SECOND, SECOND);
        assertThat(breaker.pass()).isEqualTo(Breaker.Pass.NO);
        assertThat(breaker.startProbe(now)).isFalse();
        assertThat(breaker.startProbe(now + Breaker.FIRST_PAUSE_NANOS)).isTrue();
        breaker.probed(true, now + Breaker.FIRST_PAUSE_NANOS);
        assertThat(breaker.pass()).isEqualTo(Breaker.Pass.TRIAL);
        assertThat(breaker.pass()).isEqualTo(Breaker.Pass.NO);
        breaker.heard();
        assertThat(breaker.pass()).isEqualTo(Breaker.Pass.YES);
    }

    @Test
    void timedOut_trialIsSilentToo_pausesForLonger() {
        long now = silentCalls(Breaker.SILENT_CALLS, 100 * SECOND, SECOND, SECOND) + Breaker.FIRST_PAUSE_NANOS;
        assertThat(breaker.startProbe(now)).isTrue();
        breaker.probed(true, now);
        assertThat(breaker.pass()).isEqualTo(Breaker.Pass.TRIAL);
        now = silentCalls(1, now, SECOND, SECOND);
        assertThat(breaker.pass()).isEqualTo(Breaker.Pass.NO);
        assertThat(breaker.startProbe(now + Breaker.FIRST_PAUSE_NANOS)).isFalse();
        assertThat(breaker.startProbe(now + 2 * Breaker.FIRST_PAUSE_NANOS)).isTrue();
    }

    @Test
    void heard_betweenSilentCalls_startsTheCountAgain() {
        long now = silentCalls(Breaker.SILENT_CALLS - 1, 100 * SECOND, SECOND, SECOND);
        breaker.heard();
        silentCalls(Breaker.SILENT_CALLS - 1, now, SECOND, SECOND);
        assertThat(breaker.closed()).isTrue();
    }

    @Test
    void undecided_trialOfAPausedProcess_leavesTheTrialToTheNextCall() {
        long now = silentCalls(Breaker.SILENT_CALLS, 100 * SECOND, SECOND, SECOND) + Breaker.FIRST_PAUSE_NANOS;
        assertThat(breaker.startProbe(now)).isTrue();
        breaker.probed(true, now);
        assertThat(breaker.pass()).isEqualTo(Breaker.Pass.TRIAL);
        breaker.undecided();
        assertThat(breaker.pass()).isEqualTo(Breaker.Pass.TRIAL);
        breaker.heard();
        assertThat(breaker.closed()).isTrue();
    }
}
