// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.index;

import io.mooncake.memory.BlockKey;
import io.mooncake.memory.MissReason;
import io.mooncake.memory.Tenant;
import java.util.Iterator;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;

/**
 * Who holds what of a prompt, by the owners' announcements. Soft: an entry may be late by the feed's delay, and every use of it is
 * verified by a lease. Entries of nodes that left are never returned.
 *
 * <p>Threading: safe for all threads.
 */
public interface ClusterIndex {
    /**
     * What every other node holds of {@code tokens}.
     *
     * @return holders of at least one block, longest first; empty for a pool that no member names
     */
    List<Holding> holders(String pool, Tenant tenant, int[] tokens);

    /** Living other nodes that hold exactly the block {@code key}. */
    List<UUID> holders(String pool, BlockKey key);

    /** How many other nodes hold exactly the block {@code key}. */
    int holderCount(String pool, BlockKey key);

    /**
     * Why no other node has the block {@code key} any more: EVICTED, REMOVED or NODE_LOST, of the last ones that went; empty when one has it, when
     * none ever had it, and when that is not known.
     */
    Optional<MissReason> whyGone(String pool, BlockKey key);

    /** Names of the pools that are indexed. */
    Set<String> pools();

    /** What nodes that live hold of {@code pool}, read as each iteration goes, without a lock held between entries; nothing for an unknown pool. */
    Iterator<HeldCopy> held(String pool);

    /** Blocks announced since the start that found no room: other nodes hold them, and this one does not know. */
    long refused();

    /** Entries: pairs of block and holder. */
    long entries();
}
