// SPDX-License-Identifier: Apache-2.0
package io.mooncake.it.closure;

import static org.assertj.core.api.Assertions.assertThat;

import io.mooncake.client.MooncakeService;
import io.mooncake.ignite.MooncakePluginProvider;
import io.mooncake.ignite.PoolBean;
import io.mooncake.testkit.TestPorts;
import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.apache.ignite.Ignite;
import org.apache.ignite.Ignition;
import org.apache.ignite.configuration.ClientConnectorConfiguration;
import org.apache.ignite.configuration.IgniteConfiguration;
import org.apache.ignite.spi.discovery.tcp.TcpDiscoverySpi;
import org.apache.ignite.spi.discovery.tcp.ipfinder.vm.TcpDiscoveryVmIpFinder;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What the client jar brings along, which is nothing, and a thin client that runs on it. */
class ThinClientTest {
    private static final Pattern ARTIFACT =
            Pattern.compile("^\\s+([\\w.-]+):([\\w.-]+):jar:(?:[\\w.-]+:)?[\\w.-]+:(?:compile|runtime)\\b.*");
    /** ignite-core and what it depends on, the client jar, this module's classes. */
    private static final List<String> THIN =
            List.of("ignite-core", "cache-api", "annotations-", "mooncake-client", "client/target/classes");

    private static final long MINUTE = 60_000_000_000L;

    @Test
    void runtimeClosure_ofTheClient_isItselfAlone() throws IOException {
        List<String> found = Files.readAllLines(Path.of("target", "closure.txt")).stream()
                .map(ARTIFACT::matcher)
                .filter(Matcher::matches)
                .map(match -> match.group(1) + ":" + match.group(2))
                .toList();

        assertThat(found).containsExactly("io.mooncake:mooncake-client");
    }

    @Test
    void service_fromAProcessOfCoreAndTheClientJar_answers(@TempDir Path work) throws Exception {
        int connector = TestPorts.free();
        try (Ignite node = Ignition.start(configuration(work, connector))) {
            String id = node.cluster().localNode().id().toString();
            awaitService(node);
            Path log = work.resolve("thin.log");
            Process thin = thinClient(connector, log);
            try {
                assertThat(thin.waitFor(2, TimeUnit.MINUTES)).as("ends").isTrue();
            } finally {
                thin.destroyForcibly();
            }
            assertThat(Files.readString(log, StandardCharsets.UTF_8))
                    .contains("THIN OK")
                    .contains("ROUTE " + id)
                    .contains("promptTokens=49", "nodeId=" + id)
                    .containsPattern("REFUSED .*nowhere");
            assertThat(thin.exitValue()).isZero();
        }
    }

    private static void awaitService(Ignite node) throws InterruptedException {
        long end = System.nanoTime() + MINUTE;
        while (node.services().service(MooncakeService.NAME) == null) {
            assertThat(System.nanoTime() - end).as("the service is deployed").isNegative();
            Thread.sleep(20);
        }
    }

    private static Process thinClient(int connector, Path log) throws IOException {
        String classPath = Arrays.stream(System.getProperty("java.class.path").split(File.pathSeparator))
                .filter(entry -> entry.endsWith("test-classes") || THIN.stream().anyMatch(entry::contains))
                .collect(Collectors.joining(File.pathSeparator));
        return new ProcessBuilder(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "@" + Path.of(System.getProperty("mooncake.home"), "jvm.args"),
                        "-Xmx128m",
                        "-cp",
                        classPath,
                        ThinCaller.class.getName(),
                        "127.0.0.1:" + connector,
                        "tiny")
                .redirectErrorStream(true)
                .redirectOutput(log.toFile())
                .start();
    }

    private static IgniteConfiguration configuration(Path work, int connector) {
        int discovery = TestPorts.free();
        PoolBean pool = new PoolBean()
                .setName("tiny")
                .setModel("weights")
                .setLayers(2)
                .setKvHeads(1)
                .setHeadSize(8)
                .setBlockTokens(16);
        TcpDiscoverySpi spi = new TcpDiscoverySpi()
                .setLocalPort(discovery)
                .setIpFinder(new TcpDiscoveryVmIpFinder().setAddresses(List.of("127.0.0.1:" + discovery)));
        return new IgniteConfiguration()
                .setIgniteInstanceName("served-" + connector)
                .setLocalHost("127.0.0.1")
                .setWorkDirectory(work.toString())
                .setMetricsLogFrequency(0)
                .setConnectorConfiguration(null)
                .setClientConnectorConfiguration(new ClientConnectorConfiguration()
                        .setHost("127.0.0.1")
                        .setPort(connector)
                        .setPortRange(0))
                .setDiscoverySpi(spi)
                .setPluginProviders(new MooncakePluginProvider()
                        .setSecret("a secret of the test")
                        .setDram("1MiB")
                        .setPools(List.of(pool)));
    }
}
