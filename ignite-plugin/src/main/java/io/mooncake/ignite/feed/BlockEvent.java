// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.feed;

import io.mooncake.base.MooncakeException;
import java.util.Arrays;
import java.util.HexFormat;

/**
 * One block was stored or removed at its owner. The arrays are not copied: nobody changes them.
 *
 * @param kind what happened
 * @param key the block's chain digest, 32 bytes
 * @param parentKey chain digest of the block before it, 32 bytes; the root of the chain for block 0
 * @param depth index of the block in its chain, from 0
 * @param tokens the block's own token ids; empty for removals
 */
public record BlockEvent(Kind kind, byte[] key, byte[] parentKey, int depth, int[] tokens) {
    /** Bytes of a key. */
    public static final int KEY_BYTES = 32;

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
        if (key.length != KEY_BYTES || parentKey.length != KEY_BYTES) {
            throw MooncakeException.invalid("key bytes", key.length + " and " + parentKey.length, "32 and 32");
        }
        if (depth < 0) {
            throw MooncakeException.invalid("depth", depth, "at least 0");
        }
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof BlockEvent that
                && kind == that.kind
                && depth == that.depth
                && Arrays.equals(key, that.key)
                && Arrays.equals(parentKey, that.parentKey)
                && Arrays.equals(tokens, that.tokens);
    }

    @Override
    public int hashCode() {
        return Arrays.hashCode(key);
    }

    @Override
    public String toString() {
        return kind + " " + HexFormat.of().formatHex(key, 0, 6) + " depth " + depth;
    }
}
