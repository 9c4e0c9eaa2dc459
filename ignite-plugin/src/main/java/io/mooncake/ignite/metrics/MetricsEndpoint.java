// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.metrics;

import io.mooncake.ignite.internal.NodeComponent;
import io.mooncake.ignite.internal.NodeServices;
import java.util.Arrays;
import org.apache.ignite.configuration.IgniteConfiguration;
import org.apache.ignite.spi.metric.MetricExporterSpi;
import org.apache.ignite.spi.metric.jmx.JmxMetricExporterSpi;

/** Adds the exporter for Prometheus where the option {@code metricsPort} names a port; the exporters that the node has stay. */
public final class MetricsEndpoint implements NodeComponent {
    @Override
    public void initExtensions(NodeServices services, IgniteConfiguration config) {
        int port = services.settings().metricsPort();
        if (port == 0) {
            return;
        }
        MetricExporterSpi[] known = config.getMetricExporterSpi();
        // A node that names none has Ignite's own for JMX.
        MetricExporterSpi[] before =
                known == null || known.length == 0 ? new MetricExporterSpi[] {new JmxMetricExporterSpi()} : known;
        MetricExporterSpi[] all = Arrays.copyOf(before, before.length + 1);
        all[before.length] = new PrometheusMetricExporterSpi()
                .setHost(services.settings().metricsHost())
                .setPort(port);
        config.setMetricExporterSpi(all);
    }
}
