// SPDX-License-Identifier: Apache-2.0
package io.mooncake.it.demo;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import io.mooncake.testkit.ForkedJvm;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The demo as a user runs it, with the real model: three nodes, a client, and its own checks. */
class DemoIT {
    private static final Duration PATIENCE = Duration.ofMinutes(15);
    private static final Path HOME = Path.of(System.getProperty("mooncake.home"));

    private Path model = HOME;

    @BeforeEach
    void requireModel() {
        String file = System.getenv("MOONCAKE_MODEL");
        if (file == null || !Files.isReadable(Path.of(file))) {
            System.err.println("SKIPPED: DemoIT needs the environment variable MOONCAKE_MODEL (a GGUF chat model)");
        }
        assumeTrue(file != null && Files.isReadable(Path.of(file)), "MOONCAKE_MODEL is unset or not readable");
        model = Path.of(file);
    }

    @Test
    void demo_realModel_everyCheckHolds(@TempDir Path folder) throws IOException {
        JsonObject result = run(folder, "--requests", "24");

        assertThat(result.get("bench").getAsString()).isEqualTo("demo");
        assertThat(result.getAsJsonArray("requests")).hasSize(24);
        for (JsonElement row : result.getAsJsonArray("requests")) {
            assertThat(row.getAsJsonObject().get("error").isJsonNull()).isTrue();
        }
        String page = Files.readString(HOME.resolve("target/demo/report.html"));
        assertThat(page).contains("<svg").doesNotContain("<script src", "<link");
    }

    @Test
    void demo_nodeKilledMidway_costsItsRunningRequestsOnly(@TempDir Path folder) throws IOException {
        assumeTrue(Boolean.getBoolean("mooncake.long"), "runs with --long only");
        JsonObject result = run(folder, "--requests", "36", "--kill-node");

        int lost = 0;
        for (JsonElement row : result.getAsJsonArray("requests")) {
            lost += row.getAsJsonObject().get("lost").getAsBoolean() ? 1 : 0;
        }
        System.out.println("Demo with a killed node: " + lost + " of 36 requests lost with it");
        assertThat(lost).isLessThanOrEqualTo(3);
    }

    private JsonObject run(Path folder, String... options) throws IOException {
        Path json = folder.resolve("demo.json");
        try (ForkedJvm demo = ForkedJvm.of("io.mooncake.examples.cli.Main")
                .jvmArguments("-Xmx512m")
                .property("mooncake.home", HOME.toString())
                .arguments("demo", "--model", model.toString(), "--json", json.toString())
                .arguments(options)
                .start()) {
            assertThat(demo.exitCode(PATIENCE)).as(demo.output()).isZero();
            System.out.println(demo.output());
        }
        JsonObject result = JsonParser.parseString(Files.readString(json)).getAsJsonObject();
        for (JsonElement check : result.getAsJsonArray("checks")) {
            assertThat(check.getAsJsonObject().get("held").getAsBoolean())
                    .as(check.toString())
                    .isTrue();
        }
        return result;
    }
}
