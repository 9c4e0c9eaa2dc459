// SPDX-License-Identifier: Apache-2.0
package io.mooncake.it.testkit;

import static org.assertj.core.api.Assertions.assertThat;

import io.mooncake.base.Deadline;
import io.mooncake.djl.Generation;
import io.mooncake.djl.GenerationRequest;
import io.mooncake.it.support.Prompts;
import io.mooncake.memory.MissReason;
import io.mooncake.memory.PrefixLease;
import io.mooncake.testkit.MooncakeCluster;
import io.mooncake.testkit.MooncakeTest;
import java.time.Duration;
import org.junit.jupiter.api.Test;

/** The test kit as its users write it. */
@MooncakeTest(nodes = 3, clients = 1)
class TestKitIT {
    @Test
    void acquire_blocksOfAnotherNode_areFetchedAndThenVoidWithTheirNode(MooncakeCluster cluster) {
        int[] prompt = Prompts.random(11, 4 * 64 + 5);
        Generation computed = generate(cluster, 0, prompt);
        assertThat(computed.storedBlocks()).isEqualTo(4);
        cluster.awaitIndexed();
        assertThat(cluster.client(0).statistics().indexEntries()).isEqualTo(4);

        Generation fetched = generate(cluster, 1, prompt);
        assertThat(fetched.remoteTokens()).isEqualTo(256);
        assertThat(fetched.logitsDigest()).isEqualTo(computed.logitsDigest());
        assertThat(fetched.tokens()).isEqualTo(computed.tokens());

        cluster.awaitIndexed();
        cluster.killNode(0);
        cluster.killNode(1);
        cluster.awaitIndexed();
        try (PrefixLease lease = cluster.pool(2).acquire(prompt, Deadline.ofMillis(2_000))) {
            assertThat(lease.matchedTokens()).isZero();
            assertThat(lease.missReason()).isEqualTo(MissReason.NOT_CACHED);
        }
        int added = cluster.startNode();
        assertThat(generate(cluster, added, prompt).logitsDigest()).isEqualTo(computed.logitsDigest());
    }

    private static Generation generate(MooncakeCluster cluster, int node, int[] prompt) {
        return cluster.model(node)
                .engine()
                .generate(
                        GenerationRequest.of(prompt).maxNewTokens(4),
                        cluster.pool(node),
                        Deadline.of(Duration.ofSeconds(60)));
    }
}
