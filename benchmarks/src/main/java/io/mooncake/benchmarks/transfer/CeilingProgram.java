// SPDX-License-Identifier: Apache-2.0
package io.mooncake.benchmarks.transfer;

import io.mooncake.examples.cli.Home;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.List;
import java.util.concurrent.TimeUnit;

/**
 * The C program, compiled by the machine's compiler when a benchmark needs it.
 *
 * @param program the executable, meaningless where there is a reason
 * @param reason why there is none; empty when there is
 */
record CeilingProgram(Path program, String reason) {
    private static final List<String> COMPILE = List.of("cc", "-O3", "-Wall", "-pthread", "-o");

    static CeilingProgram compile() {
        Path folder = Home.folder("target/bench");
        Path program = folder.resolve("ceiling");
        try {
            Path source = resource(folder, "ceiling.c");
            List<String> command = new java.util.ArrayList<>(COMPILE);
            command.add(program.toString());
            command.add(source.toString());
            Process compiler =
                    new ProcessBuilder(command).redirectErrorStream(true).start();
            compiler.getOutputStream().close();
            String said = new String(compiler.getInputStream().readAllBytes(), StandardCharsets.UTF_8).strip();
            if (!compiler.waitFor(60, TimeUnit.SECONDS) || compiler.exitValue() != 0) {
                compiler.destroyForcibly();
                return new CeilingProgram(
                        program, "cc failed: " + said.lines().findFirst().orElse("it said nothing"));
            }
            return new CeilingProgram(program, "");
        } catch (IOException e) {
            return new CeilingProgram(program, "no C compiler: " + e.getMessage());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return new CeilingProgram(program, "interrupted");
        }
    }

    /** Copies a file of this package's resources into {@code folder}. */
    static Path resource(Path folder, String name) throws IOException {
        Path file = folder.resolve(name);
        Files.createDirectories(folder);
        try (InputStream in = CeilingProgram.class.getResourceAsStream(name)) {
            if (in == null) {
                throw new IOException(name + " is not on the class path");
            }
            Files.copy(in, file, StandardCopyOption.REPLACE_EXISTING);
        }
        return file;
    }
}
