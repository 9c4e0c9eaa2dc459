// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.feed;

import java.util.List;

/** Hears of the blocks of this node's own pools. */
@FunctionalInterface
public interface BlockEventListener {
    /**
     * Called on the feed's thread with events of one pool in order.
     *
     * @param pool name of the pool
     * @param events not to be changed
     */
    void onBlocks(String pool, List<BlockEvent> events);
}
