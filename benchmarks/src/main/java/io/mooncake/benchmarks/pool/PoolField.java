// SPDX-License-Identifier: Apache-2.0
package io.mooncake.benchmarks.pool;

import io.mooncake.benchmarks.transfer.ChildProcess;
import io.mooncake.benchmarks.transfer.JavaCommand;
import io.mooncake.examples.cli.Home;
import io.mooncake.examples.cli.Refusal;
import io.mooncake.examples.cli.Terminal;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/**
 * All processes of a run: two clusters of two nodes, one with shared memory and one without; Redis; Mooncake's master, the owner of a segment, and two clients.
 *
 * <p>Ownership: the caller owes a close. Threading: one thread.
 */
final class PoolField implements AutoCloseable {
    static final String OURS = "mooncake-for-ignite";
    private static final long START_MILLIS = 180_000;
    private static final Map<String, Integer> CLUSTER_PORTS = Map.of("shm", 46_500, "tcp", 46_600);
    private static final int REDIS_PORT = 46_700;
    private static final int MASTER_PORT = 46_710;

    private final List<ChildProcess> children = new ArrayList<>();
    private final Map<String, ChildProcess> clients = new LinkedHashMap<>();
    private final List<String> contenders = new ArrayList<>(List.of(OURS));
    private final Map<String, String> versions = new LinkedHashMap<>();

    private PoolField() {}

    static PoolField start(List<String> peers, Terminal terminal) {
        PoolField field = new PoolField();
        try {
            for (String transport : List.of("shm", "tcp")) {
                terminal.progress("clusters", field.clients.size(), 2, transport);
                field.node(transport, "owner").await("READY", START_MILLIS);
                ChildProcess client = field.node(transport, "client");
                String ready = client.await("READY", START_MILLIS);
                if (!ready.equals("READY 2")) {
                    throw new Refusal(transport + ": " + ready + " (expected: two nodes in the cluster)");
                }
                field.clients.put(transport, client);
            }
            for (String peer : peers) {
                try {
                    field.peer(peer);
                } catch (Refusal e) {
                    terminal.line("WITHOUT " + peer + ": " + e.getMessage());
                }
            }
            return field;
        } catch (RuntimeException e) {
            field.close();
            throw e;
        }
    }

    private void peer(String peer) {
        switch (peer) {
            case "ignite" -> versions.put(peer, "of the product's class path, one node's region of 512 MiB");
            case "redis" -> redis();
            case "mooncake" -> mooncake();
            default -> throw new Refusal("--peer: " + peer + " (expected: of mooncake, redis, ignite)");
        }
        contenders.add(peer);
    }

    private void redis() {
        Path packaged = Home.cache().resolve("redis/usr/bin/redis-server");
        String program = Files.isExecutable(packaged) ? packaged.toString() : "redis-server";
        Path libraries = Home.cache().resolve("redis/usr/lib/x86_64-linux-gnu");
        Map<String, String> environment = Map.of("LD_LIBRARY_PATH", libraries.toString());
        ChildProcess version = start("redis-version", List.of(program, "--version"), environment);
        versions.put("redis", version.await("Redis", START_MILLIS));
        start(
                "redis",
                endsWithItsInput(
                        program,
                        "--port",
                        Integer.toString(REDIS_PORT),
                        "--bind",
                        "127.0.0.1",
                        "--save",
                        "",
                        "--appendonly",
                        "no",
                        "--maxmemory",
                        "1gb"),
                environment);
        awaitPort(REDIS_PORT, "redis-server");
    }

