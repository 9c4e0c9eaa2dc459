// SPDX-License-Identifier: Apache-2.0
package io.mooncake.benchmarks.policy;

import io.mooncake.benchmarks.policy.PolicyBench.Column;
import io.mooncake.examples.report.BenchmarkResult;
import io.mooncake.examples.report.Samples;
import io.mooncake.examples.report.Target;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** What the shares of hits have to reach. */
final class PolicyTargets {
    private static final List<String> OTHERS = List.of("lru", "lfu", "s3-fifo", "arc", "w-tinylfu", "gdsf");
    private static final double NOISE_OF_CONVERSATIONS = 0.003;
    private static final double NOISE = 0.01;

    private PolicyTargets() {}

    /** The lines of one trace and number of blocks; {@code column} is by policy. */
    static List<BenchmarkResult> of(String trace, int blocks, Map<String, Column> column) {
        Column ours = column.get(Contestant.OURS);
        String best = "";
        Column theirs = null;
        for (String other : OTHERS) {
            Column cell = column.get(other);
            if (cell != null && (theirs == null || cell.whole() > theirs.whole())) {
                best = other;
                theirs = cell;
            }
        }
        if (ours == null || theirs == null) {
            return List.of();
        }
        String where = trace + ", " + blocks + " blocks, ";
        double bestShare = theirs.whole();
        double noise = trace.contains("conversation") ? NOISE_OF_CONVERSATIONS : NOISE;
        List<BenchmarkResult> results = new ArrayList<>();
        results.add(line(where + "whole trace", ours.whole(), best, bestShare, Target.atLeast(bestShare - noise)));
        Target asked = asked(trace, blocks);
        if (asked != null) {
            results.add(BenchmarkResult.of(where + "share asked for", Samples.of(ours.whole()), "of blocks", asked));
        }
        results.add(line(where + "second half", ours.second(), best, theirs.second(), null));
        return results;
    }

    private static BenchmarkResult line(
            String name, double ours, String best, double bestShare, @Nullable Target target) {
        return new BenchmarkResult(
                name,
                ours,
                "of blocks",
                best,
                bestShare,
                ours / bestShare,
                target == null ? null : target.toString(),
                target == null ? null : target.met(ours),
                ours,
                ours,
                1,
                bestShare,
                bestShare);
    }

    /** On the two published traces. */
    private static @Nullable Target asked(String trace, int blocks) {
        boolean conversation = trace.contains("conversation");
        if (!conversation && !trace.contains("synthetic")) {
            return null;
        }
        return switch (blocks) {
            case 5_000 -> Target.atLeast(conversation ? 0.170 : 0.310);
            case 10_000 -> Target.atLeast(conversation ? 0.240 : 0.480);
            default -> null;
        };
    }
}
