// SPDX-License-Identifier: Apache-2.0
package io.mooncake.examples.chat;

import io.mooncake.djl.Generation;
import java.io.Serializable;
import java.util.Arrays;
import java.util.UUID;

/**
 * What a node answered, and the same answer computed without the cache.
 *
 * @param nodeId the node
 * @param text the answer as text, without its stop token
 * @param blockBytes bytes of a block's payload
 * @param blockTokens tokens a block
 * @param ssdTokens tokens of {@code cached}'s local ones that came from the node's SSD; what another request loaded meanwhile may be in it
 * @param cached the run with the cache
 * @param computed the run with look-up switched off, on the same node right after
 */
public record ChatAnswer(
        UUID nodeId,
        String text,
        int blockBytes,
        int blockTokens,
        int ssdTokens,
        Generation cached,
        Generation computed)
        implements Serializable {
    private static final long serialVersionUID = 1L;

    /** Whether the logits of both runs are equal to the bit, for every token. */
    public boolean logitsEqual() {
        return cached.logitsDigest().equals(computed.logitsDigest());
    }

    /** Whether both runs chose the same tokens. */
    public boolean tokensEqual() {
        return Arrays.equals(cached.tokens(), computed.tokens());
    }

    /** Milliseconds from having the prompt to having the first token: look-up, fetch, prefill. Waiting for the model's turn is not in it. */
    public static double firstTokenMillis(Generation run) {
        return (run.firstTokenNanos() - run.waitNanos()) / 1e6;
    }
}
