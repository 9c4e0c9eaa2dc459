// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** What docs/faults.md calls a test is one. */
final class FaultsDocumentTest {
    private static final Path ROOT = Path.of("..");
    private static final Pattern NAMED = Pattern.compile("`([A-Z]\\w+)\\.(\\w+_\\w+)`");

    @Test
    void names_inTheDocument_areTests() throws IOException {
        Map<String, List<Path>> sources = sources();
        Matcher named = NAMED.matcher(Files.readString(ROOT.resolve("docs/faults.md")));
        List<String> missing = new ArrayList<>();
        int count = 0;
        while (named.find()) {
            count++;
            boolean found = false;
            for (Path source : sources.getOrDefault(named.group(1), List.of())) {
                found |= isTest(Files.readString(source), named.group(2));
            }
            if (!found) {
                missing.add(named.group());
            }
        }
        assertThat(missing).isEmpty();
        assertThat(count).isGreaterThan(40);
    }

    private static boolean isTest(String source, String method) {
        int at = source.indexOf(" void " + method + "(");
        // Annotations stand between the method before and its own name.
        String before = at < 0 ? "" : source.substring(0, at);
        String own = before.substring(before.lastIndexOf(";\n") + 1);
        return own.contains("@Test") || own.contains("@ParameterizedTest");
    }

    /** By name of the class; modules may have one of the same name. */
    private static Map<String, List<Path>> sources() throws IOException {
        Map<String, List<Path>> sources = new HashMap<>();
        for (String module : new String[] {
            "native", "arrow-memory", "transfer-spi", "transfer-spi/etcd", "ignite-plugin", "it/scenarios"
        }) {
            try (Stream<Path> files = Files.walk(ROOT.resolve(module).resolve("src/test/java"))) {
                files.filter(path -> path.toString().endsWith(".java")).forEach(path -> sources.computeIfAbsent(
                                path.getFileName().toString().replace(".java", ""), name -> new ArrayList<>())
                        .add(path));
            }
        }
        return sources;
    }
}
