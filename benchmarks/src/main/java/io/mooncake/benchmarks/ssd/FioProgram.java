// SPDX-License-Identifier: Apache-2.0
package io.mooncake.benchmarks.ssd;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import io.mooncake.examples.cli.Refusal;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/**
 * fio, the reference.
 *
 * @param version what it calls itself; empty when it is not there
 */
record FioProgram(String version) {
    private static final long PATIENCE_SECONDS = 120;

    /** Finds it on the path. */
    static FioProgram find() {
        try {
            return new FioProgram(run(List.of("fio", "--version")).strip());
        } catch (IOException e) {
            return new FioProgram("");
        }
    }

    boolean missing() {
        return version.isEmpty();
    }

    /**
     * Bytes a second of {@code bytes} in all, in random order within a file of that size, past the page cache.
     *
     * @param threads one thread for each operation at once, instead of io_uring
     */
    double bytesPerSecond(Path file, boolean write, long bytes, int blockBytes, int depth, boolean threads)
            throws IOException {
        List<String> command = new ArrayList<>(List.of(
                "fio",
                "--name=bench",
                "--filename=" + file,
                "--direct=1",
                "--bs=" + blockBytes,
                "--rw=" + (write ? "randwrite" : "randread"),
                "--output-format=json"));
        command.addAll(
                threads
                        ? List.of(
                                "--ioengine=psync",
                                "--thread",
                                "--numjobs=" + depth,
                                "--size=" + bytes / depth,
                                "--offset_increment=" + bytes / depth,
                                "--group_reporting")
                        : List.of("--ioengine=io_uring", "--iodepth=" + depth, "--size=" + bytes));
        String said = run(command);
        JsonObject job = JsonParser.parseString(said.substring(Math.max(0, said.indexOf('{'))))
                .getAsJsonObject()
                .getAsJsonArray("jobs")
                .get(0)
                .getAsJsonObject();
        JsonElement speed = job.getAsJsonObject(write ? "write" : "read").get("bw_bytes");
        return speed.getAsDouble();
    }

    private static String run(List<String> command) throws IOException {
        Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
        process.getOutputStream().close();
        String said = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        try {
            if (!process.waitFor(PATIENCE_SECONDS, TimeUnit.SECONDS) || process.exitValue() != 0) {
                process.destroyForcibly();
                throw new Refusal("fio failed: " + said.lines().findFirst().orElse("it said nothing"));
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new Refusal("interrupted", e);
        }
        return said;
    }
}
