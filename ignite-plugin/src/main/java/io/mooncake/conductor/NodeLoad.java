// SPDX-License-Identifier: Apache-2.0
package io.mooncake.conductor;

import io.mooncake.base.MooncakeException;
import java.util.UUID;

/**
 * What a router believes of one node at one moment.
 *
 * @param node Ignite's id of the node
 * @param inFlight requests sent there and not answered yet, by whichever router
 * @param queuedTokens prompt tokens those requests still had to compute when they were sent
 * @param prefillTokensPerSecond measured prefill speed, or 0 when nothing was measured yet
 * @param fetchBytesPerSecond measured speed of fetching blocks from peers, or 0
 * @param holdNanos time that a request keeps the node busy besides its prefill, in nanoseconds
 * @param lastChosen rises with each request this router sent there; 0 when none was. Ties go to the lowest
 */
public record NodeLoad(
        UUID node,
        int inFlight,
        long queuedTokens,
        double prefillTokensPerSecond,
        double fetchBytesPerSecond,
        long holdNanos,
        long lastChosen) {
    public NodeLoad {
        if (inFlight < 0 || queuedTokens < 0 || holdNanos < 0) {
            throw MooncakeException.invalid(
                    "load", inFlight + " requests, " + queuedTokens + " tokens, " + holdNanos + " ns", "none negative");
        }
        if (!(prefillTokensPerSecond >= 0) || !(fetchBytesPerSecond >= 0)) {
            throw MooncakeException.invalid(
                    "speeds", prefillTokensPerSecond + " and " + fetchBytesPerSecond, "0 or more");
        }
    }

    /** A node of which nothing is known. */
    public static NodeLoad idle(UUID node) {
        return new NodeLoad(node, 0, 0, 0, 0, 0, 0);
    }
}
