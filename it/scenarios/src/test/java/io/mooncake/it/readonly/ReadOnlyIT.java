// SPDX-License-Identifier: Apache-2.0
package io.mooncake.it.readonly;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.mooncake.it.support.Mirror;
import io.mooncake.testkit.MooncakeCluster;
import io.mooncake.testkit.SeededBlocks;
import io.mooncake.testkit.SeededBlocks.Taken;
import java.util.List;
import org.apache.ignite.IgniteCache;
import org.apache.ignite.cluster.ClusterState;
import org.junit.jupiter.api.Test;

/** A read-only cluster refuses its users' writes; blocks are no rows, so the pool takes and gives them as ever. */
class ReadOnlyIT {
    @Test
    void pool_clusterReadOnly_takesBlocksAndTheMirrorWaits() {
        try (MooncakeCluster cluster = MooncakeCluster.builder()
                .nodes(2)
                .pools(MooncakeCluster.smallPool("tiny"))
                .start()) {
            IgniteCache<Integer, String> users = cluster.ignite(0).getOrCreateCache("users");
            users.put(1, "before");
            int[] before = SeededBlocks.prompt(1, 100);
            SeededBlocks.store(cluster.pool(0), before);
            MooncakeCluster.await(
                    "the mirror", () -> Mirror.tokens(cluster.ignite(1)).equals(List.of(96)));

            cluster.ignite(1).cluster().state(ClusterState.ACTIVE_READ_ONLY);
            assertThatThrownBy(() -> users.put(1, "meanwhile")).hasStackTraceContaining("read-only");
            int[] meanwhile = SeededBlocks.prompt(2, 50);
            assertThat(SeededBlocks.store(cluster.pool(1), meanwhile)).isEqualTo(3);
            cluster.awaitHolders(meanwhile, 1);
            assertThat(SeededBlocks.take(cluster.pool(0), meanwhile)).isEqualTo(new Taken(48, 0, 48, "NONE"));
            assertThat(SeededBlocks.take(cluster.pool(1), before)).isEqualTo(new Taken(96, 0, 96, "NONE"));
            MooncakeCluster.await(
                    "the mirror says that it waits", () -> Mirror.metric(cluster.ignite(0), "paused") == 1);
            assertThat(Mirror.tokens(cluster.ignite(1))).isEqualTo(List.of(96));

            cluster.ignite(0).cluster().state(ClusterState.ACTIVE);
            MooncakeCluster.await(
                    "the mirror again", () -> Mirror.tokens(cluster.ignite(0)).equals(List.of(48, 96)));
            users.put(1, "after");
            assertThat(users.get(1)).isEqualTo("after");
        }
    }
}
