// SPDX-License-Identifier: Apache-2.0
package io.mooncake.benchmarks;

import io.mooncake.examples.cli.Terminal;
import io.mooncake.examples.report.BenchmarkReport;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** A named benchmark. */
public interface Bench {
    /** Name on the command line and in the JSON. */
    String name();

    /** What it asks, in one line. */
    String question();

    /** Whether it needs a model file. */
    boolean needsModel();

    /** Whether it shows its results itself while it measures; else the terminal gets progress only, and the table of the report follows. */
    default boolean showsResults() {
        return false;
    }

    /** Names of other products that it can measure beside. */
    default List<String> peers() {
        return List.of();
    }

    /** Measures. */
    BenchmarkReport run(Settings settings, Terminal terminal) throws IOException, InterruptedException;

    /**
     * What a person may choose. A benchmark looks at what concerns it.
     *
     * @param model GGUF file; empty path where the benchmark needs none
     * @param runs measurements of each figure, 5..1000; 0: the benchmark's own number
     * @param quick fewer and shorter measurements
     * @param transports which to measure, in order
     * @param sizes bytes of the transfers; empty: the benchmark's own
     * @param peer names of other products to measure beside, separated by commas, or null
     * @param traces files with recorded requests; empty: the benchmark's own
     * @param blocks sizes of caches in blocks; empty: the benchmark's own
     */
    record Settings(
            Path model,
            int runs,
            boolean quick,
            List<String> transports,
            List<Long> sizes,
            @Nullable String peer,
            List<Path> traces,
            List<Integer> blocks) {
        Settings withRuns(int number) {
            return new Settings(model, number, quick, transports, sizes, peer, traces, blocks);
        }
    }
}
