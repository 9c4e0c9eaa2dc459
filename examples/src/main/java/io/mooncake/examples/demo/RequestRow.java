// SPDX-License-Identifier: Apache-2.0
package io.mooncake.examples.demo;

import org.jspecify.annotations.Nullable;

/**
 * What became of one request.
 *
 * @param index number in the demo, from 1
 * @param desk desk of the rental whose system prompt it shares
 * @param conversation its conversation
 * @param turn turn in the conversation, from 1
 * @param forced whether it was sent to a node that lacks the prefix
 * @param node name of the node that answered, or that was to answer
 * @param promptTokens tokens of the prompt
 * @param localTokens tokens reused from the node's own memory or SSD
 * @param ssdTokens of these, tokens that came from its SSD
 * @param remoteTokens tokens fetched from another node
 * @param missReason why reuse ended where it did
 * @param cachedMillis time to first token with the cache
 * @param computedMillis time to first token with look-up switched off, same node, same code
 * @param decodeTokensPerSecond speed of the tokens after the first
 * @param logitsEqual whether all logits were equal to the bit with and without reuse
 * @param tokensEqual whether the greedy tokens were equal
 * @param servedBytes bytes the owners' counters rose by while a forced request ran
 * @param question what the guest asked
 * @param answer what the model said
 * @param error why it failed, or null
 * @param lost whether it failed because its node was killed by the demo
 */
public record RequestRow(
        int index,
        String desk,
        String conversation,
        int turn,
        boolean forced,
        String node,
        int promptTokens,
        int localTokens,
        int ssdTokens,
        int remoteTokens,
        String missReason,
        double cachedMillis,
        double computedMillis,
        double decodeTokensPerSecond,
        boolean logitsEqual,
        boolean tokensEqual,
        long servedBytes,
        String question,
        String answer,
        @Nullable String error,
        boolean lost) {

    /** Tokens that were in the node's memory. */
    public int memoryTokens() {
        return localTokens - ssdTokens;
    }

    /** Tokens that were neither reused nor fetched. */
    public int computedTokens() {
        return promptTokens - localTokens - remoteTokens;
    }

    /** Time to first token with the cache, divided by the time without. */
    public double ratio() {
        return cachedMillis / computedMillis;
    }

    /** Whether it has an answer. */
    public boolean answered() {
        return error == null;
    }
}
