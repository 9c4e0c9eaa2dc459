// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory.policy;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import io.mooncake.memory.Seeds;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

final class ReturnModelTest {
    private static final long SHORT_ANSWER = Traits.of(0, 10, 10, -1, 5_000, 10);
    private static final long LONG_ANSWER = Traits.of(0, 10, 10, -1, 5_000, 500);

    /** Stays that return at a constant {@code rate} a second, for up to ten minutes. */
    private static void live(ReturnModel model, SplittableRandom random, long traits, double rate) {
        double age = -Math.log(1 - random.nextDouble()) / rate;
        for (int bin = 0; ReturnModel.beginMillis(bin) < 600_000; bin++) {
            double begin = ReturnModel.beginMillis(bin) * 1e-3;
            if (age * 1e3 < ReturnModel.beginMillis(bin + 1)) {
                model.cameBack(BlockClass.BODY, traits, bin, age - begin);
                return;
            }
            model.stayedAway(BlockClass.BODY, traits, bin);
        }
    }

    @Test
    void hazard_returnsAtAKnownRate_isLearned() {
        SplittableRandom random = Seeds.random("hazard");
        ReturnModel model = new ReturnModel(0);
        for (int i = 0; i < 20_000; i++) {
            live(model, random, SHORT_ANSWER, 0.02);
            live(model, random, LONG_ANSWER, 0.002);
        }
        for (int bin : new int[] {2, 6, 10}) {
            assertThat(model.hazard(BlockClass.BODY, SHORT_ANSWER, bin)).isCloseTo(0.02, within(0.008));
            assertThat(model.hazard(BlockClass.BODY, LONG_ANSWER, bin)).isCloseTo(0.002, within(0.0008));
        }
    }

    @Test
    void index_constantHazard_isTheHazard() {
        SplittableRandom random = Seeds.random("index");
        ReturnModel model = new ReturnModel(0);
        for (int i = 0; i < 20_000; i++) {
            live(model, random, SHORT_ANSWER, 0.02);
        }
        assertThat(model.index(BlockClass.BODY, SHORT_ANSWER, 4)).isBetween(0.012, 0.04);
        assertThat(model.index(BlockClass.BODY, SHORT_ANSWER, ReturnModel.BINS)).isZero();
    }

    @Test
    void index_risingHazard_looksBeyondThePause() {
        ReturnModel model = new ReturnModel(0);
        for (int i = 0; i < 5_000; i++) {
            int bin = 0;
            for (; ReturnModel.beginMillis(bin) < 60_000; bin++) {
                model.stayedAway(BlockClass.BODY, Traits.NONE, bin);
            }
            model.cameBack(BlockClass.BODY, Traits.NONE, bin, 1);
        }
        assertThat(model.hazard(BlockClass.BODY, Traits.NONE, 4)).isLessThan(0.001);
        assertThat(model.index(BlockClass.BODY, Traits.NONE, 4)).isGreaterThan(0.01);
    }

    /** Else a few prompts that are asked for twice at once would make the return of everything else seem certain. */
    @Test
    void hazard_returnsAtOnce_isNoMoreThanCanBeMadeUseOf() {
        ReturnModel model = new ReturnModel(0);
        for (int i = 0; i < 1_000; i++) {
            for (int bin = 0; bin < 12; bin++) {
                model.cameBack(BlockClass.BODY, SHORT_ANSWER, bin, 0);
            }
        }
        for (int bin = 0; bin < 12; bin++) {
            assertThat(model.hazard(BlockClass.BODY, SHORT_ANSWER, bin))
                    .as("bin " + bin)
                    .isBetween(0.5 / ReturnModel.LEAST_SECONDS, 1 / ReturnModel.LEAST_SECONDS);
        }
        assertThat(model.index(BlockClass.BODY, SHORT_ANSWER, 0)).isLessThanOrEqualTo(1 / ReturnModel.LEAST_SECONDS);
        SplittableRandom random = Seeds.random("at once");
        for (int i = 0; i < 1_000; i++) {
            live(model, random, SHORT_ANSWER, 0.002);
        }
        assertThat(model.hazard(BlockClass.BODY, SHORT_ANSWER, 6))
                .as("soon unlearned")
                .isLessThan(0.1);
    }

    @Test
    void hazard_oneReturnAfterANight_movesItALittle() {
        SplittableRandom random = Seeds.random("night");
        ReturnModel model = new ReturnModel(0);
        for (int i = 0; i < 10_000; i++) {
            live(model, random, SHORT_ANSWER, 0.002);
        }
        double before = model.hazard(BlockClass.BODY, SHORT_ANSWER, 3);
        for (long millis : new long[] {12 * 3_600_000L, 24 * 3_600_000L, 365 * 24 * 3_600_000L}) {
            model.forget(millis);
            model.cameBack(BlockClass.BODY, SHORT_ANSWER, 3, 1);
            assertThat(model.hazard(BlockClass.BODY, SHORT_ANSWER, 3)).isBetween(before, 2.5 * before);
            before = model.hazard(BlockClass.BODY, SHORT_ANSWER, 3);
        }
    }

    /** A request a minute, none of which returns. */
    @Test
    void index_threeDaysWithoutReturns_isANumber() {
        ReturnModel model = new ReturnModel(0);
        for (int minute = 0; minute < 3 * 24 * 60; minute++) {
            model.forget(60_000L * minute);
            for (int bin = 0; bin < ReturnModel.BINS; bin++) {
                model.stayedAway(BlockClass.BODY, SHORT_ANSWER, bin);
            }
        }
        for (int bin = 0; bin < ReturnModel.BINS; bin++) {
            assertThat(model.index(BlockClass.BODY, SHORT_ANSWER, bin))
                    .isPositive()
                    .isLessThan(1e-3);
        }
    }

    @Test
    void hazard_afterTheLoadChanged_followsIt() {
        SplittableRandom random = Seeds.random("follows");
        ReturnModel model = new ReturnModel(0);
        for (int i = 0; i < 10_000; i++) {
            live(model, random, SHORT_ANSWER, 0.02);
        }
        model.forget(24 * 3_600_000L);
        for (int i = 0; i < 2_000; i++) {
            live(model, random, SHORT_ANSWER, 0.002);
        }
        assertThat(model.hazard(BlockClass.BODY, SHORT_ANSWER, 6)).isLessThan(0.004);
    }
}
