// SPDX-License-Identifier: Apache-2.0
package io.mooncake.benchmarks.policy;

import com.google.gson.JsonObject;
import com.google.gson.JsonParseException;
import com.google.gson.JsonParser;
import io.mooncake.base.MooncakeException;
import java.io.BufferedReader;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Requests in the order of their arrival, in the form of Mooncake's published traces: one JSON object a line with timestamp (ms), input_length,
 * output_length and hash_ids, the names of the prompt's blocks of 512 tokens.
 *
 * @param name of the file
 * @param requests in order
 * @param distinctBlocks blocks are 0..distinctBlocks-1, in the order of their first use
 */
record Trace(String name, List<TraceRequest> requests, int distinctBlocks) {
    /** One line; it has at least one block. */
    record TraceRequest(long millis, int inputTokens, int outputTokens, long[] blocks) {}

    /** Reads {@code file}; a line that is no request is refused by its number. */
    static Trace read(Path file) throws IOException {
        List<TraceRequest> requests = new ArrayList<>();
        Map<Long, Integer> blocks = new HashMap<>();
        try (BufferedReader reader = Files.newBufferedReader(file)) {
            for (String line = reader.readLine(); line != null; line = reader.readLine()) {
                if (!line.isBlank()) {
                    requests.add(parse(line, requests.size() + 1, blocks));
                }
            }
        }
        return new Trace(String.valueOf(file.getFileName()), List.copyOf(requests), blocks.size());
    }

    private static TraceRequest parse(String line, int number, Map<Long, Integer> numbers) {
        try {
            JsonObject json = JsonParser.parseString(line).getAsJsonObject();
            long[] blocks = new long[json.getAsJsonArray("hash_ids").size()];
            for (int i = 0; i < blocks.length; i++) {
                long name = json.getAsJsonArray("hash_ids").get(i).getAsLong();
                blocks[i] = numbers.computeIfAbsent(name, first -> numbers.size());
            }
            if (blocks.length == 0) {
                throw new IllegalStateException("no block");
            }
            return new TraceRequest(
                    json.get("timestamp").getAsLong(),
                    json.get("input_length").getAsInt(),
                    json.get("output_length").getAsInt(),
                    blocks);
        } catch (JsonParseException | IllegalStateException | NumberFormatException | NullPointerException e) {
            throw MooncakeException.invalid(
                    "line " + number,
                    line.length() > 60 ? line.substring(0, 60) + "..." : line,
                    "a JSON object with timestamp, input_length, output_length and hash_ids");
        }
    }

    /** Blocks asked for in all. */
    long blockUses() {
        return requests.stream().mapToLong(request -> request.blocks().length).sum();
    }
}
