// SPDX-License-Identifier: Apache-2.0
package io.mooncake.it.closure;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

/** What a user's node gets on its class path by naming the plugin. A new jar is a decision: it must be added to closure.txt. */
class ClosureTest {
    private static final Pattern ARTIFACT =
            Pattern.compile("^\\s+([\\w.-]+):([\\w.-]+):jar:(?:[\\w.-]+:)?[\\w.-]+:(?:compile|runtime)\\b.*");

    @Test
    void runtimeClosure_ofThePlugin_isTheListedJars() throws IOException {
        List<String> found = Files.readAllLines(Path.of("target", "closure.txt")).stream()
                .map(ClosureTest::artifact)
                .filter(name -> !name.isEmpty())
                .toList();
        assertThat(found).containsExactlyInAnyOrderElementsOf(listed());
    }

    private static String artifact(String line) {
        Matcher matcher = ARTIFACT.matcher(line);
        return matcher.matches() ? matcher.group(1) + ":" + matcher.group(2) : "";
    }

    private static List<String> listed() throws IOException {
        try (var in = ClosureTest.class.getResourceAsStream("/closure.txt")) {
            return new String(in.readAllBytes(), StandardCharsets.UTF_8)
                    .lines()
                    .filter(line -> !line.isBlank() && !line.startsWith("#"))
                    .toList();
        }
    }
}
