// SPDX-License-Identifier: Apache-2.0
package io.mooncake.benchmarks.index;

import static org.assertj.core.api.Assertions.assertThat;

import io.mooncake.benchmarks.Bench;
import io.mooncake.examples.cli.Terminal;
import io.mooncake.examples.report.BenchmarkReport;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;

final class IndexBenchTest {
    /** The harness on a small index: wrong finds end it. Whether it is fast is no test's question. */
    @Test
    void run_smallIndex_measuresEveryFigure() {
        Bench.Settings settings =
                new Bench.Settings(Path.of(""), 5, true, List.of(), List.of(), null, List.of(), List.of(20_000));
        BenchmarkReport report = new IndexBench().run(settings, Terminal.standard());
        assertThat(report.results()).hasSize(8).allMatch(result -> result.value() > 0);
    }
}
