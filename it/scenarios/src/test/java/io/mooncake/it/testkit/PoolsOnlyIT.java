// SPDX-License-Identifier: Apache-2.0
package io.mooncake.it.testkit;

import static org.assertj.core.api.Assertions.assertThat;

import io.mooncake.ignite.DrainResult;
import io.mooncake.testkit.MooncakeCluster;
import io.mooncake.testkit.MooncakeTest;
import io.mooncake.testkit.SeededBlocks;
import io.mooncake.testkit.SeededBlocks.Taken;
import org.junit.jupiter.api.Test;

/** The test kit without a model. */
@MooncakeTest(nodes = 2, clients = 1, model = false, dram = "4MiB")
class PoolsOnlyIT {
    @Test
    void drainStopRestartKill_ofNodes_leaveTheOthersWithTheBlocks(MooncakeCluster cluster) {
        int[] tokens = SeededBlocks.prompt(1, 100);
        assertThat(SeededBlocks.store(cluster.pool(0), tokens)).isEqualTo(6);
        cluster.awaitHolders(tokens, 1);

        DrainResult drained = cluster.drain(0);
        assertThat(drained.moved()).as(drained.toString()).isEqualTo(6);
        assertThat(cluster.node(1).statistics().blocks()).isEqualTo(6);
        cluster.stopNode(0);
        cluster.awaitHolders(tokens, 1);
        cluster.restartNode(0);
        cluster.awaitIndexed();
        assertThat(SeededBlocks.take(cluster.pool(0), tokens)).isEqualTo(new Taken(96, 0, 96, "NONE"));
        cluster.awaitHolders(tokens, 2);

        cluster.killNode(0);
        cluster.awaitHolders(tokens, 1);
        cluster.awaitIndexed();
        assertThat(cluster.client(0).statistics().indexEntries()).isEqualTo(6);
    }
}
