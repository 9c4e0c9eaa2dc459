// SPDX-License-Identifier: Apache-2.0
package io.mooncake.examples.cluster;

import io.mooncake.examples.cli.Home;
import io.mooncake.examples.node.RunningNode;
import io.mooncake.examples.node.SpringFile;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.security.SecureRandom;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ThreadLocalRandom;

/**
 * Starts the nodes and the client of one cluster, with the ports and the secret that they share.
 *
 * @param options what the cluster is
 * @param port first port of discovery
 * @param secret of this cluster alone
 */
record NodeLauncher(ClusterOptions options, int port, String secret) {

    /** For a new cluster, on ports that are free now. */
    static NodeLauncher of(ClusterOptions options) throws IOException {
        return new NodeLauncher(options, freePort(), HexFormat.of().formatHex(new SecureRandom().generateSeed(24)));
    }

    /** Starts the process of node {@code name}; returns at once. */
    NodeProcess start(String name) throws IOException {
        return start(name, name + ".log");
    }

    /** The same once more, with a log of its own, so that the log of the life before stays. */
    NodeProcess restart(String name) throws IOException {
        return start(name, name + "-restarted.log");
    }

    private NodeProcess start(String name, String log) throws IOException {
        List<String> arguments = List.of(
                "node",
                "--config",
                Home.folder("examples/config/demo-node.xml").toString(),
                "--name",
                name,
                "--stop-on-eof");
        return NodeProcess.start(
                name,
                JavaCommand.of(options.heap(), properties(name, log), arguments),
                // The secret is not on the command line, which every user of the host can read.
                Map.of("MOONCAKE_SECRET", secret, "MOONCAKE_NODES_ON_HOST", Integer.toString(options.nodes())),
                options.logs().resolve(log));
    }

    private Map<String, String> properties(String name, String log) {
        Map<String, String> properties = new TreeMap<>();
        properties.put("logback.configurationFile", "logback-file.xml");
        properties.put("mooncake.log.file", options.logs().resolve(log).toString());
        properties.put("mooncake.node.name", name);
        properties.put("mooncake.work", work(name));
        properties.put("mooncake.discovery.port", Integer.toString(port));
        properties.put("mooncake.discovery.addresses", addresses());
        properties.put("mooncake.model", options.model().toUri().toString());
        properties.put("mooncake.dram", options.dram());
        properties.put("mooncake.threads", Integer.toString(options.threads()));
        properties.put("mooncake.mode", options.mode());
        SsdFolders ssd = options.ssd();
        if (ssd != null) {
            properties.put("mooncake.ssd", ssd.of(name).toAbsolutePath().toString());
            properties.put("mooncake.ssd.capacity", ssd.capacity());
        }
        return properties;
    }

    private String work(String name) {
        return options.logs()
                .toAbsolutePath()
                .resolveSibling("work")
                .resolve(name)
                .toString();
    }

    private String addresses() {
        return "127.0.0.1:" + port + ".." + (port + options.nodes() + 2);
    }

    /** Starts the client in this process. */
    RunningNode startClient() {
        System.setProperty("mooncake.node.name", "client");
        System.setProperty("mooncake.work", work("client"));
        System.setProperty("mooncake.discovery.port", Integer.toString(port));
        System.setProperty("mooncake.discovery.addresses", addresses());
        System.setProperty("mooncake.secret", secret);
        return RunningNode.start(SpringFile.read(Home.folder("examples/config/demo-client.xml")));
    }

    /** A port that is free now, below the range that the system hands out by itself. */
    private static int freePort() throws IOException {
        for (int attempt = 0; attempt < 100; attempt++) {
            int port = 20_000 + 20 * ThreadLocalRandom.current().nextInt(600);
            try (ServerSocket socket = new ServerSocket(port, 1, InetAddress.getByName("127.0.0.1"))) {
                return socket.getLocalPort();
            } catch (IOException e) {
                // Somebody has it: another one.
            }
        }
        throw new IOException("no free port in 20000..32000");
    }
}
