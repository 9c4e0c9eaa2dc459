// SPDX-License-Identifier: Apache-2.0
package io.mooncake.testkit;

import io.mooncake.base.MooncakeException;
import java.io.BufferedReader;
import java.io.File;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.Predicate;

/**
 * A Java process of a test: started with the flags that Ignite and Arrow need, its output kept, killed for good when closed.
 *
 * <p>The flags are read from {@code jvm.args} in the folder named by the system property {@code mooncake.home}. Threading: one test
 * thread; output is collected on a thread of its own.
 */
public final class ForkedJvm implements AutoCloseable {
    private final Process process;
    private final List<String> lines = new ArrayList<>();
    private final Thread reader;

    private ForkedJvm(Process process) {
        this.process = process;
        this.reader = new Thread(this::collect, "forked-jvm-output-" + process.pid());
        reader.setDaemon(true);
        reader.start();
    }

    /** A process that runs {@code mainClass} on this process's class path. */
    public static Builder of(String mainClass) {
        return new Builder(mainClass);
    }

    private void collect() {
        try (BufferedReader in = process.inputReader(StandardCharsets.UTF_8)) {
            for (String line = in.readLine(); line != null; line = in.readLine()) {
                synchronized (lines) {
                    lines.add(line);
                    lines.notifyAll();
                }
            }
        } catch (IOException e) {
            // The pipe ends with the process.
        }
        synchronized (lines) {
            lines.notifyAll();
        }
    }

    /** The process id. */
    public long pid() {
        return process.pid();
    }

    /** Whether it runs. */
    public boolean alive() {
        return process.isAlive();
    }

    /** What it has printed so far, standard output and error mixed. */
    public String output() {
        synchronized (lines) {
            return String.join("\n", lines);
        }
    }

    /**
     * Waits for a line that contains {@code text}.
     *
     * @return that line
     * @throws MooncakeException DEADLINE_EXCEEDED or, when the process ended first, ILLEGAL_STATE; both with its output
     */
    public String awaitLine(String text, Duration timeout) {
        long end = System.nanoTime() + timeout.toNanos();
        int seen = 0;
        synchronized (lines) {
            while (true) {
                for (; seen < lines.size(); seen++) {
                    if (lines.get(seen).contains(text)) {
                        return lines.get(seen);
                    }
                }
                long left = end - System.nanoTime();
                if (left <= 0) {
                    throw new MooncakeException(
                            MooncakeException.Code.DEADLINE_EXCEEDED,
                            "no line with '" + text + "' within " + timeout + " in:\n" + String.join("\n", lines));
                }
                if (!reader.isAlive()) {
                    throw new MooncakeException(
                            MooncakeException.Code.ILLEGAL_STATE,
                            "process " + pid() + " ended without a line with '" + text + "':\n"
                                    + String.join("\n", lines));
                }
                try {
                    lines.wait(Math.max(1, Math.min(200, left / 1_000_000)));
                } catch (InterruptedException e) {
                    Thread.currentThread().interrupt();
                    throw new MooncakeException(
                            MooncakeException.Code.ILLEGAL_STATE, "interrupted while waiting for '" + text + "'", e);
                }
            }
        }
    }

    /** Writes a line to its standard input. */
    public void tell(String line) {
        try {
            process.getOutputStream().write((line + "\n").getBytes(StandardCharsets.UTF_8));
            process.getOutputStream().flush();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Ends it as the operating system does when memory runs out: no hook runs ({@code SIGKILL}). */
    public void kill() {
        process.destroyForcibly();
        exitCode(Duration.ofSeconds(10));
    }

    /** Asks it to end ({@code SIGTERM}); its input stays open, and its last words are heard. */
    public void terminate() {
        process.toHandle().destroy();
    }

    /** Sends any signal, for example {@code STOP} or {@code CONT}. */
    public void signal(String name) {
        try {
            int code = new ProcessBuilder("kill", "-" + name, Long.toString(pid()))
                    .inheritIO()
                    .start()
                    .waitFor();
            if (code != 0) {
                throw MooncakeException.invalid("signal", name, "one that kill accepts for process " + pid());
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** Stops all its threads where they are, as a machine that hangs does; {@link #resume} lets them go on. */
    public void pause() {
        signal("STOP");
    }

    /** Takes {@link #pause} back. */
    public void resume() {
        signal("CONT");
    }

    /** Waits for its end and returns the exit code; DEADLINE_EXCEEDED with the output when it does not end. */
    public int exitCode(Duration timeout) {
        try {
            if (process.waitFor(timeout.toNanos(), TimeUnit.NANOSECONDS)) {
                reader.join(2_000);
                return process.exitValue();
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        throw new MooncakeException(
                MooncakeException.Code.DEADLINE_EXCEEDED,
                "process " + pid() + " still runs after " + timeout + ":\n" + output());
    }

    /** Kills it if it still runs. Idempotent. */
    @Override
    public void close() {
        if (process.isAlive()) {
            kill();
        }
    }

    /** Collects how a process is to be started. */
    public static final class Builder {
        private final String mainClass;
        private final List<String> jvmArguments = new ArrayList<>();
        private final List<String> arguments = new ArrayList<>();
        private final List<String> classPath = new ArrayList<>();
        private List<String> launcher = List.of();

        private Builder(String mainClass) {
            this.mainClass = mainClass;
            classPath.addAll(Arrays.asList(System.getProperty("java.class.path").split(File.pathSeparator)));
        }

        /** Adds arguments of the program. */
        public Builder arguments(String... more) {
            arguments.addAll(Arrays.asList(more));
            return this;
        }

        /** Adds flags of the Java machine. */
        public Builder jvmArguments(String... more) {
            jvmArguments.addAll(Arrays.asList(more));
            return this;
        }

        /** Adds a system property. */
        public Builder property(String name, String value) {
            jvmArguments.add("-D" + name + "=" + value);
            return this;
        }

        /** Keeps only those class path entries that {@code wanted} accepts. */
        public Builder classPath(Predicate<String> wanted) {
            classPath.removeIf(wanted.negate());
            return this;
        }

        /** Starts it by another program, which becomes it ({@code exec}), for example {@code ip netns exec NAME}. */
        public Builder launcher(String... command) {
            launcher = List.of(command);
            return this;
        }

        /** Starts it. */
        public ForkedJvm start() {
            List<String> command = new ArrayList<>(launcher);
            command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
            command.add("@" + jvmArgsFile());
            command.addAll(jvmArguments);
            command.add("-cp");
            command.add(String.join(File.pathSeparator, classPath));
            command.add(mainClass);
            command.addAll(arguments);
            try {
                return new ForkedJvm(
                        new ProcessBuilder(command).redirectErrorStream(true).start());
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }

        private static Path jvmArgsFile() {
            String home = System.getProperty("mooncake.home", "");
            Path file = Path.of(home, "jvm.args");
            if (home.isEmpty() || !Files.isReadable(file)) {
                throw MooncakeException.invalid(
                        "system property mooncake.home", home, "the folder that holds jvm.args");
            }
            return file;
        }
    }
}
