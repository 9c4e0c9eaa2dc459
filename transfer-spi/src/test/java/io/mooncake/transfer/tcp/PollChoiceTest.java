// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.tcp;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

/** The way with the shorter waits is used, whatever it was before, and a wrong trial costs little. */
final class PollChoiceTest {
    private static final int MANY = 200_000;

    private final PollChoice choice = new PollChoice();
    private long asked;
    private long nanos;

    private void wait(int times, long whenAsking, long whenSleeping) {
        asked = 0;
        nanos = 0;
        for (int i = 0; i < times; i++) {
            boolean ask = choice.ask();
            long waited = ask ? whenAsking : whenSleeping;
            asked += ask ? 1 : 0;
            nanos += waited;
            choice.waited(waited);
        }
    }

    @Test
    void waited_askingShortens_isKept() {
        wait(MANY, 8_000, 19_000);
        assertThat(asked).isGreaterThan(MANY * 97L / 100);
    }

    @Test
    void waited_askingKeepsThePeerFromRunning_isGivenUpAtSmallCost() {
        wait(MANY, 110_000, 10_000);
        assertThat(asked).isLessThan(MANY / 500);
        assertThat(nanos).isLessThan(MANY * 10_000L * 103 / 100);
    }

    @Test
    void waited_askingIsALittleSlower_isGivenUp() {
        wait(MANY, 30_000, 14_000);
        assertThat(asked).isLessThan(MANY / 20);
    }

    @Test
    void waited_theMachineGetsIdleAgain_isTakenUpAgain() {
        wait(MANY, 110_000, 10_000);
        wait(2 * PollChoice.LONGEST_PERIOD, 8_000, 19_000);
        wait(MANY, 8_000, 19_000);
        assertThat(asked).isGreaterThan(MANY * 97L / 100);
    }

    @Test
    void waited_pausesWhileAsking_endItSoonAndForGood() {
        wait(MANY, 8_000, 19_000);
        assertThat(choice.ask()).isTrue();
        wait(MANY, 2 * PollChoice.IDLE_NANOS, 2 * PollChoice.IDLE_NANOS);
        assertThat(asked).isLessThan(20);
        wait(2 * PollChoice.LONGEST_PERIOD, 8_000, 19_000);
        wait(MANY, 8_000, 19_000);
        assertThat(asked).isGreaterThan(MANY * 97L / 100);
    }

    @Test
    void waited_pausesWhileSleeping_sayNothing() {
        boolean first = choice.ask();
        for (int i = 0; i < 10 * PollChoice.PERIOD; i++) {
            choice.waited(PollChoice.IDLE_NANOS);
            assertThat(choice.ask()).isEqualTo(first);
        }
    }
}
