// SPDX-License-Identifier: Apache-2.0
package io.mooncake.it.support;

import io.mooncake.djl.gguf.TinyLlama;
import io.mooncake.testkit.ForkedJvm;
import io.mooncake.testkit.TestPorts;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.apache.ignite.Ignite;
import org.apache.ignite.Ignition;
import org.apache.ignite.configuration.IgniteConfiguration;
import org.apache.ignite.spi.discovery.tcp.TcpDiscoverySpi;
import org.apache.ignite.spi.discovery.tcp.ipfinder.vm.TcpDiscoveryVmIpFinder;

/**
 * A cluster of real processes, each started by the product's own launcher from Spring XML, with a tiny seeded model called {@value #MODEL}.
 * Closing it kills what is left.
 */
public final class NodeProcesses implements AutoCloseable {
    /** Name of model and pool in the demo's Spring XML. */
    public static final String MODEL = "smollm2";

    private static final Duration START = Duration.ofSeconds(120);

    private final Path folder;
    private final Path config;
    private final int discoveryPort;
    private final String secret = "scenario-secret-" + UUID.randomUUID();
    private final List<ForkedJvm> processes = new ArrayList<>();
    private final List<Ignite> clients = new ArrayList<>();
    private final Map<ForkedJvm, String> readyLines = new HashMap<>();

    /** A cluster whose nodes are configured by {@code config}; files go to {@code folder}. */
    public NodeProcesses(Path folder, Path config) throws IOException {
        this.folder = folder;
        this.config = config;
        this.discoveryPort = TestPorts.free(10);
        TinyLlama.write(modelFile(), 42);
    }

    /** One of the XML files that users start from. */
    public static Path exampleConfig(String name) {
        return Path.of(System.getProperty("mooncake.home"), "examples", "config", name);
    }

    /** A file among this module's test resources. */
    public static Path testConfig(String name) {
        return Path.of(System.getProperty("mooncake.home"), "it", "scenarios", "src", "test", "resources", name);
    }

    /** The model's file. */
    public Path modelFile() {
        return folder.resolve("tiny.gguf");
    }

    /** Address that other nodes join through. */
    public String discoveryAddress() {
        return "127.0.0.1:" + discoveryPort;
    }

    private String discoveryRange() {
        return discoveryAddress() + ".." + (discoveryPort + 9);
    }

    /** Starts a node without waiting for it; {@code more} are placeholders as {@code key=value}. */
    public ForkedJvm launch(String name, String... more) {
        ForkedJvm.Builder builder = ForkedJvm.of("io.mooncake.examples.cli.Main")
                .jvmArguments("-Xms64m", "-Xmx512m")
                .property("mooncake.home", folder.toString())
                .property("mooncake.cache", folder.resolve("cache").toString())
                .arguments("node", "--config", config.toString(), "--name", name, "--stop-on-eof")
                .arguments("-D", "mooncake.model=" + modelFile())
                .arguments("-D", "mooncake.secret=" + secret)
                .arguments("-D", "mooncake.work=" + folder.resolve(name))
                .arguments("-D", "mooncake.dram=64MiB")
                .arguments("-D", "mooncake.threads=1")
                .arguments("-D", "mooncake.failure.detection.millis=30000")
                // Fresh processes read their first blocks slowly; whether they are fast is no question here.
                .arguments("-D", "mooncake.fetch.timeout.millis=20000")
                .arguments("-D", "mooncake.discovery.port=" + discoveryPort)
                .arguments("-D", "mooncake.discovery.addresses=" + discoveryRange());
        for (String pair : more) {
            builder.arguments("-D", pair);
        }
        ForkedJvm process = builder.start();
        processes.add(process);
        return process;
    }

    /** Starts a node and waits until it is ready. */
    public ForkedJvm start(String name, String... more) {
        ForkedJvm process = launch(name, more);
        awaitReady(process);
        return process;
    }

    /** Waits until a launched node is ready. */
    public void awaitReady(ForkedJvm process) {
        readyLines.put(process, process.awaitLine("READY ", START));
    }

    /** Ignite's id of a ready node. */
    public UUID nodeId(ForkedJvm process) {
        return UUID.fromString(readyField(process, "id="));
    }

    /** Port of JDBC and thin clients of a ready node. */
    public int jdbcPort(ForkedJvm process) {
        return Integer.parseInt(readyField(process, "jdbc="));
    }

    private String readyField(ForkedJvm process, String key) {
        String line = readyLines.get(process);
        int at = line.indexOf(key) + key.length();
        return line.substring(at).split(" ", 2)[0];
    }

    /** A thick client in this process, changed by the given part of its configuration. */
    public Ignite client(IgniteConfiguration base) {
        Ignite client = Ignition.start(base.setIgniteInstanceName("client-" + UUID.randomUUID())
                .setClientMode(true)
                .setLocalHost("127.0.0.1")
                .setWorkDirectory(folder.resolve("client").toString())
                .setMetricsLogFrequency(0)
                .setFailureDetectionTimeout(30_000)
                .setClientFailureDetectionTimeout(30_000)
                .setDiscoverySpi(new TcpDiscoverySpi()
                        // So long it looks for another router, should its own be killed.
                        .setNetworkTimeout(60_000)
                        .setLocalPort(discoveryPort)
                        .setIpFinder(new TcpDiscoveryVmIpFinder().setAddresses(List.of(discoveryRange())))));
        clients.add(client);
        return client;
    }

    /** The cluster's secret. */
    public String secret() {
        return secret;
    }

    @Override
    public void close() {
        clients.forEach(client -> Ignition.stop(client.name(), true));
        processes.forEach(ForkedJvm::close);
    }
}
