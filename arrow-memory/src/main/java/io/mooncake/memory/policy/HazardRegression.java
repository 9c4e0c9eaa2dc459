// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory.policy;

import java.util.Arrays;

/**
 * A hazard of return as a curve over age for each class of blocks, times a factor for each trait, learned by one step an observation. One thread
 * at a time; nothing is allocated.
 */
final class HazardRegression {
    /**
     * Observations that a parameter always seems to have had already, so that one is not enough to move it far: not in the first minute, and not
     * after a night, when what was learned has been forgotten.
     */
    private static final double PRIOR_OF_CURVE = 2;

    private static final double PRIOR_OF_FACTOR = 20;
    /** Before anything is known: a quarter comes back, half of these within two minutes. */
    private static final double FIRST_HAZARD = 0.0015;

    private static final double FIRST_FADE_SECONDS = 200;
    private static final double LEAST = 1e-7;
    private static final double MOST = 1e4;

    private final boolean[] byAge;
    private final double[] curves = new double[BlockClass.COUNT * ReturnModel.BINS];
    private final double[] curvesExpected = new double[curves.length];
    /** By factor, level and group of ages. */
    private final double[] factors = new double[Traits.FACTORS * Traits.LEVELS * ReturnModel.GROUPS];

    private final double[] factorsExpected = new double[factors.length];
    /** Of the observation that is being taken in. */
    private final int[] places = new int[Traits.FACTORS];

    /** @param byAge which factors differ by age */
    HazardRegression(boolean[] byAge) {
        this.byAge = byAge.clone();
        Arrays.fill(factors, 1);
        for (int i = 0; i < curves.length; i++) {
            double middle = ReturnModel.middleSeconds(i % ReturnModel.BINS);
            curves[i] = FIRST_HAZARD * Math.exp(-middle / FIRST_FADE_SECONDS) + 10 * LEAST;
        }
    }

    private int factorPlace(long traits, int factor, int group) {
        return (factor * Traits.LEVELS + Traits.level(traits, factor)) * ReturnModel.GROUPS
                + (byAge[factor] ? group : 0);
    }

    /** What the traits make of the curve of class {@code of} in a group of ages. */
    double product(int of, long traits, int group) {
        double product = 1;
        for (int factor = 0; factor < BlockClass.factors(of); factor++) {
            product *= factors[factorPlace(traits, factor, group)];
        }
        return product;
    }

    /** The curve of class {@code of} in {@code bin}. */
    double curve(int of, int bin) {
        return curves[of * ReturnModel.BINS + bin];
    }

    /**
     * Blocks stayed away for {@code seconds} of {@code bin}, and came back then or not.
     *
     * @param seen 1 or 0
     * @param weight of the observation against those before
     */
    void observe(int of, long traits, int bin, double seconds, double seen, double weight) {
        int used = BlockClass.factors(of);
        int curve = of * ReturnModel.BINS + bin;
        double hazard = curves[curve];
        for (int factor = 0; factor < used; factor++) {
            places[factor] = factorPlace(traits, factor, ReturnModel.group(bin));
            hazard *= factors[places[factor]];
        }
        double expected = seconds * Math.min(hazard, 1 / ReturnModel.LEAST_SECONDS) * weight;
        double surprise = seen * weight - expected;
        curvesExpected[curve] += expected;
        curves[curve] = moved(curves[curve], surprise / (curvesExpected[curve] + PRIOR_OF_CURVE * weight));
        for (int factor = 0; factor < used; factor++) {
            int place = places[factor];
            factorsExpected[place] += expected;
            factors[place] = moved(factors[place], surprise / (factorsExpected[place] + PRIOR_OF_FACTOR * weight));
        }
    }

    /** About {@code value} times e to the {@code step}. */
    private static double moved(double value, double step) {
        double bounded = Math.max(-1, Math.min(1, step));
        return Math.max(LEAST, Math.min(MOST, value * (2 + bounded) / (2 - bounded)));
    }

    /** What was seen so far weighs so much less. */
    void divide(double by) {
        divide(curvesExpected, by);
        divide(factorsExpected, by);
    }

    private static void divide(double[] values, double by) {
        for (int i = 0; i < values.length; i++) {
            values[i] = Math.max(values[i] / by, LEAST);
        }
    }
}
