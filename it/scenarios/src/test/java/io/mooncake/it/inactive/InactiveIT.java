// SPDX-License-Identifier: Apache-2.0
package io.mooncake.it.inactive;

import static org.assertj.core.api.Assertions.assertThat;

import io.mooncake.it.support.Mirror;
import io.mooncake.testkit.MooncakeCluster;
import io.mooncake.testkit.SeededBlocks;
import io.mooncake.testkit.SeededBlocks.Taken;
import java.util.List;
import org.apache.ignite.cluster.ClusterState;
import org.junit.jupiter.api.Test;

/** A cluster that starts inactive, as one with persistence does, and is activated later: the pool needs no cache of Ignite. */
class InactiveIT {
    @Test
    void pool_clusterInactive_worksAndTheMirrorFollowsWhenItIsActivated() {
        try (MooncakeCluster cluster = MooncakeCluster.builder()
                .nodes(2)
                .pools(MooncakeCluster.smallPool("tiny"))
                .configure(config -> config.setClusterStateOnStart(ClusterState.INACTIVE))
                .start()) {
            assertThat(cluster.ignite(0).cluster().state()).isEqualTo(ClusterState.INACTIVE);
            int[] tokens = SeededBlocks.prompt(1, 100);
            assertThat(SeededBlocks.store(cluster.pool(0), tokens)).isEqualTo(6);
            cluster.awaitHolders(tokens, 1);
            assertThat(SeededBlocks.take(cluster.pool(1), tokens)).isEqualTo(new Taken(96, 0, 96, "NONE"));

            cluster.ignite(1).cluster().state(ClusterState.ACTIVE);
            MooncakeCluster.await(
                    "the mirror", () -> Mirror.tokens(cluster.ignite(0)).equals(List.of(96)));

            // Off again: blocks come and go as before, and what changed meanwhile is mirrored afterwards.
            cluster.ignite(0).cluster().state(ClusterState.INACTIVE);
            int[] more = SeededBlocks.prompt(2, 50);
            SeededBlocks.store(cluster.pool(1), more);
            cluster.awaitHolders(more, 1);
            assertThat(SeededBlocks.take(cluster.pool(0), more)).isEqualTo(new Taken(48, 0, 48, "NONE"));
            cluster.ignite(0).cluster().state(ClusterState.ACTIVE);
            MooncakeCluster.await(
                    "the mirror again", () -> Mirror.tokens(cluster.ignite(1)).equals(List.of(48, 96)));
        }
    }
}
