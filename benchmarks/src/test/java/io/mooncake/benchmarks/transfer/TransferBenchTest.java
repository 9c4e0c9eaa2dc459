// SPDX-License-Identifier: Apache-2.0
package io.mooncake.benchmarks.transfer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import io.mooncake.benchmarks.Bench;
import io.mooncake.examples.cli.Terminal;
import io.mooncake.natives.NativeBridge;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** The harness as it is shipped, on one size: real processes, and figures that can be; whether they are good is no test's question. */
final class TransferBenchTest {
    private static final long SIZE = 64 << 10;
    private static final TransferSettings SHORT = new TransferSettings(5, 15, 10, 64 << 20, 0, 2, 0);

    private final ByteArrayOutputStream shown = new ByteArrayOutputStream();

    private JsonObject run(String... transports) throws Exception {
        Terminal terminal = new Terminal(new PrintStream(shown, true, StandardCharsets.UTF_8), false);
        Bench.Settings settings = new Bench.Settings(
                Path.of(""), 5, true, List.of(transports), List.of(SIZE), null, List.of(), List.of());
        return JsonParser.parseString(
                        new TransferBench(SHORT).run(settings, terminal).toJson())
                .getAsJsonObject();
    }

    @Test
    void run_oneSize_writesEveryLineWithItsCeiling() throws Exception {
        assumeTrue(NativeBridge.available(), "native bridge");
        boolean compiler = CeilingProgram.compile().reason().isEmpty();
        JsonObject report = run("tcp", "shm", "rdma");
        List<String> names = new ArrayList<>();
        for (JsonElement element : report.getAsJsonArray("rows")) {
            JsonObject row = element.getAsJsonObject();
            String name = row.get("transport").getAsString() + " "
                    + row.get("operation").getAsString() + " x" + row.get("batch");
            if (row.get("ours").isJsonNull()) {
                assertThat(row.get("note").getAsString()).startsWith("no device: ");
                continue;
            }
            names.add(name);
            assertThat(row.get("size").getAsLong()).isEqualTo(SIZE);
            assertPossible(name, row.getAsJsonObject("ours"), row.get("batch").getAsInt());
            assertThat(row.getAsJsonObject("ours").get("heapBytesPerCall").getAsDouble())
                    .isBetween(0.0, 1e6);
            assertThat(row.get("ceilingRatio").isJsonNull()).isEqualTo(!compiler);
            for (JsonElement ceiling : row.getAsJsonArray("ceilings")) {
                assertPossible(name, ceiling.getAsJsonObject(), row.get("batch").getAsInt());
            }
        }
        assertThat(names)
                .containsExactly(
                        "tcp read x1",
                        "tcp write x1",
                        "tcp leased-read x1",
                        "tcp read x64",
                        "tcp write x64",
                        "shm leased-read x1",
                        "shm leased-read-unchecked x1",
                        "shm write x1",
                        "shm leased-read x64",
                        "shm leased-read-unchecked x64");
        assertThat(report.getAsJsonObject("settings").get("rounds").getAsInt()).isEqualTo(5);
        assertThat(report.getAsJsonArray("results")).isNotEmpty();
        assertThat(shown.toString(StandardCharsets.UTF_8)).contains("tcp  read", "shm  leased-read", "targets met");
    }

    /** Between a thousandth of what the slowest machine does and more than any memory: a wrong unit or count shows. */
    private static void assertPossible(String name, JsonObject figures, int batch) {
        double speed = figures.get("gigabytesPerSecond").getAsDouble();
        double micros = figures.get("medianMicros").getAsDouble();
        assertThat(speed).as(name).isBetween(1e-4, 1e3);
        assertThat(figures.get("p99Micros").getAsDouble()).as(name).isGreaterThanOrEqualTo(micros);
        assertThat(figures.get("calls").getAsLong()).as(name).isGreaterThanOrEqualTo(5);
        // What a median call moves in its time can't be far from the speed, as much as others may disturb the machine.
        assertThat(batch * SIZE / (micros * 1e3)).as(name).isBetween(speed / 100, speed * 1000);
    }
}
