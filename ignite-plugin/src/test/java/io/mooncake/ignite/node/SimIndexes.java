// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.node;

import io.mooncake.ignite.feed.FeedService;
import io.mooncake.ignite.index.ClusterIndex;
import io.mooncake.ignite.internal.Members;
import io.mooncake.ignite.pool.Holders;
import io.mooncake.memory.KvIdentity;
import io.mooncake.transfer.TransferEngine;
import java.util.concurrent.Executor;

/** A node's indexes, kept in step with members and feed as a node does it. */
public final class SimIndexes {
    private final ClusterIndexes indexes;

    public SimIndexes(Members members, String pool, KvIdentity identity, int maxEntries) {
        indexes = new ClusterIndexes(members, maxEntries, 0);
        indexes.define(pool, identity);
    }

    public ClusterIndex index() {
        return indexes;
    }

    public Holders holders(String pool) {
        return indexes.holders(pool);
    }

    /** What hears of members before anybody else does. */
    public Members.Listener follow(TransferEngine engine, FeedService feed, Members members, Executor workers) {
        return new FeedMembers(engine, feed, indexes, members, workers);
    }
}
