// SPDX-License-Identifier: Apache-2.0
package io.mooncake.djl.cache;

import io.mooncake.memory.MissReason;

/**
 * What one prompt took from the cache and gave to it.
 *
 * @param promptTokens tokens of the prompt
 * @param localTokens reused from this node's memory
 * @param remoteTokens reused after a fetch from other nodes
 * @param missReason why reuse ended where it did
 * @param storedBlocks blocks published afterwards
 */
public record Reuse(int promptTokens, int localTokens, int remoteTokens, MissReason missReason, int storedBlocks) {
    /** Tokens that were not computed. */
    public int reusedTokens() {
        return localTokens + remoteTokens;
    }
}
