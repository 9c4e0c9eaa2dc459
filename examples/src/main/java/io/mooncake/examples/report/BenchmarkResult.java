// SPDX-License-Identifier: Apache-2.0
package io.mooncake.examples.report;

import org.jspecify.annotations.Nullable;

/**
 * One line of a benchmark. Value and reference are medians of the same run, measured in turns.
 *
 * @param name what was measured, unique in its benchmark
 * @param value the median
 * @param unit of value and reference
 * @param reference what it is compared with, or null
 * @param referenceValue the reference's median, or null
 * @param ratio value / reference, or null
 * @param target what the ratio (the value where there is no reference) must reach, or null
 * @param met whether it does, or null where there is no target
 * @param min smallest value
 * @param max largest value
 * @param runs measurements of the value
 * @param referenceMin smallest reference value, or null
 * @param referenceMax largest reference value, or null
 */
public record BenchmarkResult(
        String name,
        double value,
        String unit,
        @Nullable String reference,
        @Nullable Double referenceValue,
        @Nullable Double ratio,
        @Nullable String target,
        @Nullable Boolean met,
        double min,
        double max,
        int runs,
        @Nullable Double referenceMin,
        @Nullable Double referenceMax) {

    /** A figure by itself. */
    public static BenchmarkResult of(String name, Samples value, String unit, @Nullable Target target) {
        return new BenchmarkResult(
                name,
                value.median(),
                unit,
                null,
                null,
                null,
                target == null ? null : target.toString(),
                target == null ? null : target.met(value.median()),
                value.min(),
                value.max(),
                value.runs(),
                null,
                null);
    }

    /** A figure against a reference; the target is on the ratio of the medians. */
    public static BenchmarkResult compared(
            String name,
            Samples value,
            String unit,
            String reference,
            Samples referenceValue,
            @Nullable Target target) {
        double ratio = value.median() / referenceValue.median();
        return new BenchmarkResult(
                name,
                value.median(),
                unit,
                reference,
                referenceValue.median(),
                ratio,
                target == null ? null : "ratio " + target,
                target == null ? null : target.met(ratio),
                value.min(),
                value.max(),
                value.runs(),
                referenceValue.min(),
                referenceValue.max());
    }

    /** {@code met}, {@code MISSED}, or {@code -} where there is no target. */
    public String verdict() {
        return met == null ? "-" : met ? "met" : "MISSED";
    }
}
