// SPDX-License-Identifier: Apache-2.0
package io.mooncake.djl;

import io.mooncake.base.MooncakeException;
import java.util.random.RandomGenerator;

/**
 * How a token is chosen from logits.
 *
 * @param temperature 0 for the best one always; otherwise logits are divided by it, up to 100
 * @param topP smallest set of best tokens with this probability together, more than 0, at most 1
 * @param seed of the randomness; the same seed repeats the same choices
 */
public record Sampling(double temperature, double topP, long seed) {
    /** Always the best token; the lower id where two are equal. */
    public static final Sampling GREEDY = new Sampling(0, 1, 0);

    public Sampling {
        if (!(temperature >= 0 && temperature <= 100)) {
            throw MooncakeException.invalid("temperature", temperature, "0..100");
        }
        if (!(topP > 0 && topP <= 1)) {
            throw MooncakeException.invalid("topP", topP, "more than 0, at most 1");
        }
    }

    /** Chooses from {@code logits}. */
    int choose(float[] logits, RandomGenerator random) {
        return temperature == 0 ? argMax(logits) : sample(logits, random);
    }

    static int argMax(float[] logits) {
        int best = 0;
        for (int i = 1; i < logits.length; i++) {
            if (logits[i] > logits[best]) {
                best = i;
            }
        }
        return best;
    }

    /** How far the best logit is above the second one. */
    static float gap(float[] logits) {
        float first = Float.NEGATIVE_INFINITY;
        float second = Float.NEGATIVE_INFINITY;
        for (float logit : logits) {
            if (logit > first) {
                second = first;
                first = logit;
            } else if (logit > second) {
                second = logit;
            }
        }
        return first - second;
    }

    private int sample(float[] logits, RandomGenerator random) {
        double max = logits[argMax(logits)];
        double[] weights = new double[logits.length];
        double sum = 0;
        for (int i = 0; i < logits.length; i++) {
            weights[i] = Math.exp((logits[i] - max) / temperature);
            sum += weights[i];
        }
        double floor = topP < 1 ? floor(weights, sum * topP) : 0;
        double kept = 0;
        for (double weight : weights) {
            kept += weight >= floor ? weight : 0;
        }
        double left = random.nextDouble() * kept;
        int chosen = 0;
        for (int i = 0; i < weights.length && left >= 0; i++) {
            if (weights[i] >= floor && weights[i] > 0) {
                left -= weights[i];
                chosen = i;
            }
        }
        return chosen;
    }

    /** The least weight among the best ones that together reach {@code mass}. */
    private static double floor(double[] weights, double mass) {
        double[] sorted = weights.clone();
        java.util.Arrays.sort(sorted);
        double sum = 0;
        for (int i = sorted.length - 1; i > 0; i--) {
            sum += sorted[i];
            if (sum >= mass) {
                return sorted[i];
            }
        }
        return sorted[0];
    }
}
