// SPDX-License-Identifier: Apache-2.0
package io.mooncake.djl;

import io.mooncake.memory.MissReason;
import java.io.Serializable;

/**
 * What came of a {@link GenerationRequest}.
 *
 * @param tokens generated ids, the stop token included
 * @param finish why it ended
 * @param promptTokens tokens of the prompt
 * @param localTokens reused from this node's memory
 * @param remoteTokens reused after a fetch from other nodes
 * @param missReason why reuse ended where it did
 * @param storedBlocks blocks published to the pool
 * @param firstTokenNanos from the call to the first token known, waiting for the engine included
 * @param waitNanos of these, waiting for the engine
 * @param lookupNanos of these, look-up, fetch and copy of cached blocks
 * @param prefillNanos of these, computing the rest of the prompt
 * @param decodeNanos all later tokens together
 * @param logitsDigest SHA-256 in hex over the logits of every token, in order, little-endian: equal exactly where all bits are
 * @param firstLogits these logits where the request asked for them, else empty
 * @param gaps how far the best logit was above the second one, one entry a token
 */
public record Generation(
        int[] tokens,
        Finish finish,
        int promptTokens,
        int localTokens,
        int remoteTokens,
        MissReason missReason,
        int storedBlocks,
        long firstTokenNanos,
        long waitNanos,
        long lookupNanos,
        long prefillNanos,
        long decodeNanos,
        String logitsDigest,
        float[] firstLogits,
        float[] gaps)
        implements Serializable {

    /** Why generation ended. */
    public enum Finish {
        /** A stop token. */
        STOP,
        /** As many tokens as asked for, or the context is full. */
        LENGTH,
        /** The deadline passed while decoding; the tokens so far are there. */
        DEADLINE
    }

    /** Tokens of the prompt that were not computed. */
    public int reusedTokens() {
        return localTokens + remoteTokens;
    }

    /** Tokens computed a second in prefill. */
    public double prefillTokensPerSecond() {
        return (promptTokens - reusedTokens()) * 1e9 / Math.max(1, prefillNanos);
    }

    /** Tokens a second after the first one; 0 where there was only one. */
    public double decodeTokensPerSecond() {
        return tokens.length < 2 ? 0 : (tokens.length - 1) * 1e9 / Math.max(1, decodeNanos);
    }
}