    private void mooncake() {
        Path bin = Home.cache().resolve("mooncake-peer/bin");
        Path python = bin.resolve("python");
        if (!Files.isExecutable(bin.resolve("mooncake_master"))) {
            throw new Refusal(
                    bin + " has no mooncake_master (expected: the package of bench transfer --peer mooncake)");
        }
        String master = "127.0.0.1:" + MASTER_PORT;
        start(
                "mooncake-master",
                endsWithItsInput(
                        bin.resolve("mooncake_master").toString(),
                        "--rpc_port",
                        Integer.toString(MASTER_PORT),
                        "--metrics_port",
                        Integer.toString(MASTER_PORT + 1),
                        // Long enough for a pass, short enough that what was looked up can be removed.
                        "--default_kv_lease_ttl=200",
                        "--enable_metric_reporting=false"),
                Map.of());
        awaitPort(MASTER_PORT, "mooncake_master");
        Path script = script();
        // Without the pool each transfer opens a connection of its own.
        Map<String, String> environment = Map.of("MC_TCP_ENABLE_CONNECTION_POOL", "1");
        for (String role : List.of("owner", "remote", "local")) {
            int port =
                    MASTER_PORT + 10 * (1 + List.of("owner", "remote", "local").indexOf(role));
            List<String> command = new ArrayList<>(List.of(
                    python.toString(),
                    script.toString(),
                    role.equals("owner") ? role : "client",
                    Integer.toString(port),
                    master,
                    role));
            ChildProcess child = start("mooncake-" + role, command, environment);
            child.await("READY", START_MILLIS);
            clients.put("mooncake-" + role, child);
        }
        versions.put("mooncake", environment.toString());
    }

    /** A server that would go on when this process is gone. */
    private static List<String> endsWithItsInput(String... command) {
        List<String> all = new ArrayList<>(
                List.of("sh", "-c", "\"$@\" & child=$!; cat > /dev/null; kill $child; wait $child", "sh"));
        all.addAll(List.of(command));
        return all;
    }

    private static Path script() {
        Path file = Home.folder("target/bench").resolve("mooncake_store.py");
        try (InputStream in = PoolField.class.getResourceAsStream("mooncake_store.py")) {
            if (in == null) {
                throw new Refusal("mooncake_store.py is not on the class path");
            }
            Files.createDirectories(file.toAbsolutePath().getParent());
            Files.copy(in, file, StandardCopyOption.REPLACE_EXISTING);
            return file;
        } catch (IOException e) {
            throw new Refusal("mooncake_store.py can't be written: " + e.getMessage(), e);
        }
    }

    private static void awaitPort(int port, String what) {
        long until = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(30_000);
        while (true) {
            try (java.net.Socket socket = new java.net.Socket("127.0.0.1", port)) {
                if (socket.isConnected()) {
                    return;
                }
            } catch (IOException e) {
                if (System.nanoTime() > until) {
                    throw new Refusal(what + " does not listen at port " + port + " within 30 s", e);
                }
            }
            try {
                Thread.sleep(50);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                throw new Refusal("interrupted", e);
            }
        }
    }

    private ChildProcess node(String transport, String role) {
        String name = "pool-" + transport + "-" + role;
        return start(
                name,
                JavaCommand.of(
                        name,
                        "512m",
                        "1g",
                        List.of("-DIGNITE_NO_ASCII=true"),
                        PoolNodeMain.class,
                        List.of(
                                role,
                                transport,
                                String.valueOf(CLUSTER_PORTS.get(transport)),
                                Integer.toString(REDIS_PORT))),
                Map.of());
    }

    private ChildProcess start(String name, List<String> command, Map<String, String> environment) {
        ChildProcess child =
                ChildProcess.start(name, command, environment, Home.folder("target/bench/logs/" + name + ".err"));
        children.add(child);
        return child;
    }

    List<String> contenders() {
        return List.copyOf(contenders);
    }

    Map<String, String> versions() {
        return versions;
    }

    /**
     * Measures one contender.
     *
     * @param transport of the line: local, shm or tcp
     * @param place local or remote
     * @return seconds of a call
     */
    double measure(
            String contender, String operation, int size, int batch, long millis, String transport, String place) {
        String numbers = operation + " " + size + " " + batch + " " + millis;
        if (contender.equals("mooncake")) {
            return PoolBench.ask(client("mooncake-" + place), contender, "measure " + numbers);
        }
        return PoolBench.ask(
                client(transport.equals("local") ? "shm" : transport),
                contender,
                "measure " + contender + " " + numbers + " " + place);
    }

    private ChildProcess client(String name) {
        ChildProcess client = clients.get(name);
        if (client == null) {
            throw new Refusal(name + ": not running");
        }
        return client;
    }

    @Override
    public void close() {
        for (int i = children.size() - 1; i >= 0; i--) {
            children.get(i).close();
        }
    }
}
