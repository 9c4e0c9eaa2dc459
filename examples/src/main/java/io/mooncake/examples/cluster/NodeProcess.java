// SPDX-License-Identifier: Apache-2.0
package io.mooncake.examples.cluster;

import io.mooncake.examples.cli.Refusal;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * One node in a process of its own.
 *
 * <p>The child reads its standard input, which ends when this process does, however it ends: so no child is left behind. Ownership: the
 * caller owes a close. Threading: safe for all threads.
 */
public final class NodeProcess implements AutoCloseable {
    private static final Pattern READY = Pattern.compile("READY (\\S+) id=(\\S+) jdbc=(\\d+) .*");
    private static final int KEPT_LINES = 30;

    private final String name;
    private final Path log;
    private final Process process;
    private final CompletableFuture<Ready> ready = new CompletableFuture<>();
    private final Deque<String> lastLines = new ArrayDeque<>();

    /** What a node tells when it is up: its id in the cluster and its port for JDBC. */
    private record Ready(UUID id, int jdbcPort) {}

    private NodeProcess(String name, Path log, Process process) {
        this.name = name;
        this.log = log;
        this.process = process;
    }

    /**
     * Starts a process; returns at once.
     *
     * @param command the whole command line
     * @param environment variables added to this process's own
     * @param log where the node writes its log, for error messages
     */
    static NodeProcess start(String name, List<String> command, Map<String, String> environment, Path log)
            throws IOException {
        ProcessBuilder builder = new ProcessBuilder(command).redirectErrorStream(true);
        builder.environment().putAll(environment);
        NodeProcess node = new NodeProcess(name, log, builder.start());
        Thread reader = new Thread(node::read, "mooncake-output-" + name);
        reader.setDaemon(true);
        reader.start();
        return node;
    }

    /** Name of the node. */
    public String name() {
        return name;
    }

    /** Its id in the cluster, once it is ready. */
    public UUID id() {
        return ready.join().id();
    }

    /** Its port for JDBC and thin clients, once it is ready. */
    public int jdbcPort() {
        return ready.join().jdbcPort();
    }

    /** Its process id. */
    public long pid() {
        return process.pid();
    }

    /** Whether the process runs. */
    public boolean alive() {
        return process.isAlive();
    }

    /** Whether it is up. */
    boolean isReady() {
        return ready.isDone() && !ready.isCompletedExceptionally();
    }

    /**
     * Waits until the node is up.
     *
     * @throws Refusal with what the node said when it ended instead, or did not come up in time
     */
    void awaitReady(long millis) throws InterruptedException {
        try {
            ready.get(millis, TimeUnit.MILLISECONDS);
        } catch (ExecutionException e) {
            throw new Refusal(name + " did not start: " + tail() + " (log: " + log + ")", e.getCause());
        } catch (TimeoutException e) {
            throw new Refusal(
                    name + " was not ready after " + millis / 1_000 + " s: " + tail() + " (log: " + log + ")", e);
        }
    }

    /** {@code kill -9}: the process gets no chance to say good-bye. */
    public void kill() {
        process.destroyForcibly();
    }

    /** SIGTERM, and SIGKILL when that takes longer than ten seconds. Idempotent. */
    @Override
    public void close() {
        process.destroy();
        try {
            if (!process.waitFor(10, TimeUnit.SECONDS)) {
                process.destroyForcibly();
            }
        } catch (InterruptedException e) {
            process.destroyForcibly();
            Thread.currentThread().interrupt();
        }
    }

    /** Asks it to stop without waiting. */
    void terminate() {
        process.destroy();
    }

    private void read() {
        try (BufferedReader lines =
                new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8))) {
            for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                Matcher matcher = READY.matcher(line);
                if (matcher.matches()) {
                    ready.complete(new Ready(UUID.fromString(matcher.group(2)), Integer.parseInt(matcher.group(3))));
                } else {
                    keep(line);
                }
            }
        } catch (IOException e) {
            keep("its output broke off: " + e.getMessage());
        }
        ready.completeExceptionally(new IOException("the process of " + name + " ended"));
    }

    private void keep(String line) {
        synchronized (lastLines) {
            lastLines.addLast(line);
            if (lastLines.size() > KEPT_LINES) {
                lastLines.removeFirst();
            }
        }
    }

    /** What the process printed last, in one line. */
    private String tail() {
        synchronized (lastLines) {
            return lastLines.isEmpty() ? "it said nothing" : String.join(" / ", lastLines);
        }
    }
}
