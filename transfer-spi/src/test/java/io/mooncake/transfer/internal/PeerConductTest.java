// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.internal;

import static org.assertj.core.api.Assertions.assertThat;

import io.mooncake.transfer.RefusalCause;
import io.mooncake.transfer.internal.PeerConduct.Verdict;
import java.util.UUID;
import org.junit.jupiter.api.Test;

/** What refusals lead to; time is the test's. */
final class PeerConductTest {
    private static final long SECOND = 1_000_000_000L;
    private final PeerConduct conduct = new PeerConduct();
    private final UUID peer = new UUID(0, 1);

    @Test
    void refused_aThousandAtOnce_isAnsweredThenSlowedThenPutOut() {
        long now = -SECOND / 2;
        for (int i = 0; i < 1000; i++) {
            assertThat(conduct.refused(peer, RefusalCause.FORGED, now)).isEqualTo(Verdict.ANSWER);
        }
        long pause = 0;
        for (int i = 0; i < 64; i++) {
            assertThat(conduct.refused(peer, RefusalCause.RANGE, now)).isEqualTo(Verdict.PAUSE);
            assertThat(conduct.pauseNanos(peer)).isGreaterThanOrEqualTo(pause);
            pause = conduct.pauseNanos(peer);
            now += pause;
        }
        assertThat(pause).isEqualTo(8_000_000);
        assertThat(conduct.keptOut(peer, now)).isFalse();
        assertThat(conduct.refused(peer, RefusalCause.FORGED, now)).isEqualTo(Verdict.CUT);
        assertThat(conduct.keptOut(peer, now + PeerConduct.OUT_NANOS - 1)).isTrue();
        assertThat(conduct.keptOut(new UUID(0, 2), now)).isFalse();
        assertThat(conduct.keptOut(peer, now + PeerConduct.OUT_NANOS)).isFalse();
        assertThat(conduct.refused(peer, RefusalCause.FORGED, now + PeerConduct.OUT_NANOS))
                .isEqualTo(Verdict.ANSWER);
    }

    @Test
    void refused_aBatchOfStaleReads_isAnswered() {
        for (int i = 0; i < 4096; i++) {
            assertThat(conduct.refused(peer, RefusalCause.STALE, i)).isEqualTo(Verdict.ANSWER);
        }
    }

    @Test
    void refused_staleOnesWithoutEnd_areSlowedAndNeverPutOut() {
        for (int i = 0; i < 100_000; i++) {
            assertThat(conduct.refused(peer, RefusalCause.STALE, i)).isNotEqualTo(Verdict.CUT);
        }
        assertThat(conduct.pauseNanos(peer)).isEqualTo(8_000_000);
        assertThat(conduct.refused(peer, RefusalCause.FORGED, 100_000)).isEqualTo(Verdict.CUT);
    }

    @Test
    void refused_belowTheRateForMinutes_isAnswered() {
        for (int i = 0; i < 60_000; i++) {
            assertThat(conduct.refused(peer, RefusalCause.FORGED, i * SECOND / 900))
                    .isEqualTo(Verdict.ANSWER);
        }
    }

    @Test
    void refused_aMillionNames_keepsTheLatestOnly() {
        for (int i = 0; i < 100_000; i++) {
            assertThat(conduct.refused(new UUID(1, i), RefusalCause.FORGED, i)).isEqualTo(Verdict.ANSWER);
        }
        assertThat(conduct.known()).isEqualTo(4096);
    }
}
