// SPDX-License-Identifier: Apache-2.0
package io.mooncake.examples.demo;

import io.mooncake.base.ByteSize;
import io.mooncake.examples.demo.DemoOutcome.Check;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Predicate;

/** What the demo promises. One broken promise makes its exit code non-zero. */
final class DemoChecks {
    private DemoChecks() {}

    /**
     * @param rows all requests
     * @param systemPromptTokens tokens of the shortest system prompt
     * @param bytesPerToken bytes of KV a token
     * @param killed name of the node that was killed, or empty
     */
    static List<Check> of(List<RequestRow> rows, int systemPromptTokens, long bytesPerToken, String killed) {
        List<Check> checks = new ArrayList<>();
        List<RequestRow> answered = rows.stream().filter(RequestRow::answered).toList();
        List<RequestRow> moved = rows.stream().filter(RequestRow::forced).toList();
        long lost = count(rows, RequestRow::lost);
        checks.add(new Check(
                killed.isEmpty()
                        ? "every request is answered"
                        : "every request is answered, but for those " + killed + " was running",
                answered.size() + lost == rows.size(),
                answered.size() + " of " + rows.size() + " answered, " + lost + " lost with a killed node"));
        checks.add(all(answered, RequestRow::logitsEqual, "logits are bit-identical with and without reuse"));
        checks.add(all(answered, RequestRow::tokensEqual, "greedy tokens are identical with and without reuse"));
        checks.add(new Check(
                "conversations share a system prompt of at least 1,000 tokens",
                systemPromptTokens >= 1_000,
                systemPromptTokens + " tokens or more"));
        checks.add(new Check(
                "at least a quarter of the requests is forced onto a node that lacks the prefix",
                4 * moved.size() >= rows.size(),
                moved.size() + " of " + rows.size()));
        List<RequestRow> fetched = moved.stream().filter(RequestRow::answered).toList();
        long proven = count(
                fetched, row -> row.remoteTokens() > 0 && row.servedBytes() >= row.remoteTokens() * bytesPerToken);
        checks.add(new Check(
                "each of them fetched its prefix, and the owners' counters show the bytes",
                proven == fetched.size() && proven > 0,
                proven + " of " + fetched.size() + "; "
                        + ByteSize.format(fetched.stream()
                                .mapToLong(RequestRow::servedBytes)
                                .sum())
                        + " served for "
                        + fetched.stream().mapToLong(RequestRow::remoteTokens).sum() + " tokens of "
                        + ByteSize.format(bytesPerToken) + " each"));
        return checks;
    }

    private static Check all(List<RequestRow> rows, Predicate<RequestRow> what, String name) {
        long good = count(rows, what);
        return new Check(name, good == rows.size() && good > 0, good + " of " + rows.size());
    }

    private static long count(List<RequestRow> rows, Predicate<RequestRow> what) {
        return rows.stream().filter(what).count();
    }
}
