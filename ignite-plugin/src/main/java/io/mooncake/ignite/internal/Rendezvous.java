// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.internal;

import io.mooncake.memory.BlockKey;
import java.util.Collection;
import java.util.UUID;

/** One of several nodes that hold a block, on which all of them agree without asking: that with the highest hash of block and node. */
public final class Rendezvous {
    private Rendezvous() {}

    /** Whether {@code node}, one of {@code all} or not, comes before all of them. */
    public static boolean wins(BlockKey key, UUID node, Collection<UUID> all) {
        long own = weight(key, node);
        return all.stream().allMatch(other -> Long.compareUnsigned(weight(key, other), own) <= 0);
    }

    /** A key is a digest: mixing the node in is enough. */
    private static long weight(BlockKey key, UUID node) {
        long mixed = (key.word1() ^ node.getMostSignificantBits()) * 0x9E37_79B9_7F4A_7C15L
                + (key.word2() ^ node.getLeastSignificantBits());
        mixed = (mixed ^ (mixed >>> 32)) * 0xD6E8_FEB8_6659_FD93L;
        return mixed ^ (mixed >>> 32);
    }
}
