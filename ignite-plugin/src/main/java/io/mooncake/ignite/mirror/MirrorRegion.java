// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.mirror;

import io.mooncake.ignite.state.CacheRegion;

/**
 * The mirror's own data region: never persistent whatever the user's default is, several times larger than the row budget can fill, and
 * with page eviction, because rows of other nodes lie in it too and a row that is gone comes back by itself.
 */
final class MirrorRegion {
    /** Name of the region. */
    static final String NAME = "mooncake";

    // A row with its key and its place in the primary key takes 500 bytes at most; four times that is the margin.
    private static final long BYTES_PER_ROW = 2_048;
    private static final long MIN_BYTES = 32L << 20;

    private MirrorRegion() {}

    /** The region for {@code rowBudget} rows a node. */
    static CacheRegion of(int rowBudget) {
        long least = rowBudget * BYTES_PER_ROW;
        return new CacheRegion(NAME, least, Math.max(MIN_BYTES, least), false, true);
    }
}
