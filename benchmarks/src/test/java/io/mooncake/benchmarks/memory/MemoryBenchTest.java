// SPDX-License-Identifier: Apache-2.0
package io.mooncake.benchmarks.memory;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.gson.JsonArray;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import io.mooncake.benchmarks.Bench;
import io.mooncake.examples.cli.Terminal;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;

final class MemoryBenchTest {
    /** The harness in one short round. Whether anything is fast is no test's question, but that nothing goes to the heap is. */
    @Test
    void run_oneRound_measuresEveryLineAndNoOperationAllocates() throws Exception {
        Bench.Settings settings =
                new Bench.Settings(Path.of(""), 1, true, List.of(), List.of(), null, List.of(), List.of());
        JsonObject report = JsonParser.parseString(
                        new MemoryBench().run(settings, Terminal.standard()).toJson())
                .getAsJsonObject();
        assertThat(report.get("bench").getAsString()).isEqualTo("memory");
        assertThat(report.getAsJsonObject("settings").get("rounds").getAsInt()).isEqualTo(1);
        JsonArray results = report.getAsJsonArray("results");
        assertThat(results).hasSize(24);
        results.forEach(element -> {
            JsonObject result = element.getAsJsonObject();
            String name = result.get("name").getAsString();
            double value = result.get("value").getAsDouble();
            if (name.startsWith("heap a ")) {
                // A round is short, and the counter is of the thread: less than a byte an operation is none.
                assertThat(value).as(name).isLessThan(1);
            } else {
                assertThat(value).as(name).isPositive().isFinite();
                String unit = !name.startsWith("pool: ") ? "ns" : name.endsWith("heap") ? "B" : "us";
                assertThat(result.get("unit").getAsString()).as(name).isEqualTo(unit);
            }
        });
        assertThat(results.get(0).getAsJsonObject().get("referenceValue").getAsDouble())
                .isPositive();
    }
}
