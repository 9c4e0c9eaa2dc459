// SPDX-License-Identifier: Apache-2.0
package io.mooncake.benchmarks.transfer;

import io.mooncake.examples.report.BenchmarkResult;
import io.mooncake.examples.report.Samples;
import io.mooncake.examples.report.Target;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** What each line has to reach. */
final class TransferTargets {
    private static final long KIB = 1 << 10;
    private static final long MIB = 1 << 20;
    /** Less than this is what the clock and the operating system's threads leave behind, not the transfers. */
    private static final double NO_BYTES = 0.5;
    /** Below so many calls, what a process allocates once a second is seen. */
    private static final long ENOUGH_CALLS = 2_000;

    private TransferTargets() {}

    /** The least share of the ceiling, or null where none is asked for. */
    static @Nullable Target ofCeiling(Cell cell) {
        return switch (cell.transport()) {
            case "tcp" ->
                !cell.operation().leased() && (cell.size() == MIB || cell.size() == 16 * MIB)
                        ? Target.atLeast(0.9)
                        : null;
            case "shm" ->
                cell.size() < 64 * KIB || cell.operation() == Operation.WRITE
                        ? null
                        : Target.atLeast(cell.operation() == Operation.LEASED_READ ? 0.7 : 0.85);
            default -> null;
        };
    }

    /** The least multiple of the peer, or null where none is asked for. */
    static @Nullable Target ofPeer(Cell cell) {
        boolean asked = cell.size() == 64 * KIB || cell.size() == MIB || cell.size() == 16 * MIB;
        return asked && cell.transport().equals("tcp") ? Target.atLeast(2) : null;
    }

    /** Targets on the engine's own figures. */
    static List<BenchmarkResult> ofOurs(Cell cell, List<Measurement> rounds) {
        List<BenchmarkResult> results = new ArrayList<>();
        Target roundTrip = cell.size() != 8 || cell.batch() > 1
                ? null
                : cell.transport().equals("tcp") && cell.operation() == Operation.READ
                        ? Target.atMost(20)
                        : cell.transport().equals("shm") && cell.operation() == Operation.LEASED_READ
                                ? Target.atMost(0.3)
                                : null;
        if (roundTrip != null) {
            Samples micros = Samples.of(
                    rounds.stream().map(round -> round.medianNanos() / 1e3).toList());
            results.add(BenchmarkResult.of(cell.name() + ", median", micros, "us", roundTrip));
        }
        long calls = rounds.stream().mapToLong(Measurement::calls).sum();
        if (calls >= ENOUGH_CALLS && rounds.get(0).heapBytes() >= 0) {
            double each =
                    (double) rounds.stream().mapToLong(Measurement::heapBytes).sum() / calls;
            results.add(BenchmarkResult.of(
                    cell.name() + ", heap bytes a call",
                    Samples.of(each < NO_BYTES ? 0 : each),
                    "B",
                    Target.atMost(0)));
        }
        return results;
    }

    /** A ratio with its target: the median of the ratios of rounds. */
    static BenchmarkResult ratio(Cell cell, Figures ours, Figures other, double ratio, int rounds, Target target) {
        return new BenchmarkResult(
                cell.name() + " / " + other.name(),
                ours.gigabytesPerSecond(),
                "GB/s",
                other.name(),
                other.gigabytesPerSecond(),
                ratio,
                "ratio " + target,
                target.met(ratio),
                ours.min(),
                ours.max(),
                rounds,
                other.min(),
                other.max());
    }
}
