// SPDX-License-Identifier: Apache-2.0
package io.mooncake.benchmarks;

import io.mooncake.examples.cli.Terminal;
import io.mooncake.examples.report.BenchmarkReport;
import java.io.IOException;
import java.nio.file.Path;

/** A named benchmark. */
interface Bench {
    /** Name on the command line and in the JSON. */
    String name();

    /** What it asks, in one line. */
    String question();

    /** Measures; the terminal gets progress only. */
    BenchmarkReport run(Settings settings, Terminal terminal) throws IOException, InterruptedException;

    /**
     * What a person may choose.
     *
     * @param model GGUF file
     * @param runs measurements of each figure, 5..1000
     */
    record Settings(Path model, int runs) {}
}
