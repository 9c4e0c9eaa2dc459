// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer;

import java.io.BufferedReader;
import java.io.BufferedWriter;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStreamWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/** Two network namespaces of this machine joined by pairs of virtual Ethernet, each of them held to a bandwidth: two hosts with rails. */
final class RailNetwork implements AutoCloseable {
    private final String owner = "mkrail" + ProcessHandle.current().pid() + "o";
    private final String reader = "mkrail" + ProcessHandle.current().pid() + "r";
    private final List<TcpProcess> processes = new ArrayList<>();
    private final int rails;

    /** What a rail may send at once after a rest, 32 ms of its bandwidth: processes do not run for so long on a busy machine. */
    private static final int BURST_BYTES_A_MBIT = 4000;

    private static final int LEAST_BURST_BYTES = 256 << 10;

    /** Why there can be no such network here, or empty. */
    static String unavailable() {
        if (!"root".equals(System.getProperty("user.name"))) {
            return "only root can make network namespaces";
        }
        for (String tool : new String[] {"ip", "tc"}) {
            if (!Files.isExecutable(Path.of("/usr/sbin", tool)) && !Files.isExecutable(Path.of("/sbin", tool))) {
                return tool + " is missing (Debian: iproute2)";
            }
        }
        try {
            String name = "mkrail" + ProcessHandle.current().pid() + "x";
            sh("ip netns add " + name + " && ip netns del " + name);
            return "";
        } catch (IOException e) {
            return String.valueOf(e.getMessage());
        }
    }

    RailNetwork(int rails, int mbit) throws IOException {
        this.rails = rails;
        List<String> script = new ArrayList<>(List.of("ip netns add " + owner, "ip netns add " + reader));
        for (String space : new String[] {owner, reader}) {
            script.add("ip -n " + space + " link set lo up");
        }
        for (int i = 0; i < rails; i++) {
            script.add("ip -n " + owner + " link add o" + i + " type veth peer name r" + i + " netns " + reader);
            script.addAll(end(owner, "o", i, ownerHost(i), mbit));
            script.addAll(end(reader, "r", i, readerHost(i), mbit));
        }
        try {
            sh(String.join(" && ", script));
        } catch (IOException e) {
            close();
            throw e;
        }
    }

    private static List<String> end(String space, String name, int i, String address, int mbit) {
        return List.of(
                "ip -n " + space + " addr add " + address + "/24 dev " + name + i,
                // Large packets: this machine's processors carry them all.
                "ip -n " + space + " link set " + name + i + " mtu 65535 up",
                "tc -n " + space + " qdisc add dev " + name + i + " root tbf rate " + mbit + "mbit burst "
                        + Math.max(LEAST_BURST_BYTES, mbit * BURST_BYTES_A_MBIT) + " latency 100ms");
    }

    private static String ownerHost(int rail) {
        return "10.77." + rail + ".1";
    }

    private static String readerHost(int rail) {
        return "10.77." + rail + ".2";
    }

    /** Takes the owner's end of a rail down or up; nobody is told. */
    void set(int rail, String state) throws IOException {
        sh("ip -n " + owner + " link set o" + rail + " " + state);
    }

    static void sh(String script) throws IOException {
        Process process =
                new ProcessBuilder("sh", "-c", script).redirectErrorStream(true).start();
        String said = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        try {
            if (process.waitFor() != 0) {
                throw new IOException(said.strip());
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IOException("interrupted", e);
        }
    }

    /** A reader in one namespace, connected over the first {@code used} rails to an owner in the other; flags are of its JVM. */
    TcpProcess startReader(int used, int connections, String... flags) throws IOException {
        String port = "42000";
        String ours = IntStream.range(0, used).mapToObj(RailNetwork::readerHost).collect(Collectors.joining(","));
        String theirs =
                IntStream.range(0, used).mapToObj(RailNetwork::ownerHost).collect(Collectors.joining(","));
        TcpProcess asking = start(reader, List.of(flags), "reader", port, Integer.toString(connections), ours);
        TcpProcess serving = start(
                owner, List.of(), "owner", asking.ready().split(" ")[1], port, Integer.toString(connections), theirs);
        asking.ask("peer" + serving.ready().substring("READY".length()));
        return asking;
    }

    private TcpProcess start(String space, List<String> flags, String... arguments) throws IOException {
        TcpProcess process = new TcpProcess(space, flags, arguments);
        processes.add(process);
        return process;
    }

    /** Ends the processes; the network stays. */
    void stopProcesses() {
        processes.forEach(TcpProcess::close);
        processes.clear();
    }

    @Override
    public void close() {
        stopProcesses();
        for (String space : new String[] {owner, reader}) {
            try {
                sh("ip netns del " + space);
            } catch (IOException e) {
                System.out.println("namespace " + space + " stays: " + e.getMessage());
            }
        }
    }

    int rails() {
        return rails;
    }

    /** A {@link TcpPeer} in a namespace. */
    static final class TcpProcess implements AutoCloseable {
        private final Process process;
        private final BufferedReader out;
        private final BufferedWriter in;
        private final String ready;

        /**
         * @param space the namespace; null for this one
         * @param flags of its JVM
         */
        TcpProcess(@Nullable String space, List<String> flags, String... arguments) throws IOException {
            Path common = Path.of(System.getProperty("user.dir"))
                    .resolve("../jvm.args")
                    .normalize();
            List<String> command = new ArrayList<>();
            if (space != null) {
                command.addAll(List.of("ip", "netns", "exec", space));
            }
            command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
            command.add(Files.exists(common) ? "@" + common : "--add-opens=java.base/java.nio=ALL-UNNAMED");
            command.addAll(flags);
            command.addAll(List.of(
                    "-Xmx128m",
                    "-XX:+UseSerialGC",
                    "-cp",
                    System.getProperty("surefire.test.class.path", System.getProperty("java.class.path")),
                    TcpPeer.class.getName()));
            command.addAll(Arrays.asList(arguments));
            process = new ProcessBuilder(command)
                    .redirectError(ProcessBuilder.Redirect.INHERIT)
                    .start();
            out = new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8));
            in = new BufferedWriter(new OutputStreamWriter(process.getOutputStream(), StandardCharsets.UTF_8));
            ready = awaitLine("READY ");
        }

        private String awaitLine(String start) throws IOException {
            String line = out.readLine();
            while (line != null && !line.startsWith(start)) {
                line = out.readLine();
            }
            if (line == null) {
                throw new IOException("the process ended before it said " + start);
            }
            return line;
        }

        /** Stops or continues the process: STOP, CONT. */
        void signal(String name) throws IOException {
            sh("kill -" + name + " " + process.pid());
        }

        String ready() {
            return ready;
        }

        String ask(String question) throws IOException {
            send(question);
            return answer(
                    question.startsWith("peer")
                            ? "PEER"
                            : question.substring(0, 4).equals("move") ? "MOVED " : "CLOCK ");
        }

        void send(String question) throws IOException {
            in.write(question + "\n");
            in.flush();
        }

        String answer(String start) throws IOException {
            return awaitLine(start);
        }

        @Override
        public void close() {
            process.destroyForcibly();
        }
    }
}
