// SPDX-License-Identifier: Apache-2.0
package io.mooncake.conductor;

import java.util.UUID;

/**
 * The expected time to the first token on one node, and what it is made of.
 *
 * @param node the node
 * @param localTokens reusable tokens that the node holds
 * @param bestTokens reusable tokens that the best holder has
 * @param fetchTokens tokens worth fetching from that holder; 0 where computing them is faster
 * @param computeTokens tokens left to compute
 * @param inFlight requests at the node, this one not counted
 * @param queueNanos until the node turns to this request
 * @param fetchNanos for the fetch
 * @param computeNanos for computing the rest
 */
public record TtftEstimate(
        UUID node,
        int localTokens,
        int bestTokens,
        int fetchTokens,
        int computeTokens,
        int inFlight,
        long queueNanos,
        long fetchNanos,
        long computeNanos) {
    /** All of it. */
    public long ttftNanos() {
        return queueNanos + fetchNanos + computeNanos;
    }
}
