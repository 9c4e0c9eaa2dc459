// SPDX-License-Identifier: Apache-2.0
package io.mooncake.benchmarks.prefix;

import com.google.gson.Gson;
import com.google.gson.annotations.SerializedName;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;

/**
 * A line of Mooncake's traces.
 *
 * @param inputTokens length of the prompt
 * @param hashIds a number for each 512 tokens of it; equal numbers, equal prompts up to there
 */
record TraceRequest(
        @SerializedName("input_length") int inputTokens,
        @SerializedName("hash_ids") int[] hashIds) {
    static List<TraceRequest> read(Path file) throws IOException {
        Gson gson = new Gson();
        try (Stream<String> lines = Files.lines(file)) {
            return lines.map(line -> gson.fromJson(line, TraceRequest.class)).toList();
        }
    }
}
