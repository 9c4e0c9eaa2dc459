// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.metrics;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.mooncake.ignite.Mooncake;
import io.mooncake.ignite.TestGrid;
import io.mooncake.ignite.conductor.Blocks;
import java.lang.management.ManagementFactory;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.management.MBeanServer;
import javax.management.ObjectName;
import org.apache.ignite.Ignite;
import org.apache.ignite.spi.metric.jmx.JmxMetricExporterSpi;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** A real node's metrics, read over HTTP as Prometheus reads them, and over JMX. */
class PrometheusEndpointTest {
    private static final String POOL = "tiny";
    private static final Pattern SAMPLE =
            Pattern.compile("([a-zA-Z_:][a-zA-Z0-9_:]*)(\\{le=\"[^\"]+\"})? (-?[0-9.eE+-]+|NaN|[+-]Inf)");
    private static final HttpClient HTTP =
            HttpClient.newBuilder().connectTimeout(Duration.ofSeconds(60)).build();

    private static TestGrid grid;
    private static Ignite node;
    private static int port;

    @BeforeAll
    static void start() throws Exception {
        grid = new TestGrid();
        port = grid.connectorPort(0);
        node = grid.start("shown", grid.provider().setMetricsPort(port));
        Blocks.store(Mooncake.of(node).pool(POOL), Blocks.prompt(1, 1, 2, 3));
    }

    @AfterAll
    static void stop() {
        grid.close();
    }

    @Test
    void metrics_ofARealNode_followTheTextFormat() throws Exception {
        HttpResponse<String> answer = get("GET", "/metrics");

        assertThat(answer.statusCode()).isEqualTo(200);
        assertThat(answer.headers().firstValue("Content-Type")).contains("text/plain; version=0.0.4; charset=utf-8");
        assertThat(answer.body()).endsWith("\n");
        Map<String, String> types = new HashMap<>();
        Set<String> samples = new HashSet<>();
        for (String line : answer.body().split("\n")) {
            if (line.startsWith("# TYPE ")) {
                String[] words = line.split(" ");
                assertThat(types.put(words[2], words[3]))
                        .as("second TYPE of " + words[2])
                        .isNull();
            } else if (!line.startsWith("# HELP ")) {
                Matcher sample = SAMPLE.matcher(line);
                assertThat(sample.matches()).as(line).isTrue();
                assertThat(samples.add(sample.group(1) + sample.group(2)))
                        .as("second value of " + line)
                        .isTrue();
                String family = sample.group(2) == null
                        ? sample.group(1).replaceFirst("_count$", "")
                        : sample.group(1).replaceFirst("_bucket$", "");
                assertThat(types.containsKey(family) || types.containsKey(sample.group(1)))
                        .as(line)
                        .isTrue();
            }
        }
        assertThat(types).containsEntry("mooncake_pool_blocks", "gauge").containsValue("histogram");
        assertThat(types.keySet()).anyMatch(name -> name.startsWith("ignite_sys_"));
    }

    @Test
    void blocks_httpAndJmx_agreeWithTheStatistics() throws Exception {
        long blocks = Mooncake.of(node).statistics().blocks();

        assertThat(blocks).isPositive();
        assertThat(get("GET", "/metrics").body())
                .contains("# HELP mooncake_pool_blocks Blocks held now.\n# TYPE mooncake_pool_blocks gauge\n")
                .contains("\nmooncake_pool_blocks " + blocks + "\n");
        assertThat(jmx("pool", "blocks")).isEqualTo(blocks);
        assertThat(jmx("transfer", "leasesOpen")).isEqualTo(0L);
        // The exporter that Ignite brings is still there, beside ours.
        assertThat(node.configuration().getMetricExporterSpi())
                .hasAtLeastOneElementOfType(JmxMetricExporterSpi.class)
                .hasAtLeastOneElementOfType(PrometheusMetricExporterSpi.class);
    }

    @Test
    void requests_otherPathsAndMethods_areRefused() throws Exception {
        assertThat(get("GET", "/").statusCode()).isEqualTo(404);
        assertThat(get("GET", "/metrics/more").statusCode()).isEqualTo(404);
        assertThat(get("POST", "/metrics").statusCode()).isEqualTo(405);
        assertThat(get("HEAD", "/metrics").body()).isEmpty();
    }

    @Test
    void start_portTaken_isRefusedByName() throws Exception {
        try (ServerSocket taken = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            assertThatThrownBy(() -> grid.start("late", grid.provider().setMetricsPort(taken.getLocalPort())))
                    .hasStackTraceContaining(
                            "metricsHost, metricsPort: 127.0.0.1:" + taken.getLocalPort() + " (expected: a free port");
        }
    }

    @Test
    void bean_ofANodeWithoutThePlugin_showsIgnite() throws Exception {
        int own = grid.connectorPort(1);
        grid.start("plain", config -> config.setMetricExporterSpi(new PrometheusMetricExporterSpi().setPort(own)));

        HttpResponse<String> answer = HTTP.send(
                HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + own + "/metrics"))
                        .timeout(Duration.ofSeconds(60))
                        .build(),
                HttpResponse.BodyHandlers.ofString());

        assertThat(answer.body()).contains("\nignite_sys_").doesNotContain("\nmooncake_");
    }

    private static Object jmx(String registry, String metric) throws Exception {
        MBeanServer server = ManagementFactory.getPlatformMBeanServer();
        List<ObjectName> names = server.queryNames(new ObjectName("org.apache:*"), null).stream()
                .filter(name -> "mooncake".equals(name.getKeyProperty("group"))
                        && registry.equals(unquoted(name.getKeyProperty("name")))
                        && node.name().equals(unquoted(name.getKeyProperty("igniteInstanceName"))))
                .toList();
        assertThat(names).as("beans of " + registry).hasSize(1);
        return server.getAttribute(names.get(0), metric);
    }

    private static String unquoted(String value) {
        return value == null ? "" : value.replace("\"", "");
    }

    private static HttpResponse<String> get(String method, String path) throws Exception {
        return HTTP.send(
                HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + port + path))
                        .timeout(Duration.ofSeconds(60))
                        .method(method, HttpRequest.BodyPublishers.noBody())
                        .build(),
                HttpResponse.BodyHandlers.ofString());
    }
}
