// SPDX-License-Identifier: Apache-2.0
package io.mooncake.examples.demo;

import io.mooncake.examples.report.BenchmarkResult;
import io.mooncake.examples.report.Samples;
import io.mooncake.examples.report.Target;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Predicate;
import java.util.function.ToDoubleFunction;
import org.jspecify.annotations.Nullable;

/** The demo's figures against what they must reach. */
final class DemoTargets {
    /** A prefix long enough, and a rest short enough, for the targets on the time to first token. */
    private static final int PREFIX_TOKENS = 1_024;

    private static final int SUFFIX_TOKENS = 32;

    private DemoTargets() {}

    static List<BenchmarkResult> of(List<RequestRow> answered, double readySeconds) {
        List<BenchmarkResult> results = new ArrayList<>();
        ratio(
                results,
                "TTFT, cached prefix in own memory",
                answered,
                row -> local(row) && row.ssdTokens() == 0,
                Target.atMost(0.06));
        ratio(
                results,
                "TTFT, cached prefix or a part of it on own SSD",
                answered,
                row -> local(row) && row.ssdTokens() > 0,
                null);
        ratio(
                results,
                "TTFT, cached prefix on another node",
                answered,
                row -> row.remoteTokens() >= PREFIX_TOKENS && row.computedTokens() <= SUFFIX_TOKENS,
                Target.atMost(0.08));
        figure(
                results,
                "prefill",
                answered,
                row -> true,
                row -> row.promptTokens() / (row.computedMillis() / 1_000),
                "tokens/s",
                Target.atLeast(200));
        figure(
                results,
                "decode",
                answered,
                row -> row.decodeTokensPerSecond() > 0,
                RequestRow::decodeTokensPerSecond,
                "tokens/s",
                Target.atLeast(15));
        long equal = answered.stream().filter(RequestRow::logitsEqual).count();
        if (!answered.isEmpty()) {
            results.add(BenchmarkResult.of(
                    "requests with bit-identical logits",
                    Samples.of((double) equal / answered.size()),
                    "share",
                    Target.atLeast(1)));
        }
        results.add(BenchmarkResult.of("cluster ready", Samples.of(readySeconds), "s", Target.atMost(40)));
        return results;
    }

    private static boolean local(RequestRow row) {
        return row.localTokens() >= PREFIX_TOKENS && row.remoteTokens() == 0 && row.computedTokens() <= SUFFIX_TOKENS;
    }

    private static void ratio(
            List<BenchmarkResult> results,
            String name,
            List<RequestRow> rows,
            Predicate<RequestRow> which,
            @Nullable Target target) {
        List<RequestRow> chosen = rows.stream().filter(which).toList();
        if (!chosen.isEmpty()) {
            results.add(BenchmarkResult.compared(
                    name,
                    Samples.of(chosen.stream().map(RequestRow::cachedMillis).toList()),
                    "ms",
                    "computed, same node",
                    Samples.of(chosen.stream().map(RequestRow::computedMillis).toList()),
                    target));
        }
    }

    private static void figure(
            List<BenchmarkResult> results,
            String name,
            List<RequestRow> rows,
            Predicate<RequestRow> which,
            ToDoubleFunction<RequestRow> value,
            String unit,
            Target target) {
        double[] values = rows.stream().filter(which).mapToDouble(value).toArray();
        if (values.length > 0) {
            results.add(BenchmarkResult.of(name, Samples.of(values), unit, target));
        }
    }
}
