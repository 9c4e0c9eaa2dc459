// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory.index;

/** Lets tests of other packages shorten hashes and switch comparison off. */
public final class IndexAccess {
    private IndexAccess() {}

    public static PrefixIndex index(int blockTokens, int maxNodes, int hashMask, boolean compareInFull) {
        return new PrefixIndex(blockTokens, maxNodes, hashMask, compareInFull);
    }
}
