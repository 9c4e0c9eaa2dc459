// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.feed;

import io.mooncake.base.MooncakeException;
import io.mooncake.memory.BlockKey;
import java.util.Arrays;

/**
 * One thing that happened to a block at its owner. The array is not copied: nobody changes it.
 *
 * @param kind what happened
 * @param key the block's chain digest
 * @param parentKey chain digest of the block before it, the tenant's root for block 0; zero unless stored
 * @param depth index of the block in its chain, from 0; 0 unless stored
 * @param tokens the block's own token ids; empty unless stored
 * @param place where the owner has it now; of no meaning when it is removed
 * @param cause why it was removed; UNKNOWN otherwise
 */
public record BlockEvent(
        Kind kind, BlockKey key, BlockKey parentKey, int depth, int[] tokens, BlockPlace place, RemovalCode cause) {
    private static final BlockKey NO_KEY = new BlockKey(0, 0, 0, 0);
    private static final int[] NO_TOKENS = {};

    /** What happened. The codes are part of the wire format. */
    public enum Kind {
        /** The owner has the block, or begins to write it where the place is FILLING. */
        STORED(1),
        /** It no longer has it. */
        REMOVED(2),
        /** It has it elsewhere, or to its end. */
        PLACED(3);

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

    /** A block that can be leased out of memory. */
    public static BlockEvent stored(BlockKey key, BlockKey parentKey, int depth, int[] tokens) {
        return stored(key, parentKey, depth, tokens, BlockPlace.MEMORY);
    }

    /** A block at {@code place}. */
    public static BlockEvent stored(BlockKey key, BlockKey parentKey, int depth, int[] tokens, BlockPlace place) {
        return new BlockEvent(Kind.STORED, key, parentKey, depth, tokens, place, RemovalCode.UNKNOWN);
    }

    /** A block that was stored before is at {@code place} now. */
    public static BlockEvent placed(BlockKey key, BlockPlace place) {
        return new BlockEvent(Kind.PLACED, key, NO_KEY, 0, NO_TOKENS, place, RemovalCode.UNKNOWN);
    }

    /** The removal of {@code key}. */
    public static BlockEvent removed(BlockKey key, RemovalCode cause) {
        return new BlockEvent(Kind.REMOVED, key, NO_KEY, 0, NO_TOKENS, BlockPlace.MEMORY, cause);
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof BlockEvent that
                && kind == that.kind
                && depth == that.depth
                && place == that.place
                && cause == that.cause
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
