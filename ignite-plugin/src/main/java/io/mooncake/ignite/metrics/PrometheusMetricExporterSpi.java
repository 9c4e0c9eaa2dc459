// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.metrics;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.function.Predicate;
import org.apache.ignite.spi.IgniteSpiAdapter;
import org.apache.ignite.spi.IgniteSpiException;
import org.apache.ignite.spi.IgniteSpiMultipleInstancesSupport;
import org.apache.ignite.spi.metric.MetricExporterSpi;
import org.apache.ignite.spi.metric.ReadOnlyMetricManager;
import org.apache.ignite.spi.metric.ReadOnlyMetricRegistry;
import org.jspecify.annotations.Nullable;

/**
 * Shows all metrics of a node, Ignite's and this product's, to Prometheus at {@code http://HOST:PORT/metrics}.
 *
 * <p>The plugin's option {@code metricsPort} starts it beside the exporters that the node has. It may also be configured as a bean, on
 * nodes without the plugin too:
 *
 * <pre>{@code
 * <property name="metricExporterSpi"><list>
 *   <bean class="org.apache.ignite.spi.metric.jmx.JmxMetricExporterSpi"/>
 *   <bean class="io.mooncake.ignite.metrics.PrometheusMetricExporterSpi"><property name="port" value="9470"/></bean>
 * </list></property>
 * }</pre>
 *
 * <p>Nobody is authenticated: it listens on the loopback unless another address is named. At most four requests are answered at a time, and
 * sixteen wait. Threading: safe for all threads. Errors: a port that can't be bound stops the start, naming both.
 */
@IgniteSpiMultipleInstancesSupport(true)
public final class PrometheusMetricExporterSpi extends IgniteSpiAdapter implements MetricExporterSpi {
    /** Where it listens unless set. */
    public static final String DEFAULT_HOST = "127.0.0.1";
    /** Port unless set. */
    public static final int DEFAULT_PORT = 9470;

    private static final String PATH = "/metrics";
    private static final int THREADS = 4;
    private static final int WAITING = 16;

    private String host = DEFAULT_HOST;
    private int port = DEFAULT_PORT;
    private Predicate<ReadOnlyMetricRegistry> filter = registry -> true;
    private volatile @Nullable ReadOnlyMetricManager metrics;
    private @Nullable HttpServer server;
    private @Nullable ThreadPoolExecutor threads;

    /** Address to listen on; the loopback unless set. */
    public PrometheusMetricExporterSpi setHost(String host) {
        this.host = host;
        return this;
    }

    /** Port to listen on, 1..65535; {@value #DEFAULT_PORT} unless set. */
    public PrometheusMetricExporterSpi setPort(int port) {
        this.port = port;
        return this;
    }

    /** Where it listens. */
    public String getHost() {
        return host;
    }

    /** The port. */
    public int getPort() {
        return port;
    }

    @Override
    public void setMetricRegistry(ReadOnlyMetricManager registry) {
        metrics = registry;
    }

    @Override
    public void setExportFilter(Predicate<ReadOnlyMetricRegistry> filter) {
        this.filter = filter;
    }

    @Override
    public void spiStart(@Nullable String igniteInstanceName) {
        if (port < 1 || port > 65_535) {
            throw new IgniteSpiException("metricsPort: " + port + " (expected: 1..65535)");
        }
        ThreadPoolExecutor pool = new ThreadPoolExecutor(
                THREADS, THREADS, 10, TimeUnit.SECONDS, new ArrayBlockingQueue<>(WAITING), task -> {
                    Thread thread = new Thread(task, "mooncake-metrics-" + igniteInstanceName);
                    thread.setDaemon(true);
                    return thread;
                });
        pool.allowCoreThreadTimeOut(true);
        try {
            HttpServer bound = HttpServer.create(new InetSocketAddress(InetAddress.getByName(host), port), WAITING);
            bound.createContext("/", this::answer);
            bound.setExecutor(pool);
            bound.start();
            server = bound;
            threads = pool;
        } catch (IOException e) {
            pool.shutdownNow();
            throw new IgniteSpiException(
                    "metricsHost, metricsPort: " + host + ":" + port
                            + " (expected: a free port of an address of this machine): " + e.getMessage(),
                    e);
        }
    }

    @Override
    public void spiStop() {
        HttpServer bound = server;
        if (bound != null) {
            bound.stop(0);
            server = null;
        }
        ThreadPoolExecutor pool = threads;
        if (pool != null) {
            pool.shutdownNow();
            threads = null;
        }
    }

    private void answer(HttpExchange exchange) throws IOException {
        try (exchange) {
            ReadOnlyMetricManager all = metrics;
            boolean head = exchange.getRequestMethod().equals("HEAD");
            if (!head && !exchange.getRequestMethod().equals("GET")) {
                exchange.getResponseHeaders().set("Allow", "GET, HEAD");
                exchange.sendResponseHeaders(405, -1);
            } else if (!exchange.getRequestURI().getPath().equals(PATH)) {
                exchange.sendResponseHeaders(404, -1);
            } else if (all == null) {
                exchange.sendResponseHeaders(503, -1);
            } else {
                byte[] body = PrometheusText.of(all, filter).getBytes(StandardCharsets.UTF_8);
                exchange.getResponseHeaders().set("Content-Type", PrometheusText.CONTENT_TYPE);
                exchange.sendResponseHeaders(200, head ? -1 : body.length);
                if (!head) {
                    try (OutputStream out = exchange.getResponseBody()) {
                        out.write(body);
                    }
                }
            }
        }
    }
}
