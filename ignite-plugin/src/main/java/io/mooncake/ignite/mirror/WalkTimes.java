// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.mirror;

import java.util.concurrent.TimeUnit;

/**
 * When the mirror reads the pools, which takes as long as they are large: at once when blocks came or went; where they were only used, or other nodes
 * hold others, every {@value #USE_MILLIS} ms at most; and every {@value #IDLE_MILLIS} ms although no counter moved, because two changes may leave a
 * counter as it was.
 *
 * <p>Threading: one thread at a time.
 */
final class WalkTimes {
    static final long USE_MILLIS = 2_000;
    static final long IDLE_MILLIS = 10_000;

    private long lastBlocks;
    private long lastUse;
    private long readAt;
    private boolean everRead;

    /**
     * Whether to read them now.
     *
     * @param blocks changes whenever a block comes, goes or moves
     * @param use changes whenever one is looked up, or another node's holdings change
     * @param now monotonic nanoseconds
     */
    boolean due(long blocks, long use, long now) {
        long since = now - readAt;
        return !everRead
                || blocks != lastBlocks
                || use != lastUse && since >= TimeUnit.MILLISECONDS.toNanos(USE_MILLIS)
                || since >= TimeUnit.MILLISECONDS.toNanos(IDLE_MILLIS);
    }

    /** They were read, with counters and time as they were before. */
    void read(long blocks, long use, long now) {
        everRead = true;
        lastBlocks = blocks;
        lastUse = use;
        readAt = now;
    }
}
