// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory;

import java.util.List;

/**
 * A local prefix match under construction: holds its blocks leased and can grow as further blocks arrive from peers. It ends in exactly
 * one of {@link #toLease} and {@link #close()}.
 *
 * <p>Threading: one thread at a time.
 */
public interface LocalMatch extends AutoCloseable {
    /** Tokens matched, the last block possibly in part. */
    int matchedTokens();

    /** The most that may be reused of this prompt: {@code reusableTokens(tokens.length)}. */
    int reusableTokens();

    /** Whether everything that may be reused is matched. */
    default boolean complete() {
        return matchedTokens() == reusableTokens();
    }

    /** Blocks matched whole: the index of the next block to fetch. */
    int wholeBlocks();

    /** Key of the last block matched whole, or the tenant's root: the parent of the next block. */
    BlockKey lastKey();

    /** Keys of all full blocks of the prompt, in order: those of the matched ones are known, the others take a hash each, once. */
    List<BlockKey> chain();

    /** Walks on in the local index from the last whole block, a partial last block included; the match never gets shorter. */
    void extendLocally();

    /**
     * Turns the match into a lease, which takes over its blocks, and counts the look-up.
     *
     * @param localTokens of the matched tokens, those that were here before anything was fetched, 0..matchedTokens
     * @param reason why it ends where it ends; {@link MissReason#NONE} is put for it when the match is complete
     */
    PrefixLease toLease(int localTokens, MissReason reason);

    /** Gives the blocks back, unless they were taken over. Idempotent. */
    @Override
    void close();
}
