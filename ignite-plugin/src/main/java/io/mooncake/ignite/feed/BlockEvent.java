// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.feed;

import io.mooncake.base.MooncakeException;
import io.mooncake.memory.BlockKey;
import java.util.Arrays;

/**
 * One block was stored or removed at its owner. The array is not copied: nobody changes it.
 *
 * @param kind what happened
 * @param key the block's chain digest
 * @param parentKey chain digest of the block before it, the tenant's root for block 0; zero for removals
 * @param depth index of the block in its chain, from 0; 0 for removals
 * @param tokens the block's own token ids; empty for removals
 */
public record BlockEvent(Kind kind, BlockKey key, BlockKey parentKey, int depth, int[] tokens) {
    private static final BlockKey NO_KEY = new BlockKey(0, 0, 0, 0);
    private static final int[] NO_TOKENS = {};

    /** What happened. The codes are part of the wire format. */
    public enum Kind {
        /** The block can be leased from its owner. */
        STORED(1),
        /** It no longer can. */
        REMOVED(2);

        private final int code;

        Kind(int code) {
            this.code = code;
        }

        /** The stable code. */
        public int code() {
            return code;
        }
    }

    public BlockEvent {
        if (depth < 0) {
            throw MooncakeException.invalid("depth", depth, "at least 0");
        }
        if (tokens.length > FeedFrameDescriptor.MAX_TOKENS) {
            throw MooncakeException.invalid(
                    "tokens of a block", tokens.length, "at most " + FeedFrameDescriptor.MAX_TOKENS);
        }
    }

    /** The removal of {@code key}. */
    public static BlockEvent removed(BlockKey key) {
        return new BlockEvent(Kind.REMOVED, key, NO_KEY, 0, NO_TOKENS);
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof BlockEvent that
                && kind == that.kind
                && depth == that.depth
                && key.equals(that.key)
                && parentKey.equals(that.parentKey)
                && Arrays.equals(tokens, that.tokens);
    }

    @Override
    public int hashCode() {
        return key.hashCode();
    }

    @Override
    public String toString() {
        return kind + " " + key.hex().substring(0, 12) + " depth " + depth;
    }
}
