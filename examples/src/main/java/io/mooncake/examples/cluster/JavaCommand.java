// SPDX-License-Identifier: Apache-2.0
package io.mooncake.examples.cluster;

import io.mooncake.examples.cli.Home;
import io.mooncake.examples.cli.Refusal;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** The command line that runs this program once more in a child. */
final class JavaCommand {
    private JavaCommand() {}

    /** {@code java} with the shared JVM flags, {@code properties} as system properties, and {@code arguments} for the command line. */
    static List<String> of(String heap, Map<String, String> properties, List<String> arguments) {
        List<String> command = new ArrayList<>();
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        command.addAll(sharedFlags());
        command.add("-Xms64m");
        command.add("-Xmx" + heap);
        command.add("-XX:+UseSerialGC");
        command.add("-XX:+ExitOnOutOfMemoryError");
        command.add("-Dmooncake.home=" + Home.root());
        properties.forEach((name, value) -> command.add("-D" + name + "=" + value));
        command.add("-cp");
        command.add(System.getProperty("java.class.path"));
        command.add("io.mooncake.examples.cli.Main");
        command.addAll(arguments);
        return command;
    }

    /** The one file of JVM flags that commands, tests and documents share. */
    private static List<String> sharedFlags() {
        Path file = Home.folder("jvm.args");
        if (!Files.isReadable(file)) {
            throw new Refusal("JVM flags: " + file
                    + " (expected: a readable file; set the system property mooncake.home" + " to the repository)");
        }
        try {
            return Files.readAllLines(file).stream()
                    .map(String::strip)
                    .filter(line -> !line.isEmpty() && !line.startsWith("#"))
                    .toList();
        } catch (IOException e) {
            throw new Refusal("JVM flags: " + file + ": " + e.getMessage(), e);
        }
    }
}
