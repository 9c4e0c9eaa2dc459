// SPDX-License-Identifier: Apache-2.0
package io.mooncake.benchmarks.ssd;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.gson.JsonArray;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import io.mooncake.benchmarks.Bench;
import io.mooncake.examples.cli.Home;
import io.mooncake.examples.cli.Terminal;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;

final class SsdBenchTest {
    /** The harness on 16 blocks and an index of 2,000; operations that do not end as they must make it fail. */
    @Test
    void run_smallFiles_measuresEveryLineAndLeavesNothing() throws Exception {
        Bench.Settings settings =
                new Bench.Settings(Path.of(""), 1, true, List.of(), List.of(), null, List.of(), List.of());
        JsonObject report = JsonParser.parseString(new SsdBench(16, 2_000)
                        .run(settings, Terminal.standard())
                        .toJson())
                .getAsJsonObject();
        assertThat(report.get("bench").getAsString()).isEqualTo("ssd");
        JsonObject shown = report.getAsJsonObject("settings");
        assertThat(shown.get("records").getAsInt()).isEqualTo(16);
        boolean fio = !shown.get("fio").getAsString().isEmpty();
        JsonArray results = report.getAsJsonArray("results");
        assertThat(results).hasSize(8);
        results.forEach(element -> {
            JsonObject result = element.getAsJsonObject();
            String name = result.get("name").getAsString();
            assertThat(result.get("value").getAsDouble()).as(name).isPositive().isFinite();
            if (fio && result.get("unit").getAsString().equals("GB/s")) {
                assertThat(result.get("ratio").getAsDouble())
                        .as(name)
                        .isPositive()
                        .isFinite();
            }
        });
        assertThat(results.get(6).getAsJsonObject().get("name").getAsString())
                .isEqualTo("recovery of an index of 2,000 blocks");
        assertThat(Home.folder("target/bench/ssd")).doesNotExist();
    }
}
