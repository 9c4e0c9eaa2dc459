// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.node;

import static org.assertj.core.api.Assertions.assertThat;

import io.mooncake.ignite.Mooncake;
import io.mooncake.ignite.TestGrid;
import io.mooncake.ignite.pool.ClusterKvPool;
import io.mooncake.memory.LocalKvPool;
import org.apache.ignite.Ignite;
import org.junit.jupiter.api.Test;

/** The policy that is configured is the one that the node's pools have. */
class EvictionPolicyNodeTest {
    private static String policy(Ignite node) {
        return ((ClusterKvPool) Mooncake.of(node).pool("tiny")).local().evictionPolicy();
    }

    @Test
    void start_namedPolicyOrNone_isThePools() {
        try (TestGrid grid = new TestGrid()) {
            Ignite named = grid.start("named", grid.provider().setEvictionPolicy("s3-fifo"));
            Ignite plain = grid.start("plain", grid.provider());
            assertThat(policy(named)).isEqualTo("s3-fifo");
            assertThat(policy(plain)).isEqualTo(LocalKvPool.DEFAULT_POLICY);
        }
    }
}
