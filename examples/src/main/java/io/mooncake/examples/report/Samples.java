// SPDX-License-Identifier: Apache-2.0
package io.mooncake.examples.report;

import java.util.Arrays;
import java.util.Collection;

/**
 * Repeated measurements of one thing.
 *
 * @param median middle value, the mean of the two middle ones for an even count
 * @param min smallest
 * @param max largest
 * @param runs how many, at least 1
 */
public record Samples(double median, double min, double max, int runs) {
    /** Summary of {@code values}, at least one. */
    public static Samples of(double... values) {
        if (values.length == 0) {
            throw new IllegalArgumentException("values: none (expected: at least 1)");
        }
        double[] sorted = values.clone();
        Arrays.sort(sorted);
        int half = sorted.length / 2;
        double median = sorted.length % 2 == 1 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
        return new Samples(median, sorted[0], sorted[sorted.length - 1], sorted.length);
    }

    /** Summary of {@code values}, at least one. */
    public static Samples of(Collection<? extends Number> values) {
        return of(values.stream().mapToDouble(Number::doubleValue).toArray());
    }
}
