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
import java.util.stream.Stream;
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
        assertThat(page).contains("<svg", "After a restart").doesNotContain("<script src", "<link");
        requireSsdUsed(result);
        JsonObject restart = requireAnsweredFromSsd(result);
        assertThat(restart.get("killed").getAsBoolean()).isFalse();
        // A clean stop writes what waits.
        assertThat(restart.get("ssdBlocksAfter").getAsLong())
                .isGreaterThanOrEqualTo(restart.get("ssdBlocksBefore").getAsLong());
    }

    /** Memory was too small for each node, and what it gave up came back. */
    private static void requireSsdUsed(JsonObject result) {
        long loads = 0;
        assertThat(result.getAsJsonArray("nodes")).hasSize(3);
        for (JsonElement node : result.getAsJsonArray("nodes")) {
            JsonObject figures = node.getAsJsonObject();
            assertThat(figures.get("ssdBlocks").getAsLong())
                    .isGreaterThan(figures.get("capacityBlocks").getAsLong());
            loads += figures.get("ssdLoads").getAsLong();
        }
        assertThat(loads).isPositive();
    }

    /** The restarted node had nothing in memory, nobody else had anything, and the handbook's tokens were there. */
    private static JsonObject requireAnsweredFromSsd(JsonObject result) {
        JsonObject restart = result.getAsJsonObject("restart");
        JsonObject request = restart.getAsJsonObject("request");
        assertThat(restart.get("memoryBlocksAfter").getAsLong()).isZero();
        assertThat(restart.get("othersTokens").getAsInt()).isZero();
        assertThat(restart.get("ssdTokens").getAsInt())
                .isGreaterThan(1_000)
                .isEqualTo(request.get("localTokens").getAsInt());
        assertThat(restart.get("savedMillis").getAsDouble()).isPositive();
        assertThat(request.get("remoteTokens").getAsInt()).isZero();
        assertThat(request.get("logitsEqual").getAsBoolean()).isTrue();
        return restart;
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
        assertThat(requireAnsweredFromSsd(result).get("killed").getAsBoolean()).isTrue();
    }

    @Test
    void demo_folderForTheSsdIsMissing_isRefusedBeforeANodeStarts(@TempDir Path folder) {
        Path missing = folder.resolve("missing");
        try (ForkedJvm demo = ForkedJvm.of("io.mooncake.examples.cli.Main")
                .jvmArguments("-Xmx512m")
                .property("mooncake.home", HOME.toString())
                .arguments("demo", "--model", model.toString(), "--ssd", missing.toString())
                .start()) {
            assertThat(demo.exitCode(PATIENCE)).as(demo.output()).isEqualTo(1);
            assertThat(demo.output())
                    .contains("SSD folder: " + missing + " does not exist (expected: an existing folder")
                    .doesNotContain("nodes ready");
        }
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
        try (Stream<Path> left = Files.list(HOME.resolve("target/demo/ssd"))) {
            assertThat(left).as("folders of the SSDs").isEmpty();
        }
        for (JsonElement check : result.getAsJsonArray("checks")) {
            assertThat(check.getAsJsonObject().get("held").getAsBoolean())
                    .as(check.toString())
                    .isTrue();
        }
        return result;
    }
}
