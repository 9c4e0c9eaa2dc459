// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.metrics;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.ignite.spi.metric.BooleanMetric;
import org.apache.ignite.spi.metric.DoubleMetric;
import org.apache.ignite.spi.metric.HistogramMetric;
import org.apache.ignite.spi.metric.LongMetric;
import org.apache.ignite.spi.metric.Metric;
import org.apache.ignite.spi.metric.ObjectMetric;
import org.apache.ignite.spi.metric.ReadOnlyMetricRegistry;
import org.junit.jupiter.api.Test;

class PrometheusTextTest {
    private static final String REGISTRY = "mooncake.pool";

    private record Whole(String name, String description, long value) implements LongMetric {}

    private record Decimal(String name, String description, double value) implements DoubleMetric {}

    private record Switch(String name, String description, boolean value) implements BooleanMetric {}

    private record Text(String name, String description, String value) implements ObjectMetric<String> {
        @Override
        public Class<String> type() {
            return String.class;
        }
    }

    private record Failing(String name, String description) implements LongMetric {
        @Override
        public long value() {
            throw new IllegalStateException("the part stops");
        }
    }

    private record Buckets(String name, String description, long[] bounds, long[] value) implements HistogramMetric {
        @Override
        public Class<long[]> type() {
            return long[].class;
        }
    }

    private static String text(Metric... metrics) {
        Map<String, Metric> known = new TreeMap<>();
        ReadOnlyMetricRegistry registry = new ReadOnlyMetricRegistry() {
            @Override
            public String name() {
                return REGISTRY;
            }

            @Override
            @SuppressWarnings("unchecked")
            public <M extends Metric> M findMetric(String name) {
                return (M) known.get(name);
            }

            @Override
            public Iterator<Metric> iterator() {
                return List.of(metrics).iterator();
            }
        };
        return PrometheusText.of(List.of(registry), all -> true);
    }

    @Test
    void numbers_haveHelpTypeAndValue() {
        assertThat(text(
                        new Whole("mooncake.pool.blocks", "Blocks \\ held\nnow.", 7),
                        new Decimal("sys.CpuLoad", "", 0.25),
                        new Switch("cache.a-b.On", "Whether.", true)))
                .isEqualTo("""
                        # HELP mooncake_pool_blocks Blocks \\\\ held\\nnow.
                        # TYPE mooncake_pool_blocks gauge
                        mooncake_pool_blocks 7
                        # TYPE ignite_sys_CpuLoad gauge
                        ignite_sys_CpuLoad 0.25
                        # HELP ignite_cache_a_b_On Whether.
                        # TYPE ignite_cache_a_b_On gauge
                        ignite_cache_a_b_On 1
                        """);
    }

    @Test
    void histogram_bucketsOfIgnite_areSummedUp() {
        assertThat(text(new Buckets("tx.time", "Times.", new long[] {1, 10}, new long[] {3, 4, 5})))
                .isEqualTo("""
                        # HELP ignite_tx_time Times.
                        # TYPE ignite_tx_time histogram
                        ignite_tx_time_bucket{le="1"} 3
                        ignite_tx_time_bucket{le="10"} 7
                        ignite_tx_time_bucket{le="+Inf"} 12
                        ignite_tx_time_count 12
                        """);
    }

    @Test
    void others_textsFailuresAndSecondNames_areLeftOut() {
        assertThat(text(
                        new Text("sys.name", "A text.", "x"),
                        new Failing("sys.failing", "Fails."),
                        new Whole("sys.one.two", "First.", 1),
                        new Whole("sys.one_two", "Second.", 2)))
                .isEqualTo("""
                        # HELP ignite_sys_one_two First.
                        # TYPE ignite_sys_one_two gauge
                        ignite_sys_one_two 1
                        """);
    }

    @Test
    void decimals_notFinite_areNamed() {
        assertThat(PrometheusText.text(Double.NaN)).isEqualTo("NaN");
        assertThat(PrometheusText.text(Double.POSITIVE_INFINITY)).isEqualTo("+Inf");
        assertThat(PrometheusText.text(Double.NEGATIVE_INFINITY)).isEqualTo("-Inf");
        assertThat(PrometheusText.text(3)).isEqualTo("3");
    }
}
