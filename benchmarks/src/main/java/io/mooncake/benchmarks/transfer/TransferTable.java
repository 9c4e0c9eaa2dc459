// SPDX-License-Identifier: Apache-2.0
package io.mooncake.benchmarks.transfer;

import io.mooncake.examples.cli.Terminal;
import io.mooncake.examples.report.BenchmarkReport;
import io.mooncake.examples.report.BenchmarkResult;
import java.util.List;
import java.util.Locale;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** The lines that people see while the benchmark runs. */
final class TransferTable {
    private static final String FORM = "%-4s %-21s %-11s %9s %9s %9s %9s %6s %9s %6s %7s  %s";

    private TransferTable() {}

    static void heading(String transport, Terminal terminal) {
        String line = String.format(
                Locale.ROOT,
                FORM,
                "",
                "operation",
                "size",
                "GB/s",
                "median us",
                "p99 us",
                transport.equals("shm") ? "memcpy" : "C GB/s",
                "ratio",
                "Mooncake",
                "ratio",
                "heap B",
                "targets");
        terminal.line("");
        terminal.line(line);
        terminal.line("-".repeat(line.length()));
    }

    static void row(TransferRow row, Terminal terminal) {
        Figures ours = row.ours();
        if (ours == null) {
            terminal.line(row.transport() + " " + row.note());
            return;
        }
        Figures ceiling = row.ceilings().stream()
                .filter(one -> one.name().equals(row.ceiling()))
                .findFirst()
                .orElse(null);
        Cell cell = new Cell(row.transport(), Operation.parse(row.operation()), row.size(), row.batch());
        terminal.line(String.format(
                        Locale.ROOT,
                        FORM,
                        row.transport(),
                        row.operation(),
                        cell.sizeText() + (row.batch() > 1 ? " x" + row.batch() : ""),
                        BenchmarkReport.number(ours.gigabytesPerSecond()),
                        BenchmarkReport.number(ours.medianMicros()),
                        BenchmarkReport.number(ours.p99Micros()),
                        ceiling == null ? "-" : BenchmarkReport.number(ceiling.gigabytesPerSecond()),
                        ratio(row.ceilingRatio()),
                        row.peer() == null
                                ? "-"
                                : BenchmarkReport.number(row.peer().gigabytesPerSecond()),
                        ratio(row.peerRatio()),
                        ours.heapBytesPerCall() == null ? "-" : String.format("%.0f", ours.heapBytesPerCall()),
                        row.targets().stream().map(TransferTable::shortly).collect(Collectors.joining(", ")))
                .stripTrailing());
    }

    private static String ratio(@Nullable Double ratio) {
        return ratio == null ? "-" : String.format(Locale.ROOT, "%.2f", ratio);
    }

    private static String shortly(BenchmarkResult result) {
        return result.verdict() + " " + result.target() + (result.unit().equals("GB/s") ? "" : " " + result.unit());
    }

    static TransferRow missing(Cell cell, String reason, Terminal terminal) {
        TransferRow row = TransferRow.missing(cell, reason);
        terminal.line("");
        terminal.line(cell.transport() + ": " + reason);
        return row;
    }

    /** How many targets were met, and which were not. */
    static void verdict(List<TransferRow> rows, Terminal terminal) {
        List<BenchmarkResult> targets =
                rows.stream().flatMap(row -> row.targets().stream()).toList();
        List<BenchmarkResult> missed =
                targets.stream().filter(one -> !Boolean.TRUE.equals(one.met())).toList();
        terminal.line("");
        terminal.line(
                "%d of %d targets met%s",
                targets.size() - missed.size(), targets.size(), missed.isEmpty() ? "" : "; missed:");
        for (BenchmarkResult one : missed) {
            double reached = one.ratio() == null ? one.value() : one.ratio();
            terminal.line("  " + one.name() + ": " + BenchmarkReport.number(reached) + " (" + one.target() + ")");
        }
    }
}
