// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.etcd;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.mooncake.base.Deadline;
import java.io.File;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** The members of an etcd cluster as processes on this machine, to be killed, paused, wiped and started again. */
final class EtcdServers implements AutoCloseable {
    private final Path folder;
    private final int members;
    private final List<Integer> clientPorts = new ArrayList<>();
    private final List<Integer> peerPorts = new ArrayList<>();
    private final Process[] processes;
    private final List<String> more;

    private EtcdServers(int members, String... more) throws IOException {
        this.members = members;
        this.more = List.of(more);
        folder = Files.createTempDirectory("etcd");
        processes = new Process[members];
        List<ServerSocket> held = new ArrayList<>();
        for (int i = 0; i < 2 * members; i++) {
            ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress());
            held.add(socket);
            (i < members ? clientPorts : peerPorts).add(socket.getLocalPort());
        }
        for (ServerSocket socket : held) {
            socket.close();
        }
    }

    /** Skips the test where no etcd is installed. */
    static EtcdServers of(int members, String... more) throws Exception {
        assumeTrue(
                Stream.of(System.getenv("PATH").split(File.pathSeparator))
                        .anyMatch(each -> new File(each, "etcd").canExecute()),
                "etcd: no program of that name in PATH (Debian and Ubuntu: apt install etcd-server)");
        for (int attempt = 1; ; attempt++) {
            EtcdServers servers = new EtcdServers(members, more);
            try {
                servers.startAll();
                return servers;
            } catch (AssertionError e) {
                // Others may have taken a port between its choice and its use.
                servers.close();
                if (attempt == 3) {
                    throw e;
                }
            }
        }
    }

    int members() {
        return members;
    }

    /** {@code etcd://...} of all members. */
    String uri() {
        return "etcd://" + place();
    }

    String place() {
        return clientPorts.stream().map(port -> "127.0.0.1:" + port).collect(Collectors.joining(","));
    }

    void startAll() throws Exception {
        for (int i = 0; i < members; i++) {
            start(i);
        }
        awaitHealthy();
    }

    void start(int member) throws IOException {
        if (processes[member] != null && processes[member].isAlive()) {
            return;
        }
        List<String> command = new ArrayList<>(List.of(
                "etcd",
                "--name=m" + member,
                "--data-dir=" + data(member),
                "--listen-client-urls=" + url(clientPorts, member),
                "--advertise-client-urls=" + url(clientPorts, member),
                "--listen-peer-urls=" + url(peerPorts, member),
                "--initial-advertise-peer-urls=" + url(peerPorts, member),
                "--initial-cluster="
                        + Stream.iterate(0, i -> i + 1)
                                .limit(members)
                                .map(i -> "m" + i + "=" + url(peerPorts, i))
                                .collect(Collectors.joining(",")),
                "--initial-cluster-state=new",
                "--logger=zap",
                "--log-level=error"));
        command.addAll(more);
        ProcessBuilder builder = new ProcessBuilder(command)
                .redirectErrorStream(true)
                .redirectOutput(ProcessBuilder.Redirect.appendTo(
                        folder.resolve("m" + member + ".log").toFile()));
        builder.environment().keySet().removeIf(name -> name.startsWith("ETCD"));
        processes[member] = builder.start();
    }

    private static String url(List<Integer> ports, int member) {
        return "http://127.0.0.1:" + ports.get(member);
    }

    private Path data(int member) {
        return folder.resolve("m" + member);
    }

    /** Waits until each member that runs says that the cluster has a leader. */
    void awaitHealthy() throws Exception {
        HttpClient http = HttpClient.newHttpClient();
        Deadline deadline = Deadline.ofMillis(60_000);
        for (int i = 0; i < members; i++) {
            while (processes[i].isAlive() && !healthy(http, i)) {
                assertThat(deadline.expired())
                        .as("etcd member " + i + " is not healthy; " + folder)
                        .isFalse();
                Thread.sleep(50);
            }
            assertThat(processes[i].isAlive())
                    .as("etcd member " + i + " ended; " + folder)
                    .isTrue();
        }
    }

    private boolean healthy(HttpClient http, int member) throws InterruptedException {
        HttpRequest request = HttpRequest.newBuilder(URI.create(url(clientPorts, member) + "/health"))
                .timeout(Duration.ofSeconds(2))
                .build();
        try {
            return http.send(request, HttpResponse.BodyHandlers.ofString())
                    .body()
                    .contains("true");
        } catch (IOException e) {
            return false;
        }
    }

    /** kill -9. */
    void kill(int member) throws InterruptedException {
        processes[member].destroyForcibly().waitFor();
    }

    void killAll() throws InterruptedException {
        for (int i = 0; i < members; i++) {
            kill(i);
        }
    }

    void pauseAll() throws Exception {
        signalAll("STOP");
    }

    void resumeAll() throws Exception {
        signalAll("CONT");
    }

    private void signalAll(String name) throws Exception {
        List<String> command = new ArrayList<>(List.of("kill", "-" + name));
        Arrays.stream(processes).forEach(each -> command.add(String.valueOf(each.pid())));
        assertThat(new ProcessBuilder(command).start().waitFor()).isZero();
    }

    /** Deletes the data of all members, which must not run. */
    void wipe() throws IOException {
        for (int i = 0; i < members; i++) {
            delete(data(i));
        }
    }

    private static void delete(Path path) throws IOException {
        if (!Files.exists(path)) {
            return;
        }
        try (Stream<Path> all = Files.walk(path)) {
            for (Path each : all.sorted(Comparator.reverseOrder()).toList()) {
                Files.delete(each);
            }
        }
    }

    @Override
    public void close() throws Exception {
        for (Process process : processes) {
            if (process != null) {
                process.destroyForcibly().waitFor(10, TimeUnit.SECONDS);
            }
        }
        delete(folder);
    }
}
