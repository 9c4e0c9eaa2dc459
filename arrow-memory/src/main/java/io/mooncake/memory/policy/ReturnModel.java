// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory.policy;

import java.util.Arrays;

/**
 * When blocks come back: a hazard of return by age, learned on line.
 *
 * <p>The hazard, returns a second of those that have not come back yet, is a curve of the block's class, constant between the ages of
 * {@link #EDGES_SECONDS}, times a factor for each thing that is known about the request that used the block last ({@link Traits}). Some
 * factors differ by age. Classes that many requests share have a curve only: what one of them was like says nothing about the next.
 *
 * <p>Each stay is an example and tells, bin by bin, whether its blocks came back while they were of that age; so one that has not ended yet
 * counts for as long as it has lasted. Learning is Poisson regression by one step an observation: the logarithm of each parameter that took part
 * moves by (seen - expected) / (prior + what was expected of it so far), which for a parameter alone is the running mean with that many
 * observations of prior. More passes over the same examples were tried: they fit the first minutes too closely and lose. What was expected
 * is forgotten with a half-life, so that the model follows the load. One thread at a time; nothing is allocated.
 */
final class ReturnModel {
    /** Ages at which the hazard may change; older blocks are taken as never to return. */
    private static final int[] EDGES_SECONDS = {
        0, 3, 6, 10, 15, 20, 30, 40, 50, 60, 75, 90, 105, 120, 150, 180, 240, 300, 420, 600, 900, 1200, 1800, 2400,
        3000, 3600
    };

    static final int BINS = EDGES_SECONDS.length - 1;

    /** Where the values of factors that differ by age change. */
    private static final int[] GROUP_ENDS_SECONDS = {30, 120, 300, 900, 3600};

    private static final int GROUPS = GROUP_ENDS_SECONDS.length;
    private static final int[] GROUP_OF_BIN = new int[BINS];

    private static final double PRIOR_OF_CURVE = 2;
    private static final double PRIOR_OF_FACTOR = 20;
    private static final double HALF_LIFE_SECONDS = 2_400;
    /** Before anything is known: a quarter comes back, half of these within two minutes. */
    private static final double FIRST_HAZARD = 0.0015;

    private static final double FIRST_FADE_SECONDS = 200;
    private static final double LEAST_HAZARD = 1e-7;
    private static final double MOST_HAZARD = 1e4;
    private static final double RESCALE_AT = 1e6;

    static {
        for (int bin = 0, group = 0; bin < BINS; bin++) {
            group += EDGES_SECONDS[bin] >= GROUP_ENDS_SECONDS[group] ? 1 : 0;
            GROUP_OF_BIN[bin] = group;
        }
    }

    private final double[] curves = new double[BlockClass.COUNT * BINS];
    private final double[] curvesExpected = new double[curves.length];
    /** By factor, level and group of ages. */
    private final double[] factors = new double[Traits.FACTORS * Traits.LEVELS * GROUPS];

    private final double[] factorsExpected = new double[factors.length];
    /** Weight of an observation now: it grows instead of all else shrinking. */
    private double scale = 1;

    private long scaledAtMillis;

    ReturnModel(long nowMillis) {
        scaledAtMillis = nowMillis;
        Arrays.fill(factors, 1);
        Arrays.fill(factorsExpected, PRIOR_OF_FACTOR);
        Arrays.fill(curvesExpected, PRIOR_OF_CURVE);
        for (int i = 0; i < curves.length; i++) {
            double middle = (EDGES_SECONDS[i % BINS] + EDGES_SECONDS[i % BINS + 1]) / 2.0;
            curves[i] = FIRST_HAZARD * Math.exp(-middle / FIRST_FADE_SECONDS) + 10 * LEAST_HAZARD;
        }
    }

    /** When {@code bin} begins. */
    static long beginMillis(int bin) {
        return 1000L * EDGES_SECONDS[bin];
    }

