// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.feed;

/**
 * What a node holds in one pool now, for followers that come late.
 *
 * <p>It may be ahead of the events, which tell the same later: a follower applies every event since the first page on top. A block that changes while
 * the pages are read may come once, twice or not at all.
 */
public interface HeldBlocks {
    /** Hears every event, in order, from one thread at a time, for those that have no other way to know. */
    void onEvent(BlockEvent event);

    /**
     * Tells blocks until {@code page} wants no more.
     *
     * @param cursor 0, or what the call before returned
     * @return where the next page begins, -1 when there is none
     */
    long read(long cursor, Page page);

    /** Takes the blocks of one page. */
    @FunctionalInterface
    interface Page {
        /** @return false when it is full, and {@code event} belongs to the next one; never for the first */
        boolean add(BlockEvent event);
    }
}
