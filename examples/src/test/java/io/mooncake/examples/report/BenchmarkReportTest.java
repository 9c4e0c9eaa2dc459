// SPDX-License-Identifier: Apache-2.0
package io.mooncake.examples.report;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class BenchmarkReportTest {
    private static final BenchmarkResult COMPARED = BenchmarkResult.compared(
            "ttft.local", Samples.of(9, 11, 10), "ms", "computed", Samples.of(200, 180, 220), Target.atMost(0.06));

    @Test
    void compared_ratioUnderTheLimit_isMet() {
        assertThat(COMPARED.ratio()).isCloseTo(0.05, within(1e-12));
        assertThat(COMPARED.met()).isTrue();
        assertThat(COMPARED.target()).isEqualTo("ratio <= 0.06");
        assertThat(COMPARED.min()).isEqualTo(9);
        assertThat(COMPARED.referenceMax()).isEqualTo(220);
    }

    @Test
    void of_valueUnderTheTarget_isMissed() {
        BenchmarkResult slow = BenchmarkResult.of("decode", Samples.of(14.9), "tokens/s", Target.atLeast(15));
        assertThat(slow.met()).isFalse();
        assertThat(slow.verdict()).isEqualTo("MISSED");
        assertThat(BenchmarkResult.of("x", Samples.of(1), "s", null).verdict()).isEqualTo("-");
    }

    @Test
    void met_notANumber_isNever() {
        assertThat(Target.atMost(1).met(Double.NaN)).isFalse();
        assertThat(Target.atLeast(1).met(Double.NaN)).isFalse();
    }

    @Test
    void of_evenCount_isTheMeanOfTheMiddle() {
        assertThat(Samples.of(4, 1, 3, 2)).isEqualTo(new Samples(2.5, 1, 4, 4));
        assertThatThrownBy(() -> Samples.of()).hasMessageContaining("at least 1");
    }

    @Test
    void write_report_hasEveryKeyOfTheConvention(@TempDir Path folder) throws Exception {
        Path file = folder.resolve("new/folder/r.json");
        BenchmarkReport.here(
                        "e2e",
                        folder,
                        List.of(COMPARED, BenchmarkResult.of("bare", Samples.of(3), "s", null)),
                        Map.of("requests", List.of(Map.of("n", 1))))
                .write(file);
        JsonObject json = JsonParser.parseString(Files.readString(file)).getAsJsonObject();
        assertThat(json.keySet()).contains("bench", "version", "commit", "machine", "results", "requests");
        assertThat(json.get("commit").getAsString()).isEqualTo("unknown");
        assertThat(json.getAsJsonObject("machine").keySet())
                .contains("cpu", "cores", "memoryBytes", "kernel", "java", "libraries");
        for (int line = 0; line < 2; line++) {
            assertThat(json.getAsJsonArray("results")
                            .get(line)
                            .getAsJsonObject()
                            .keySet())
                    .contains(
                            "name",
                            "value",
                            "unit",
                            "reference",
                            "referenceValue",
                            "ratio",
                            "target",
                            "met",
                            "min",
                            "max",
                            "runs");
        }
        assertThat(json.getAsJsonArray("results")
                        .get(1)
                        .getAsJsonObject()
                        .get("ratio")
                        .isJsonNull())
                .isTrue();
    }

    @Test
    void libraries_areFilledInByTheBuild() {
        assertThat(Versions.product()).matches("\\d+\\.\\d+\\.\\d+.*");
        assertThat(Versions.libraries()).containsKeys("ignite", "djl", "pytorch", "arrow", "jeromq");
        assertThat(Versions.libraries().values()).allMatch(version -> !version.contains("$"));
    }

    @Test
    void table_result_hasOneLine() {
        BenchmarkReport report = BenchmarkReport.here("e2e", Path.of("/"), List.of(COMPARED), Map.of());
        assertThat(report.table()).hasSize(3);
        assertThat(report.table().get(2))
                .contains("ttft.local")
                .contains("200 (computed)")
                .contains("met");
    }
}
