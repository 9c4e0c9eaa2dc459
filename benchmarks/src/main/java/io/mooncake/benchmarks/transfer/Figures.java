// SPDX-License-Identifier: Apache-2.0
package io.mooncake.benchmarks.transfer;

import io.mooncake.examples.report.Samples;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * What one contender reached on one line, over all rounds.
 *
 * @param name of the contender
 * @param gigabytesPerSecond median of the rounds, 10^9 bytes a second
 * @param min slowest round
 * @param max fastest round
 * @param medianMicros of a call: the median of the rounds' medians
 * @param p99Micros of a call: the median of the rounds' 99th percentiles
 * @param calls measured, in all rounds
 * @param heapBytesPerCall allocated by all threads of owner and client, in all rounds; null where there is no heap
 */
record Figures(
        String name,
        double gigabytesPerSecond,
        double min,
        double max,
        double medianMicros,
        double p99Micros,
        long calls,
        @Nullable Double heapBytesPerCall) {

    static Figures of(String name, Cell cell, List<Measurement> rounds) {
        Samples speed = Samples.of(
                rounds.stream().map(round -> round.gigabytesPerSecond(cell)).toList());
        long calls = rounds.stream().mapToLong(Measurement::calls).sum();
        boolean heap = rounds.get(0).heapBytes() >= 0;
        return new Figures(
                name,
                speed.median(),
                speed.min(),
                speed.max(),
                Samples.of(rounds.stream().map(Measurement::medianNanos).toList())
                                .median()
                        / 1e3,
                Samples.of(rounds.stream().map(Measurement::p99Nanos).toList()).median() / 1e3,
                calls,
                heap
                        ? (double) rounds.stream()
                                        .mapToLong(Measurement::heapBytes)
                                        .sum()
                                / calls
                        : null);
    }
}
