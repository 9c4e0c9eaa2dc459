// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory;

import org.apache.arrow.memory.ArrowBuf;

/**
 * A cached prefix held in local memory until closed. Never null: a full miss is a lease of zero blocks with its reason.
 *
 * <p>Ownership: the caller owes one {@link #close()}; while open, none of its blocks moves, changes or goes. Buffers are borrowed: they
 * must not be closed, released or written by the caller, and are invalid after close: an access then throws. Threading: one caller thread at a time; {@code
 * close} is idempotent and may come from any thread.
 */
public interface PrefixLease extends AutoCloseable {
    /** Tokens whose KV the lease holds: a multiple of the block size in exact mode; may end inside the last block in fast mode. */
    int matchedTokens();

    /** Of {@link #matchedTokens()}, those that were in this node's memory already. */
    int localTokens();

    /** Of {@link #matchedTokens()}, those fetched from other nodes by this call. */
    int remoteTokens();

    /** Why the match ended. */
    MissReason missReason();

    /** Blocks held, the last one possibly used in part. */
    int blockCount();

    /**
     * Payload of block {@code index} in {@link BlockLayout} order, read-only by contract, {@code payloadBytes} long.
     *
     * @throws io.mooncake.base.MooncakeException ILLEGAL_STATE after close, INVALID_ARGUMENT when out of range
     */
    ArrowBuf block(int index);

    /** Tokens of block {@code index} that are matched: the block size but for the last block of a partial match. */
    int blockTokens(int index);

    /**
     * Tells how long the answer to the prompt became: the pool's policy learns from it how soon prompts like this one come back. Once, also
     * after close; not needed for anything to be found.
     *
     * @param outputTokens at least 0
     */
    default void answered(int outputTokens) {}

    @Override
    void close();
}
