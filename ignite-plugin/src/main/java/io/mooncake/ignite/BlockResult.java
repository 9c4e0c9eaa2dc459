// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite;

import io.mooncake.memory.BlockKey;

/**
 * What became of one block of a call.
 *
 * @param key the block's
 * @param status what became of it
 * @param copies nodes that have it now, as far as this node knows; for removals: copies that went
 * @param detail more of it, for people; empty when there is nothing to say
 */
public record BlockResult(BlockKey key, Status status, int copies, String detail) {
    /** What became of a block. */
    public enum Status {
        /** It was stored. */
        STORED,
        /** It was there before. */
        EXISTING,
        /** It is there. */
        FOUND,
        /** It is nowhere. */
        ABSENT,
        /** It is pinned. */
        PINNED,
        /** It is as asked. */
        DONE,
        /** Every block is in use: nothing can be evicted. */
        NO_ROOM,
        /** A node refused, or does not answer; the detail says which and why. */
        REFUSED,
        /** The time was over before. */
        EXPIRED
    }
}
