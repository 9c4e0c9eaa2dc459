// SPDX-License-Identifier: Apache-2.0
package io.mooncake.it.fullregion;

import static org.assertj.core.api.Assertions.assertThat;

import io.mooncake.it.support.Mirror;
import io.mooncake.testkit.MooncakeCluster;
import io.mooncake.testkit.SeededBlocks;
import io.mooncake.testkit.SeededBlocks.Taken;
import java.util.List;
import org.apache.ignite.Ignite;
import org.apache.ignite.IgniteCache;
import org.apache.ignite.cache.affinity.rendezvous.RendezvousAffinityFunction;
import org.apache.ignite.configuration.CacheConfiguration;
import org.apache.ignite.configuration.DataPageEvictionMode;
import org.apache.ignite.configuration.DataRegionConfiguration;
import org.apache.ignite.configuration.DataStorageConfiguration;
import org.apache.ignite.configuration.IgniteConfiguration;
import org.junit.jupiter.api.Test;

/**
 * The mirror's region is full, beside somebody who uses caches: Ignite halts a node whose region overflows, and here nobody halts. Closing
 * the cluster fails should a node have met a critical failure.
 */
class FullRegionIT {
    private static final String REGION = "mooncake";
    private static final int FILLERS = 4_500;
    private static final int RUNS = 300;

    @Test
    void mirror_regionFilledBySomebody_nobodyHaltsAndCachesAndPoolServe() {
        try (MooncakeCluster cluster = MooncakeCluster.builder()
                .nodes(2)
                .pools(MooncakeCluster.smallPool("tiny"))
                .plugin(plugin -> plugin.setMirrorRowBudget(1_000))
                .configure(FullRegionIT::smallRegion)
                .start()) {
            Ignite plain = cluster.startPlainNode("plain");
            IgniteCache<Integer, String> users = plain.getOrCreateCache(small("users"));
            IgniteCache<Integer, byte[]> filler = plain.getOrCreateCache(
                    FullRegionIT.<Integer, byte[]>small("filler").setDataRegionName(REGION));
            // More than the three nodes' regions hold, three of ten mebibytes.
            for (int i = 0; i < 3 * FILLERS; i++) {
                filler.put(i, new byte[3_000]);
            }
            assertThat(filler.sizeLong()).as("evicted by its own").isLessThan(3 * FILLERS);

            for (int i = 0; i < RUNS; i++) {
                SeededBlocks.store(cluster.pool(i % 2), SeededBlocks.prompt(i, 17));
            }
            // A row takes another's place, or its writer stops and says so.
            for (int i = 0; i < 2; i++) {
                Ignite node = cluster.ignite(i);
                MooncakeCluster.await(
                        "node " + i + " to write its rows or to say that the region is full",
                        () -> Mirror.metric(node, "rows") >= RUNS / 2 || Mirror.metric(node, "full") == 1);
            }
            users.put(1, "goes on");
            assertThat(users.get(1)).isEqualTo("goes on");
            int[] last = SeededBlocks.prompt(RUNS - 1, 17);
            cluster.awaitHolders(last, 1);
            assertThat(SeededBlocks.take(cluster.pool(0), last)).isEqualTo(new Taken(16, 0, 16, "NONE"));

            filler.destroy();
            MooncakeCluster.await(
                    "it goes on when there is room",
                    () -> Mirror.metric(cluster.ignite(0), "rows") >= RUNS / 2
                            && Mirror.metric(cluster.ignite(1), "rows") >= RUNS / 2);
            assertThat(Mirror.tokens(plain)).isEqualTo(List.of(16));
            assertThat(plain.cluster().nodes()).hasSize(3);
        }
    }

    private static IgniteConfiguration smallRegion(IgniteConfiguration config) {
        DataStorageConfiguration storage = new DataStorageConfiguration();
        storage.setDefaultDataRegionConfiguration(
                        new DataRegionConfiguration().setInitialSize(10L << 20).setMaxSize(64L << 20))
                .setDataRegionConfigurations(new DataRegionConfiguration()
                        .setName(REGION)
                        .setInitialSize(10L << 20)
                        .setMaxSize(10L << 20)
                        .setPageEvictionMode(DataPageEvictionMode.RANDOM_2_LRU)
                        .setEvictionThreshold(0.95));
        return config.setDataStorageConfiguration(storage);
    }

    private static <K, V> CacheConfiguration<K, V> small(String name) {
        return new CacheConfiguration<K, V>(name).setAffinity(new RendezvousAffinityFunction(false, 8));
    }
}
