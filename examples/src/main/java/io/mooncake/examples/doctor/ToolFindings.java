// SPDX-License-Identifier: Apache-2.0
package io.mooncake.examples.doctor;

import io.mooncake.base.Deadline;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** The programs that building and testing need, each asked for its version. */
final class ToolFindings {
    private static final long ANSWER_MILLIS = 5_000;
    private static final Pattern VERSION = Pattern.compile("\\d+(\\.\\d+)+");

    private ToolFindings() {}

    static List<Finding> all() {
        List<Finding> found = new ArrayList<>();
        found.add(java());
        found.add(jvmFlags());
        found.add(tool("Maven", "needed to build", "mvn", "--version"));
        found.add(tool("cmake", "without it the native bridge is left out", "cmake", "--version"));
        found.add(tool("C compiler", "without it the native bridge is left out", "cc", "--version"));
        found.add(tool("pip", "needed to download the model", "python3", "-m", "pip", "--version"));
        found.add(tool("Node", "version 20 or newer is fetched for the tests", "node", "--version"));
        return found;
    }

    private static Finding java() {
        int version = Runtime.version().feature();
        String text =
                System.getProperty("java.vm.name") + " " + Runtime.version() + " in " + System.getProperty("java.home");
        return version == 17 ? Finding.present("Java", text) : Finding.warning("Java", text + " (expected: 17)");
    }

    // The two packages without which Ignite and Arrow fail late and with words that do not name the cause.
    private static Finding jvmFlags() {
        List<String> closed = new ArrayList<>();
        for (String name : List.of("java.nio", "jdk.internal.misc")) {
            if (!Object.class.getModule().isOpen(name, ToolFindings.class.getModule())) {
                closed.add(name);
            }
        }
        return closed.isEmpty()
                ? Finding.present("JVM flags", "java.base is open to Ignite and Arrow (jvm.args)")
                : Finding.warning("JVM flags", closed + " closed (expected: java started with @jvm.args)");
    }

    static Finding tool(String topic, String use, String... command) {
        Optional<String> answer = ask(Deadline.ofMillis(ANSWER_MILLIS), command);
        if (answer.isEmpty()) {
            return Finding.absent(topic, String.join(" ", command) + " does not answer; " + use);
        }
        Matcher version = VERSION.matcher(answer.get());
        return Finding.present(topic, version.find() ? version.group() : "present, version unknown");
    }

    /** The first line of a program's output; empty when it is absent, fails or takes too long. */
    private static Optional<String> ask(Deadline deadline, String... command) {
        Path output = null;
        try {
            // A file, not a pipe: a program that hangs with the pipe open would hold the reader.
            output = Files.createTempFile("mooncake-doctor", ".txt");
            Process process = new ProcessBuilder(command)
                    .redirectErrorStream(true)
                    .redirectOutput(output.toFile())
                    .start();
            process.getOutputStream().close();
            if (!process.waitFor(deadline.remainingMillis(), TimeUnit.MILLISECONDS)) {
                process.destroyForcibly();
                return Optional.empty();
            }
            return process.exitValue() == 0 ? firstLine(output) : Optional.empty();
        } catch (IOException e) {
            return Optional.empty();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return Optional.empty();
        } finally {
            delete(output);
        }
    }

    private static Optional<String> firstLine(Path file) throws IOException {
        try (InputStream in = Files.newInputStream(file)) {
            String text = new String(in.readNBytes(4096), StandardCharsets.UTF_8);
            return text.lines().filter(line -> !line.isBlank()).findFirst();
        }
    }

    private static void delete(@Nullable Path file) {
        if (file != null) {
            file.toFile().delete();
        }
    }
}
