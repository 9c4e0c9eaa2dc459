// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.node;

import io.mooncake.ignite.Role;
import io.mooncake.ignite.feed.FeedService;
import io.mooncake.ignite.internal.Member;
import io.mooncake.ignite.internal.Members;
import io.mooncake.transfer.TransferEngine;
import java.util.UUID;
import java.util.concurrent.Executor;

/**
 * Keeps feed and engine in step with the topology. A client that reconnects leaves as one node and joins as another with the same
 * engine, so the engine is told of a life that ended only while no member has it; both ways under this object's lock, so that the
 * last word is the topology's.
 */
final class FeedMembers implements Members.Listener {
    private final TransferEngine engine;
    private final FeedService feed;
    private final ClusterIndexes indexes;
    private final Members members;
    private final Executor workers;
    private final int protocol = NodeAttributes.newestProtocol();

    FeedMembers(TransferEngine engine, FeedService feed, ClusterIndexes indexes, Members members, Executor workers) {
        this.engine = engine;
        this.feed = feed;
        this.indexes = indexes;
        this.members = members;
        this.workers = workers;
    }

    @Override
    public void onJoined(Member member) {
        // Before anybody subscribes to it.
        synchronized (this) {
            engine.peerBack(member.address().incarnation());
        }
        tellOldFollowers();
        if (!member.local() && member.role() == Role.STORE) {
            int version = Math.min(FeedService.MAX_VERSION, Math.min(member.protocol(), protocol));
            feed.follow(member.nodeId(), member.address(), version, indexes.sinks(member));
        }
    }

    @Override
    public void onLeft(Member member) {
        tellOldFollowers();
        feed.unfollow(member.nodeId());
        indexes.forgetUnknown();
        if (!member.local()) {
            workers.execute(() -> endLife(member.address().incarnation()));
        }
    }

    /** Everybody follows: whoever speaks nothing newer hears this node in version 1. */
    private void tellOldFollowers() {
        feed.publishOld(protocol < FeedService.MAX_VERSION
                || members.all().stream().anyMatch(member -> member.protocol() < FeedService.MAX_VERSION));
    }

    private synchronized void endLife(UUID incarnation) {
        if (!members.hasEngine(incarnation)) {
            engine.peerGone(incarnation);
        }
    }
}
