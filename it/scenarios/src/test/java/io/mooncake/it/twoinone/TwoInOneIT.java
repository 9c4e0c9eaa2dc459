// SPDX-License-Identifier: Apache-2.0
package io.mooncake.it.twoinone;

import static org.assertj.core.api.Assertions.assertThat;

import io.mooncake.ignite.Mooncake;
import io.mooncake.testkit.MooncakeCluster;
import io.mooncake.testkit.SeededBlocks;
import io.mooncake.testkit.SeededBlocks.Taken;
import java.lang.management.ManagementFactory;
import java.util.Set;
import javax.management.ObjectName;
import org.junit.jupiter.api.Test;

/** Several nodes in one process, of one cluster and of two: none takes another's pool, metrics, files or memory with it. */
class TwoInOneIT {
    @Test
    void nodes_ofOneProcess_liveAndDieEachByItself() throws Exception {
        try (MooncakeCluster one = MooncakeCluster.builder()
                        .nodes(2)
                        .pools(MooncakeCluster.smallPool("tiny"))
                        .start();
                MooncakeCluster other = MooncakeCluster.builder()
                        .nodes(1)
                        .pools(MooncakeCluster.smallPool("tiny"))
                        .start()) {
            assertThat(one.node(0)).isNotSameAs(one.node(1));
            int[] tokens = SeededBlocks.prompt(1, 100);
            SeededBlocks.store(one.pool(0), tokens);
            one.awaitHolders(tokens, 1);
            assertThat(SeededBlocks.take(one.pool(1), tokens)).isEqualTo(new Taken(96, 0, 96, "NONE"));
            assertThat(SeededBlocks.take(other.pool(0), tokens)).isEqualTo(new Taken(0, 0, 0, "NOT_CACHED"));
            assertThat(Mooncake.of(other.ignite(0)).storeNodes()).containsExactly(other.nodeId(0));
            assertThat(beans(one.ignite(0).name())).isNotEmpty();
            assertThat(beans(one.ignite(1).name()))
                    .hasSameSizeAs(beans(one.ignite(0).name()));

            // The first goes, with everything of its own and nothing else; the second has what it fetched.
            String gone = one.ignite(0).name();
            one.stopNode(0);
            assertThat(beans(gone)).isEmpty();
            assertThat(SeededBlocks.take(one.pool(1), tokens)).isEqualTo(new Taken(96, 96, 0, "NONE"));
            assertThat(SeededBlocks.store(other.pool(0), tokens)).isEqualTo(6);
            assertThat(beans(one.ignite(1).name())).isNotEmpty();

            one.restartNode(0);
            one.awaitHolders(tokens, 1);
            assertThat(SeededBlocks.take(one.pool(0), tokens)).isEqualTo(new Taken(96, 0, 96, "NONE"));
        }
    }

    private static Set<ObjectName> beans(String instance) throws Exception {
        return ManagementFactory.getPlatformMBeanServer()
                .queryNames(new ObjectName("org.apache:igniteInstanceName=" + instance + ",group=mooncake,*"), null);
    }
}
