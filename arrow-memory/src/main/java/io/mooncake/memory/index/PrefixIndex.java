// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory.index;

import io.mooncake.base.MooncakeException;
import io.mooncake.memory.BlockKey;
import org.jspecify.annotations.Nullable;

/** Token tree. Signatures first; behaviour follows in the next commit. */
public final class PrefixIndex {
    /** Returned where there is no value; never stored. */
    public static final long ABSENT = Long.MIN_VALUE;

    public PrefixIndex(int blockTokens, int maxNodes) {}

    /** Outcome of {@link #insert}. */
    public enum Insert {
        ADDED,
        EXISTS,
        FULL,
        CONFLICT
    }

    /** A child may come before its parent; it is found by tokens once its ancestors are there. */
    public Insert insert(BlockKey parent, BlockKey key, int[] tokens, int tokensOffset, long value) {
        throw unfinished();
    }

    /** Returns the value it had, or ABSENT. */
    public long remove(BlockKey key) {
        throw unfinished();
    }

    public long find(BlockKey key) {
        throw unfinished();
    }

    /** Replaces the value of a key that is there; returns the previous one or ABSENT. */
    public long replace(BlockKey key, long value) {
        throw unfinished();
    }

    public @Nullable BlockKey parent(BlockKey key) {
        throw unfinished();
    }

    /** Longest match of {@code tokens[from..limit)} below {@code start} (a root, or the key of any block). */
    public void match(BlockKey start, int[] tokens, int from, int limit, boolean partial, IndexMatch out) {
        throw unfinished();
    }

    public int size() {
        throw unfinished();
    }

    /** Receives entries. */
    @FunctionalInterface
    public interface Visitor {
        void visit(BlockKey key, BlockKey parent, int[] tokens, long value);
    }

    public void forEach(Visitor visitor) {
        throw unfinished();
    }

    private static MooncakeException unfinished() {
        return new MooncakeException(MooncakeException.Code.ILLEGAL_STATE, "PrefixIndex");
    }
}
