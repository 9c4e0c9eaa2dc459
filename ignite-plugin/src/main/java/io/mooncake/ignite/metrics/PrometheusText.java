// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.metrics;

import java.util.HashSet;
import java.util.Set;
import java.util.function.Predicate;
import org.apache.ignite.spi.metric.BooleanMetric;
import org.apache.ignite.spi.metric.DoubleMetric;
import org.apache.ignite.spi.metric.HistogramMetric;
import org.apache.ignite.spi.metric.IntMetric;
import org.apache.ignite.spi.metric.LongMetric;
import org.apache.ignite.spi.metric.Metric;
import org.apache.ignite.spi.metric.ObjectMetric;
import org.apache.ignite.spi.metric.ReadOnlyMetricRegistry;

/**
 * Metrics in Prometheus' text format 0.0.4.
 *
 * <p>Names: dots and whatever else Prometheus does not take become underscores; those that are not of this product begin with
 * {@code ignite_}. Of two metrics whose names become one, the first is shown. Ignite does not say which figures only grow, so all are
 * gauges; histograms have buckets and a count, and no sum, which Ignite does not keep. Texts, dates and collections are left out.
 *
 * <p>Source: Prometheus, "Exposition formats".
 */
final class PrometheusText {
    static final String CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8";
    private static final String OURS = "mooncake";

    private final StringBuilder out = new StringBuilder(1 << 16);
    private final Set<String> names = new HashSet<>();

    private PrometheusText() {}

    /** All metrics of {@code registries} that {@code wanted} lets through. A metric that can't be read now is left out. */
    static String of(Iterable<ReadOnlyMetricRegistry> registries, Predicate<ReadOnlyMetricRegistry> wanted) {
        PrometheusText text = new PrometheusText();
        for (ReadOnlyMetricRegistry registry : registries) {
            if (wanted.test(registry)) {
                registry.forEach(text::add);
            }
        }
        return text.out.toString();
    }

    private void add(Metric metric) {
        int before = out.length();
        String name = name(metric.name());
        try {
            if (names.contains(name) || !write(name, metric)) {
                return;
            }
            names.add(name);
        } catch (RuntimeException e) {
            // Figures of parts that just start or stop.
            out.setLength(before);
        }
    }

    private boolean write(String name, Metric metric) {
        if (metric instanceof HistogramMetric histogram) {
            writeHistogram(name, histogram);
            return true;
        }
        String value = value(metric);
        if (value.isEmpty()) {
            return false;
        }
        head(name, metric, "gauge");
        out.append(name).append(' ').append(value).append('\n');
        return true;
    }

    private static String value(Metric metric) {
        if (metric instanceof LongMetric one) {
            return Long.toString(one.value());
        }
        if (metric instanceof IntMetric one) {
            return Integer.toString(one.value());
        }
        if (metric instanceof DoubleMetric one) {
            return text(one.value());
        }
        if (metric instanceof BooleanMetric one) {
            return one.value() ? "1" : "0";
        }
        if (metric instanceof ObjectMetric<?> one && one.value() instanceof Number number) {
            return text(number.doubleValue());
        }
        return "";
    }

    /** Bounds are inclusive in Ignite as in Prometheus; Ignite counts each bucket for itself, Prometheus all below too. */
    private void writeHistogram(String name, HistogramMetric histogram) {
        long[] counts = histogram.value();
        long[] bounds = histogram.bounds();
        head(name, histogram, "histogram");
        long below = 0;
        for (int i = 0; i < bounds.length; i++) {
            below += counts[i];
            bucket(name, Long.toString(bounds[i]), below);
        }
        for (int i = bounds.length; i < counts.length; i++) {
            below += counts[i];
        }
        bucket(name, "+Inf", below);
        out.append(name).append("_count ").append(below).append('\n');
    }

    private void bucket(String name, String bound, long count) {
        out.append(name)
                .append("_bucket{le=\"")
                .append(bound)
                .append("\"} ")
                .append(count)
                .append('\n');
    }

    private void head(String name, Metric metric, String type) {
        String description = metric.description();
        if (description != null && !description.isBlank()) {
            out.append("# HELP ")
                    .append(name)
                    .append(' ')
                    .append(description.replace("\\", "\\\\").replace("\n", "\\n"))
                    .append('\n');
        }
        out.append("# TYPE ").append(name).append(' ').append(type).append('\n');
    }

    static String name(String metric) {
        StringBuilder name = new StringBuilder(metric.length() + 8);
        if (!metric.equals(OURS) && !metric.startsWith(OURS + ".")) {
            name.append("ignite_");
        }
        for (int i = 0; i < metric.length(); i++) {
            char c = metric.charAt(i);
            boolean taken = c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_';
            name.append(taken ? c : '_');
        }
        return name.toString();
    }

    static String text(double value) {
        if (Double.isNaN(value)) {
            return "NaN";
        }
        if (Double.isInfinite(value)) {
            return value > 0 ? "+Inf" : "-Inf";
        }
        return value == Math.rint(value) && Math.abs(value) < 1e15
                ? Long.toString((long) value)
                : Double.toString(value);
    }
}
