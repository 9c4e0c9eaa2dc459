// SPDX-License-Identifier: Apache-2.0
package io.mooncake.benchmarks.transfer;

import io.mooncake.examples.cli.Refusal;
import java.io.BufferedReader;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

/**
 * A process that is talked to in lines: one command, one answer.
 *
 * <p>It ends when its standard input does, so none is left behind when this process dies. Ownership: the caller owes a close. Threading: one
 * thread at a time.
 */
public final class ChildProcess implements AutoCloseable {
    private static final String END = "\0";

    private final String name;
    private final Path errors;
    private final Process process;
    private final BlockingQueue<String> lines = new LinkedBlockingQueue<>();

    private ChildProcess(String name, Path errors, Process process) {
        this.name = name;
        this.errors = errors;
        this.process = process;
    }

    /**
     * Starts a process.
     *
     * @param environment added to this process's own
     * @param errors where its standard error goes
     */
    public static ChildProcess start(String name, List<String> command, Map<String, String> environment, Path errors) {
        try {
            Path folder = errors.toAbsolutePath().getParent();
            if (folder != null) {
                Files.createDirectories(folder);
            }
            ProcessBuilder builder = new ProcessBuilder(command).redirectError(errors.toFile());
            builder.environment().putAll(environment);
            ChildProcess child = new ChildProcess(name, errors, builder.start());
            Thread reader = new Thread(child::read, "bench-output-" + name);
            reader.setDaemon(true);
            reader.start();
            return child;
        } catch (IOException e) {
            throw new Refusal(name + " could not be started: " + e.getMessage(), e);
        }
    }

    private void read() {
        try (BufferedReader in = process.inputReader(StandardCharsets.UTF_8)) {
            for (String line = in.readLine(); line != null; line = in.readLine()) {
                lines.add(line);
            }
        } catch (IOException e) {
            // The pipe ends with the process.
        }
        lines.add(END);
    }

    /** Sends a line and waits for the one that begins with {@code word}. */
    public String ask(String line, String word, long millis) {
        try {
            process.getOutputStream().write((line + "\n").getBytes(StandardCharsets.UTF_8));
            process.getOutputStream().flush();
        } catch (IOException e) {
            throw ended(e);
        }
        return await(word, millis);
    }

    /** Waits for a line that begins with {@code word}; others are dropped. */
    public String await(String word, long millis) {
        long end = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(millis);
        try {
            while (true) {
                String line = lines.poll(end - System.nanoTime(), TimeUnit.NANOSECONDS);
                if (line == null) {
                    throw new Refusal(name + " did not answer within " + millis + " ms; its errors are in " + errors);
                }
                if (line.equals(END)) {
                    throw ended(null);
                }
                if (line.startsWith(word)) {
                    return line;
                }
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new Refusal("interrupted while waiting for " + name, e);
        }
    }

    private Refusal ended(@org.jspecify.annotations.Nullable Throwable cause) {
        String last = "";
        try {
            List<String> said = Files.readAllLines(errors, StandardCharsets.UTF_8);
            last = said.isEmpty() ? "" : ": " + said.get(said.size() - 1);
        } catch (IOException | RuntimeException e) {
            // The name of the file must do.
        }
        return new Refusal(name + " ended" + last + " (all of it: " + errors + ")", cause);
    }

    /** Ends its input, then the process. Idempotent. */
    @Override
    public void close() {
        try {
            process.getOutputStream().close();
        } catch (IOException e) {
            // It has ended.
        }
        try {
            if (!process.waitFor(10, TimeUnit.SECONDS)) {
                process.destroyForcibly().waitFor(10, TimeUnit.SECONDS);
            }
        } catch (InterruptedException e) {
            process.destroyForcibly();
            Thread.currentThread().interrupt();
        }
    }
}
