// SPDX-License-Identifier: Apache-2.0
package io.mooncake.examples.demo;

import java.util.List;

/**
 * Sums over the answered requests.
 *
 * @param requests requests sent
 * @param answered requests answered
 * @param promptTokens tokens of their prompts
 * @param localTokens tokens reused from the answering node's memory
 * @param remoteTokens tokens fetched from other nodes
 * @param cachedSeconds sum of the times to first token with the cache
 * @param computedSeconds sum of the times to first token without it
 * @param logitsEqual requests with bit-identical logits
 * @param tokensEqual requests with identical tokens
 */
record Totals(
        int requests,
        int answered,
        long promptTokens,
        long localTokens,
        long remoteTokens,
        double cachedSeconds,
        double computedSeconds,
        long logitsEqual,
        long tokensEqual) {

    static Totals of(List<RequestRow> answered, int requests) {
        return new Totals(
                requests,
                answered.size(),
                answered.stream().mapToLong(RequestRow::promptTokens).sum(),
                answered.stream().mapToLong(RequestRow::localTokens).sum(),
                answered.stream().mapToLong(RequestRow::remoteTokens).sum(),
                answered.stream().mapToDouble(RequestRow::cachedMillis).sum() / 1_000,
                answered.stream().mapToDouble(RequestRow::computedMillis).sum() / 1_000,
                answered.stream().filter(RequestRow::logitsEqual).count(),
                answered.stream().filter(RequestRow::tokensEqual).count());
    }
}
