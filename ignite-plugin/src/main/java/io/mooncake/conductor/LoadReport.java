// SPDX-License-Identifier: Apache-2.0
package io.mooncake.conductor;

import java.util.List;
import java.util.UUID;

/**
 * What a node says of itself to all routers.
 *
 * @param node the node
 * @param sequence rises with each report of one life of the node
 * @param prefillTokensPerSecond measured, or 0
 * @param fetchBytesPerSecond measured, or 0
 * @param holdNanos time a request keeps the node busy besides its prefill
 * @param shares what runs there, by the router that sent it
 */
public record LoadReport(
        UUID node,
        long sequence,
        double prefillTokensPerSecond,
        double fetchBytesPerSecond,
        long holdNanos,
        List<Share> shares) {
    public LoadReport {
        shares = List.copyOf(shares);
    }

    /** The same of {@code other}. */
    public LoadReport from(UUID other) {
        return new LoadReport(other, sequence, prefillTokensPerSecond, fetchBytesPerSecond, holdNanos, shares);
    }

    /**
     * What one router has running there.
     *
     * @param router the router's node
     * @param inFlight its requests
     * @param queuedTokens prompt tokens they still have to compute
     */
    public record Share(UUID router, int inFlight, long queuedTokens) {}
}