    private static int factorPlace(long traits, int factor, int group) {
        int level = Traits.level(traits, factor);
        return (factor * Traits.LEVELS + level) * GROUPS + (Traits.differsByAge(factor) ? group : 0);
    }

    private double product(int of, long traits, int group) {
        double product = 1;
        for (int factor = 0; factor < factorsOf(of); factor++) {
            product *= factors[factorPlace(traits, factor, group)];
        }
        return product;
    }

    private static int factorsOf(int of) {
        return BlockClass.isPrivate(of) ? Traits.FACTORS : 0;
    }

    /** Returns a second of blocks of class {@code of} in {@code bin} of their age. */
    double hazard(int of, long traits, int bin) {
        return curves[of * BINS + bin] * product(of, traits, GROUP_OF_BIN[bin]);
    }

    /** Blocks of class {@code of} stayed away for all of {@code bin}. */
    void stayedAway(int of, long traits, int bin) {
        observe(of, traits, bin, EDGES_SECONDS[bin + 1] - EDGES_SECONDS[bin], 0);
    }

    /** Blocks of class {@code of} came back {@code seconds} into {@code bin}. */
    void cameBack(int of, long traits, int bin, double seconds) {
        observe(of, traits, bin, seconds, 1);
    }

    private void observe(int of, long traits, int bin, double seconds, double seen) {
        double expected = seconds * hazard(of, traits, bin);
        double surprise = (seen - expected) * scale;
        int at = of * BINS + bin;
        curvesExpected[at] += expected * scale;
        curves[at] = moved(curves[at], surprise / curvesExpected[at]);
        for (int factor = 0; factor < factorsOf(of); factor++) {
            int place = factorPlace(traits, factor, GROUP_OF_BIN[bin]);
            factorsExpected[place] += expected * scale;
            factors[place] = moved(factors[place], surprise / factorsExpected[place]);
        }
    }

    /** About {@code value} times e to the {@code step}. */
    private static double moved(double value, double step) {
        double bounded = Math.max(-1, Math.min(1, step));
        return Math.max(LEAST_HAZARD, Math.min(MOST_HAZARD, value * (2 + bounded) / (2 - bounded)));
    }

    /** Lets time pass: what was seen before weighs less. */
    void forget(long nowMillis) {
        scale = Math.pow(2, (nowMillis - scaledAtMillis) * 1e-3 / HALF_LIFE_SECONDS);
        if (scale > RESCALE_AT) {
            divide(curvesExpected, scale);
            divide(factorsExpected, scale);
            scaledAtMillis = nowMillis;
            scale = 1;
        }
    }

    private static void divide(double[] values, double by) {
        for (int i = 0; i < values.length; i++) {
            values[i] = Math.max(values[i] / by, LEAST_HAZARD);
        }
    }

    /**
     * The return index of a block that has reached {@code bin}: the largest, over all times to wait until, of the chance that it has come back by
     * then, divided by how long it is expected to have waited (an index of Gittins, 1979: to fill limited places, this order is best
     * while blocks come back independently of each other).
     *
     * @return returns a second; 0 from bin {@link #BINS} on
     */
    double index(int of, long traits, int bin) {
        double away = 1;
        double returned = 0;
        double waited = 0;
        double best = 0;
        int group = -1;
        double product = 1;
        for (int at = bin; at < BINS; at++) {
            if (GROUP_OF_BIN[at] != group) {
                group = GROUP_OF_BIN[at];
                product = product(of, traits, group);
            }
            double hazard = curves[of * BINS + at] * product;
            double expected = hazard * (EDGES_SECONDS[at + 1] - EDGES_SECONDS[at]);
            double half = 0.5 * expected;
            double back =
                    away * (1 - 1 / (1 + expected + expected * half * (1 + half / 1.5))); // about 1 - exp(-expected)
            returned += back;
            waited += back / hazard;
            away -= back;
            best = Math.max(best, returned / waited);
        }
        return best;
    }
}
