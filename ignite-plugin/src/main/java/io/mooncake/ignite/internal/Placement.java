// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.internal;

import io.mooncake.base.Deadline;
import io.mooncake.ignite.DrainResult;
import java.util.UUID;

/** The part of the node that looks after copies: where they are, and what happens to them when a node leaves or comes. */
public interface Placement extends NodeComponent {
    /** Whether {@code node} is to leave, as far as this node knows: it wants no requests and takes no copies. */
    boolean draining(UUID node);

    /** Gives what only this node has to others. It stays draining until {@link #resume}. */
    DrainResult drain(Deadline deadline) throws InterruptedException;

    /** Ends draining: the node takes requests and copies again. */
    void resume();

    /** Pulls what peers use most into {@code pool}, up to {@code maxBlocks} and while blocks are free; returns how many came. */
    long warmUp(String pool, int maxBlocks, Deadline deadline) throws InterruptedException;
}
