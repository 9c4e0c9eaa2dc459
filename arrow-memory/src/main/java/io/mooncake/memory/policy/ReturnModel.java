// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory.policy;

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
 * is forgotten with a half-life, so that the model follows the load.
 *
 * <p>Two regressions see the same and the mean of their hazards is used: one in which few factors differ by age, which learns soon, and one in which
 * all do. Their mean errs less than either. One thread at a time; nothing is allocated.
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

    static final int GROUPS = GROUP_ENDS_SECONDS.length;
    private static final int[] GROUP_OF_BIN = new int[BINS];

    /**
     * A return sooner than this counts as one after so long, and no hazard is above its reciprocal. What comes back at once would else count as an
     * infinite hazard, for everything that has parameters in common with it.
     */
    static final double LEAST_SECONDS = 1;

    private static final double HALF_LIFE_SECONDS = 2_400;
    private static final double RESCALE_AT = 1e6;
    /** Of an index: a return in thirty years. With less, after days without returns, chances would round to zero and be compared no more. */
    private static final double LEAST_HAZARD = 1e-9;

    static {
        for (int bin = 0, group = 0; bin < BINS; bin++) {
            group += EDGES_SECONDS[bin] >= GROUP_ENDS_SECONDS[group] ? 1 : 0;
            GROUP_OF_BIN[bin] = group;
        }
    }

    private final HazardRegression few = new HazardRegression(Traits.FEW_BY_AGE);
    private final HazardRegression all = new HazardRegression(Traits.ALL_BY_AGE);
    /** Weight of an observation now: it grows instead of all else shrinking. */
    private double scale = 1;

    private long scaledAtMillis;

    ReturnModel(long nowMillis) {
        scaledAtMillis = nowMillis;
    }

    /** When {@code bin} begins. */
    static long beginMillis(int bin) {
        return 1000L * EDGES_SECONDS[bin];
    }

    /** The bin of blocks that were used {@code ageMillis} ago; {@link #BINS} when that is beyond all. */
    static int binAt(long ageMillis) {
        int bin = 0;
        while (bin < BINS && ageMillis >= beginMillis(bin + 1)) {
            bin++;
        }
        return bin;
    }

    static double middleSeconds(int bin) {
        return (EDGES_SECONDS[bin] + EDGES_SECONDS[bin + 1]) / 2.0;
    }

    /** The group of ages that {@code bin} is in. */
    static int group(int bin) {
        return GROUP_OF_BIN[bin];
    }

    /** Returns a second of blocks of class {@code of} in {@code bin} of their age. */
    double hazard(int of, long traits, int bin) {
        int group = GROUP_OF_BIN[bin];
        return Math.min(
                1 / LEAST_SECONDS,
                0.5
                        * (few.curve(of, bin) * few.product(of, traits, group)
                                + all.curve(of, bin) * all.product(of, traits, group)));
    }

    /** Blocks of class {@code of} stayed away for all of {@code bin}. */
    void stayedAway(int of, long traits, int bin) {
        observe(of, traits, bin, EDGES_SECONDS[bin + 1] - EDGES_SECONDS[bin], 0);
    }

    /** Blocks of class {@code of} came back {@code seconds} into {@code bin}. */
    void cameBack(int of, long traits, int bin, double seconds) {
        observe(of, traits, bin, Math.max(seconds, LEAST_SECONDS), 1);
    }

    private void observe(int of, long traits, int bin, double seconds, double seen) {
        few.observe(of, traits, bin, seconds, seen, scale);
        all.observe(of, traits, bin, seconds, seen, scale);
    }

    /** Lets time pass: what was seen before weighs less. */
    void forget(long nowMillis) {
        scale = Math.pow(2, (nowMillis - scaledAtMillis) * 1e-3 / HALF_LIFE_SECONDS);
        if (scale > RESCALE_AT) {
            few.divide(scale);
            all.divide(scale);
            scaledAtMillis = nowMillis;
            scale = 1;
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
        double fewProduct = 0;
        double allProduct = 0;
        for (int at = bin; at < BINS; at++) {
            if (GROUP_OF_BIN[at] != group) {
                group = GROUP_OF_BIN[at];
                fewProduct = 0.5 * few.product(of, traits, group);
                allProduct = 0.5 * all.product(of, traits, group);
            }
            double mean = few.curve(of, at) * fewProduct + all.curve(of, at) * allProduct;
            double hazard = Math.max(LEAST_HAZARD, Math.min(1 / LEAST_SECONDS, mean));
            double expected = hazard * (EDGES_SECONDS[at + 1] - EDGES_SECONDS[at]);
            double half = 0.5 * expected;
            double stay = 1 / (1 + expected + expected * half * (1 + half / 1.5)); // about exp(-expected)
            double back = away * (1 - stay);
            returned += back;
            waited += back / hazard;
            away -= back;
            best = Math.max(best, returned / waited);
        }
        return best;
    }
}
