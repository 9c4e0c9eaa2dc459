// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory.index;

/** Lets tests of other packages shorten hashes and switch comparison off. */
public final class IndexAccess {
    private IndexAccess() {}

    public static ChainIndex index(int blockTokens, int vocabulary, int slots, int hashMask, boolean compareInFull) {
        return new ChainIndex(blockTokens, vocabulary, slots, hashMask, compareInFull);
    }
}
