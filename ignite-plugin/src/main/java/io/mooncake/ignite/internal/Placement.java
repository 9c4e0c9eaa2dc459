// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.internal;

import io.mooncake.base.Deadline;
import io.mooncake.ignite.DrainResult;
import io.mooncake.ignite.place.StoreReport;
import io.mooncake.memory.BlockKey;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/** The part of the node that looks after copies: where they are, and what happens to them when a node leaves or comes. */
public interface Placement extends NodeComponent {
    /** Whether {@code node} is to leave, as far as this node knows: it wants no requests and takes no copies. */
    boolean draining(UUID node);

    /** What {@code node} said last of itself; empty where nothing was heard of it yet, and for observers. */
    Optional<StoreReport> report(UUID node);

    /**
     * Copies blocks of this node to one other, or what that does not take to the next.
     *
     * @param tenant name of who they are of
     * @param keys 1..256, parents before children
     * @param except nodes that have them already
     * @return where each is now; null where nobody took it
     */
    @Nullable
    UUID[] copy(String pool, String tenant, List<BlockKey> keys, Set<UUID> except, Deadline deadline)
            throws InterruptedException;

    /** Gives what only this node has to others. It stays draining until {@link #resume}. */
    DrainResult drain(Deadline deadline) throws InterruptedException;

    /** Ends draining: the node takes requests and copies again. */
    void resume();

    /** Pulls what peers use most into {@code pool}, up to {@code maxBlocks} and while blocks are free; returns how many came. */
    long warmUp(String pool, int maxBlocks, Deadline deadline) throws InterruptedException;
}
