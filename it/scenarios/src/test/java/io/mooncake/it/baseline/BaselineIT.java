// SPDX-License-Identifier: Apache-2.0
package io.mooncake.it.baseline;

import static org.assertj.core.api.Assertions.assertThat;

import io.mooncake.ignite.Mooncake;
import io.mooncake.it.support.Mirror;
import io.mooncake.testkit.MooncakeCluster;
import io.mooncake.testkit.SeededBlocks;
import io.mooncake.testkit.SeededBlocks.Taken;
import java.util.List;
import org.apache.ignite.Ignite;
import org.apache.ignite.IgniteCache;
import org.apache.ignite.cache.affinity.rendezvous.RendezvousAffinityFunction;
import org.apache.ignite.cluster.ClusterState;
import org.apache.ignite.configuration.CacheConfiguration;
import org.apache.ignite.configuration.DataRegionConfiguration;
import org.apache.ignite.configuration.DataStorageConfiguration;
import org.junit.jupiter.api.Test;

/** A persistent cluster whose baseline grows and shrinks: who holds rows of Ignite says nothing of who holds blocks. */
class BaselineIT {
    @Test
    void pool_baselineGrowsAndShrinks_nothingIsLostOnEitherSide() {
        try (MooncakeCluster cluster = MooncakeCluster.builder()
                .nodes(2)
                .pools(MooncakeCluster.smallPool("tiny"))
                .configure(config -> config.setDataStorageConfiguration(storage()))
                .start()) {
            Ignite first = cluster.ignite(0);
            first.cluster().state(ClusterState.ACTIVE);
            first.cluster().baselineAutoAdjustEnabled(false);
            IgniteCache<Integer, Integer> users =
                    first.getOrCreateCache(new CacheConfiguration<Integer, Integer>("users")
                            .setBackups(1)
                            .setAffinity(new RendezvousAffinityFunction(false, 8)));
            for (int i = 0; i < 100; i++) {
                users.put(i, i);
            }

            // In the pool at once, outside the baseline.
            int third = cluster.startNode();
            assertThat(first.cluster().currentBaselineTopology()).hasSize(2);
            int[] tokens = SeededBlocks.prompt(1, 100);
            SeededBlocks.store(cluster.pool(third), tokens);
            cluster.awaitHolders(tokens, 1);
            assertThat(SeededBlocks.take(cluster.pool(0), tokens)).isEqualTo(new Taken(96, 0, 96, "NONE"));

            // The baseline takes it in, and lets the second node go, which stays in the pool.
            first.cluster().setBaselineTopology(first.cluster().topologyVersion());
            assertThat(first.cluster().currentBaselineTopology()).hasSize(3);
            int[] more = SeededBlocks.prompt(2, 50);
            SeededBlocks.store(cluster.pool(1), more);
            cluster.awaitHolders(more, 1);
            MooncakeCluster.await(
                    "the mirror", () -> Mirror.tokens(cluster.ignite(third)).equals(List.of(48, 96)));
            cluster.stopNode(1);
            first.cluster()
                    .setBaselineTopology(List.of(
                            cluster.ignite(0).cluster().localNode(),
                            cluster.ignite(third).cluster().localNode()));
            cluster.restartNode(1);
            assertThat(first.cluster().currentBaselineTopology()).hasSize(2);
            MooncakeCluster.await(
                    "three members", () -> Mooncake.of(first).storeNodes().size() == 3);
            cluster.awaitHolders(tokens, 2);
            assertThat(SeededBlocks.take(cluster.pool(1), tokens)).isEqualTo(new Taken(96, 0, 96, "NONE"));
            MooncakeCluster.await(
                    "the mirror without what left", () -> Mirror.tokens(first).equals(List.of(96)));
            for (int i = 0; i < 100; i++) {
                assertThat(users.get(i)).isEqualTo(i);
            }
        }
    }

    private static DataStorageConfiguration storage() {
        return new DataStorageConfiguration()
                .setWalSegmentSize(4 << 20)
                .setWalSegments(2)
                .setDefaultDataRegionConfiguration(new DataRegionConfiguration()
                        .setPersistenceEnabled(true)
                        .setInitialSize(10L << 20)
                        .setMaxSize(64L << 20)
                        .setCheckpointPageBufferSize(10L << 20));
    }
}
