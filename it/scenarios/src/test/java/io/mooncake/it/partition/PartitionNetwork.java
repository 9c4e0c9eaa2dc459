// SPDX-License-Identifier: Apache-2.0
package io.mooncake.it.partition;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * Hosts as network namespaces of this machine, each on a bridge by a virtual Ethernet. What is cut goes to an Ethernet address that nobody
 * has: it is lost in silence, as in a network that is split. Connections stay open on both sides and nobody is told.
 */
final class PartitionNetwork implements AutoCloseable {
    private static final String NOBODY = "02:00:00:00:77:77";

    private final String prefix = "mkpart" + ProcessHandle.current().pid();
    private final int hosts;

    /** Why there can be no such network here, or empty. */
    static String unavailable() {
        if (!"root".equals(System.getProperty("user.name"))) {
            return "only root can make network namespaces";
        }
        if (!Files.isExecutable(Path.of("/usr/sbin/ip")) && !Files.isExecutable(Path.of("/sbin/ip"))) {
            return "ip is missing (Debian: iproute2)";
        }
        String name = "mkpart" + ProcessHandle.current().pid() + "x";
        try {
            sh("ip netns add " + name + " && ip -n " + name + " link add br0 type bridge");
            return "";
        } catch (IOException e) {
            return String.valueOf(e.getMessage());
        } finally {
            remove(name);
        }
    }

    PartitionNetwork(int hosts) throws IOException {
        this.hosts = hosts;
        List<String> script = new ArrayList<>();
        script.add("ip netns add " + bridge());
        script.add("ip -n " + bridge() + " link add br0 type bridge");
        script.add("ip -n " + bridge() + " link set br0 up");
        for (int i = 0; i < hosts; i++) {
            script.add("ip netns add " + space(i));
            script.add("ip -n " + space(i) + " link set lo up");
            script.add("ip -n " + bridge() + " link add p" + i + " type veth peer name e0 netns " + space(i));
            script.add("ip -n " + bridge() + " link set p" + i + " master br0 up");
            script.add("ip -n " + space(i) + " addr add " + address(i) + "/24 dev e0");
            script.add("ip -n " + space(i) + " link set e0 up");
        }
        try {
            sh(String.join(" && ", script));
        } catch (IOException e) {
            close();
            throw e;
        }
    }

    private String bridge() {
        return prefix + "b";
    }

    private String space(int host) {
        return prefix + "h" + host;
    }

    String address(int host) {
        return "10.78.0." + (host + 1);
    }

    /** What starts a program on a host. */
    List<String> launcher(int host) {
        return List.of("ip", "netns", "exec", space(host));
    }

    /** Loses from now on what {@code from} sends to {@code to}. */
    void cut(int from, int to) throws IOException {
        sh("ip -n " + space(from) + " neigh replace " + address(to) + " lladdr " + NOBODY + " dev e0 nud permanent");
    }

    /** Takes {@link #cut} back. */
    void heal(int from, int to) throws IOException {
        sh("ip -n " + space(from) + " neigh del " + address(to) + " dev e0");
    }

    private static void sh(String script) throws IOException {
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

    private static void remove(String space) {
        try {
            sh("ip netns del " + space);
        } catch (IOException e) {
            System.out.println("namespace " + space + " stays: " + e.getMessage());
        }
    }

    @Override
    public void close() {
        for (int i = 0; i < hosts; i++) {
            remove(space(i));
        }
        remove(bridge());
    }
}
