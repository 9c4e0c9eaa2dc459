// SPDX-License-Identifier: Apache-2.0
package io.mooncake.conductor;

import io.mooncake.base.MooncakeException;

/**
 * What the estimate assumes before anything was measured, and how near two estimates must be to count as equal.
 *
 * @param prefillTokensPerSecond prefill speed until one was measured
 * @param fetchBytesPerSecond speed of fetches until one was measured
 * @param fetchLatencyNanos what a fetch costs before its first byte
 * @param tieNanos estimates this near to the best one count as equal
 * @param tieShare so do estimates within this share of the best one
 * @param smoothing weight of the newest sample in the running averages, in (0, 1]
 */
public record ConductorSettings(
        double prefillTokensPerSecond,
        double fetchBytesPerSecond,
        long fetchLatencyNanos,
        long tieNanos,
        double tieShare,
        double smoothing) {
    /** One core of a small model, a fetch over loopback or 10 Gbit/s. */
    public static final ConductorSettings DEFAULT = new ConductorSettings(300, 1e9, 1_000_000, 100_000, 0.005, 0.2);

    public ConductorSettings {
        if (!(prefillTokensPerSecond > 0) || !(fetchBytesPerSecond > 0)) {
            throw MooncakeException.invalid(
                    "assumed speeds", prefillTokensPerSecond + " and " + fetchBytesPerSecond, "more than 0");
        }
        if (fetchLatencyNanos < 0 || tieNanos < 0 || !(tieShare >= 0 && tieShare < 1)) {
            throw MooncakeException.invalid(
                    "latency and ties",
                    fetchLatencyNanos + ", " + tieNanos + ", " + tieShare,
                    "not negative, share below 1");
        }
        if (!(smoothing > 0 && smoothing <= 1)) {
            throw MooncakeException.invalid("smoothing", smoothing, "more than 0, at most 1");
        }
    }
}
