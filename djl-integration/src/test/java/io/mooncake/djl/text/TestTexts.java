// SPDX-License-Identifier: Apache-2.0
package io.mooncake.djl.text;

import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonParser;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** Real texts from the folder that MOONCAKE_TEST_DATA names; tests skip where it is unset. */
public final class TestTexts {
    private TestTexts() {}

    /** The folder of outside data, or a skipped test. */
    public static Path data() {
        String value = System.getenv("MOONCAKE_TEST_DATA");
        boolean there = value != null && !value.isBlank() && Files.isDirectory(Path.of(value));
        assumeTrue(there, "MOONCAKE_TEST_DATA: " + value + " (expected: the folder with outside test data)");
        return Path.of(value);
    }

    /** 200 texts: questions in many fields, sums, stories, long system prompts and tool runs. */
    public static List<String> twoHundred() throws IOException {
        List<String> out = new ArrayList<>();
        for (List<String> turns : questions()) {
            out.addAll(turns.subList(0, 1));
        }
        out.addAll(sums(40));
        out.addAll(stories(40));
        Path text = data().resolve("text");
        out.add(Files.readString(text.resolve("tau_bench_airline_wiki.md")));
        out.add(Files.readString(text.resolve("tau_bench_retail_wiki.md")));
        JsonArray runs = JsonParser.parseString(Files.readString(text.resolve("tau_bench_gpt-4o-airline.json")))
                .getAsJsonArray();
        for (int i = 0; out.size() < 200; i++) {
            String run = runs.get(i).toString();
            out.add(run.substring(0, Math.min(run.length(), 20_000)));
        }
        return out;
    }

    /** Questions of two turns each. */
    public static List<List<String>> questions() throws IOException {
        List<List<String>> out = new ArrayList<>();
        for (String line : Files.readAllLines(data().resolve("text/mt_bench_question.jsonl"))) {
            List<String> turns = new ArrayList<>();
            for (JsonElement turn :
                    JsonParser.parseString(line).getAsJsonObject().getAsJsonArray("turns")) {
                turns.add(turn.getAsString());
            }
            out.add(turns);
        }
        return out;
    }

    /** Word problems with their solutions. */
    public static List<String> sums(int count) throws IOException {
        return Files.readAllLines(data().resolve("text/gsm8k_test.jsonl")).subList(0, count).stream()
                .map(line -> JsonParser.parseString(line).getAsJsonObject())
                .map(sum -> sum.get("question").getAsString() + "\n"
                        + sum.get("answer").getAsString())
                .toList();
    }

    /** Short stories in plain words. */
    public static List<String> stories(int count) throws IOException {
        List<String> out = new ArrayList<>();
        JsonArray all = JsonParser.parseString(Files.readString(data().resolve("text/tinystories_1000.json")))
                .getAsJsonArray();
        for (int i = 0; i < count; i++) {
            JsonElement story = all.get(i);
            out.add(story.isJsonObject() ? story.getAsJsonObject().get("story").getAsString() : story.getAsString());
        }
        return out;
    }
}
