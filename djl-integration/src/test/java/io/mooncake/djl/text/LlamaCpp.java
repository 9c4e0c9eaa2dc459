// SPDX-License-Identifier: Apache-2.0
package io.mooncake.djl.text;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.google.gson.Gson;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/**
 * Asks llama.cpp, an independent program, through {@code src/test/js/reference.mjs}. Where it is comes from the environment:
 * MOONCAKE_NODE (a Node of at least version 20), MOONCAKE_LLAMA_CPP (the folder with node_modules) and MOONCAKE_MODEL (the GGUF
 * file).
 */
public record LlamaCpp(Path node, Path folder, Path model) {
    private static final Gson GSON = new Gson();

    /** What the environment names; the test is skipped, with a line that says what is missing, where it names too little. */
    public static LlamaCpp require() {
        return new LlamaCpp(
                existing("MOONCAKE_NODE", "a Node.js binary"),
                existing("MOONCAKE_LLAMA_CPP", "a folder with node_modules/node-llama-cpp"),
                existing("MOONCAKE_MODEL", "a GGUF file"));
    }

    private static Path existing(String variable, String what) {
        String value = System.getenv(variable);
        boolean there = value != null && !value.isBlank() && Files.exists(Path.of(value));
        if (!there) {
            System.err.println("SKIPPED: the comparison with llama.cpp needs " + variable + ": " + value
                    + " (expected: " + what + "; ./mooncake test provides it)");
        }
        assumeTrue(there, variable + ": " + value + " (expected: " + what + ")");
        return Path.of(value);
    }

    /** Sends a request, as described in the script, and returns the answer. */
    public JsonObject ask(Map<String, ?> request, long timeoutSeconds) throws IOException, InterruptedException {
        Path work = Files.createTempDirectory("llama-cpp");
        Path requestFile = work.resolve("request.json");
        Path answerFile = work.resolve("answer.json");
        JsonObject json = GSON.toJsonTree(request).getAsJsonObject();
        json.addProperty("model", model.toAbsolutePath().toString());
        Files.writeString(requestFile, json.toString());
        Path log = work.resolve("log");
        Process process = new ProcessBuilder(List.of(
                        node.toString(),
                        Path.of("src/test/js/reference.mjs").toAbsolutePath().toString(),
                        folder.toAbsolutePath().toString(),
                        requestFile.toString(),
                        answerFile.toString()))
                .redirectErrorStream(true)
                .redirectOutput(log.toFile())
                .start();
        boolean ended = process.waitFor(timeoutSeconds, TimeUnit.SECONDS);
        if (!ended) {
            process.destroyForcibly();
        }
        String output = Files.readString(log, StandardCharsets.UTF_8);
        assertThat(ended)
                .as("llama.cpp ends within %d s; %s", timeoutSeconds, output)
                .isTrue();
        assertThat(process.exitValue()).as(output).isZero();
        return GSON.fromJson(Files.readString(answerFile), JsonObject.class);
    }

    /** A JSON array of numbers as ints. */
    public static int[] ints(JsonElement array) {
        return GSON.fromJson(array, int[].class);
    }
}
