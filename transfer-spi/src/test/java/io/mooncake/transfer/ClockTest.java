// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** Terms, deadlines and pauses are counted on the monotonic clock: whoever sets the wall clock changes none of them. */
final class ClockTest {
    /** What looks at the wall clock, in the JDK. */
    private static final Pattern WALL_CLOCK = Pattern.compile(
            "currentTimeMillis|\\bInstant\\.now|\\bnew Date\\(\\)|\\bnew Date\\b"
                    + "|\\bClock\\.system|\\b(Local|Zoned|Offset)\\w*\\.now\\(|\\bparkUntil\\b|\\bawaitUntil\\b|\\bCalendar\\.");

    /** Who may, and what for. */
    private static final Map<String, String> ALLOWED =
            Map.of("Tls.java", "warns of certificates whose time is over; they have calendar dates");

    @Test
    void sources_ofEngineAndStores_lookAtNoWallClock() throws IOException {
        List<String> found = new ArrayList<>();
        int seen = 0;
        for (String folder : new String[] {"src/main/java", "etcd/src/main/java", "../native/src/main/java"}) {
            try (Stream<Path> files = Files.walk(Path.of(folder))) {
                for (Path file :
                        files.filter(path -> path.toString().endsWith(".java")).toList()) {
                    seen++;
                    String name = file.getFileName().toString();
                    Files.readAllLines(file).stream()
                            .filter(line -> WALL_CLOCK.matcher(line).find() && !line.startsWith("import "))
                            .filter(line -> !ALLOWED.containsKey(name))
                            .forEach(line -> found.add(file + ": " + line.strip()));
                }
            }
        }
        assertThat(found).isEmpty();
        assertThat(seen).isGreaterThan(100);
    }
}
