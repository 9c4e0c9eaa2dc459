// SPDX-License-Identifier: Apache-2.0
package io.mooncake.benchmarks.transfer;

import io.mooncake.examples.report.BenchmarkResult;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * One line of the benchmark as it is written to the file.
 *
 * @param transport tcp, shm or rdma
 * @param operation what a call does
 * @param size bytes of a range
 * @param batch ranges of a call
 * @param touchedBytes of memory on each side that the calls touch in turn
 * @param ours the engine, or null where the line was not measured
 * @param ceiling the best of {@code ceilings}, or null
 * @param ceilingRatio ours / ceiling, the median of the rounds, or null
 * @param ceilings all that were measured, and what was measured to be seen only
 * @param peer the other engine, or null
 * @param peerRatio ours / peer, the median of the rounds, or null
 * @param targets what this line has to reach, and whether it does
 * @param note why something is missing; empty when nothing is
 */
record TransferRow(
        String transport,
        String operation,
        long size,
        int batch,
        long touchedBytes,
        @Nullable Figures ours,
        @Nullable String ceiling,
        @Nullable Double ceilingRatio,
        List<Figures> ceilings,
        @Nullable Figures peer,
        @Nullable Double peerRatio,
        List<BenchmarkResult> targets,
        String note) {

    static TransferRow missing(Cell cell, String reason) {
        return new TransferRow(
                cell.transport(),
                cell.operation().text(),
                cell.size(),
                cell.batch(),
                0,
                null,
                null,
                null,
                List.of(),
                null,
                null,
                List.of(),
                reason);
    }
}
