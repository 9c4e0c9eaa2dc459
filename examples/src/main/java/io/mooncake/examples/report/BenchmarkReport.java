// SPDX-License-Identifier: Apache-2.0
package io.mooncake.examples.report;

import com.google.gson.Gson;
import com.google.gson.GsonBuilder;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import io.mooncake.examples.cli.TextTable;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;

/**
 * The results of one benchmark, in the form that all of them share:
 *
 * <pre>
 *   {"bench", "version", "commit", "machine": {...},
 *    "results": [{"name", "value", "unit", "reference", "referenceValue", "ratio", "target", "met", "min", "max", "runs", ...}]}
 * </pre>
 *
 * Keys without a value are present as null. A benchmark may add sections of its own behind these.
 *
 * @param bench name of the benchmark
 * @param version version of the product
 * @param commit commit it was built from
 * @param machine where it ran
 * @param results its lines
 * @param sections further top-level keys, each any value that Gson can write
 */
public record BenchmarkReport(
        String bench,
        String version,
        String commit,
        Machine machine,
        List<BenchmarkResult> results,
        Map<String, Object> sections) {

    private static final Gson GSON = new GsonBuilder()
            .serializeNulls()
            .setPrettyPrinting()
            .disableHtmlEscaping()
            .create();

    /** A report of this build on this machine; {@code home} is the repository it was built from. */
    public static BenchmarkReport here(
            String bench, Path home, List<BenchmarkResult> results, Map<String, Object> sections) {
        return new BenchmarkReport(
                bench,
                Versions.product(),
                Versions.commit(home),
                Machine.local(),
                List.copyOf(results),
                new TreeMap<>(sections));
    }

    /** The report as JSON text. */
    public String toJson() {
        JsonObject root = new JsonObject();
        root.addProperty("bench", bench);
        root.addProperty("version", version);
        root.addProperty("commit", commit);
        root.add("machine", GSON.toJsonTree(machine));
        root.add("results", GSON.toJsonTree(results));
        sections.forEach((name, value) -> {
            JsonElement tree = GSON.toJsonTree(value);
            root.add(name, tree);
        });
        return GSON.toJson(root) + "\n";
    }

    /** Writes the JSON to {@code file}, whose folder is made where missing. */
    public void write(Path file) throws IOException {
        Path folder = file.toAbsolutePath().getParent();
        if (folder != null) {
            Files.createDirectories(folder);
        }
        Files.writeString(file, toJson());
    }

    /** The results as lines of a table for people. */
    public List<String> table() {
        TextTable table = new TextTable(
                List.of("name", "value", "unit", "min..max", "runs", "reference", "ratio", "target", "met"));
        for (BenchmarkResult result : results) {
            table.row(List.of(
                    result.name(),
                    number(result.value()),
                    result.unit(),
                    number(result.min()) + ".." + number(result.max()),
                    Integer.toString(result.runs()),
                    result.reference() == null || result.referenceValue() == null
                            ? "-"
                            : number(result.referenceValue()) + " (" + result.reference() + ")",
                    result.ratio() == null ? "-" : number(result.ratio()),
                    result.target() == null ? "-" : result.target(),
                    result.verdict()));
        }
        return table.lines();
    }

    /** A number with as many decimals as its size deserves. */
    public static String number(double value) {
        double size = Math.abs(value);
        if (value == Math.rint(value) && size < 1e15) {
            return String.format(Locale.ROOT, "%.0f", value);
        }
        return String.format(
                Locale.ROOT,
                size >= 100 ? "%.0f" : size >= 10 ? "%.1f" : size >= 1 ? "%.2f" : size >= 0.1 ? "%.3f" : "%.4f",
                value);
    }
}
