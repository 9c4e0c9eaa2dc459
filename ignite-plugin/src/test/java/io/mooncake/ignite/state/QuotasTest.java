// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.state;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.mooncake.base.MooncakeException;
import io.mooncake.ignite.Mooncake;
import io.mooncake.ignite.TestBlocks;
import io.mooncake.ignite.TestGrid;
import io.mooncake.ignite.pool.ClusterKvPool;
import io.mooncake.memory.LocalKvPool;
import io.mooncake.memory.Tenant;
import io.mooncake.memory.TenantQuota;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.apache.ignite.Ignite;
import org.junit.jupiter.api.Test;

/** A quota is set once, for every node that is there or comes. */
class QuotasTest {
    private static final Duration PATIENCE = Duration.ofSeconds(20);
    private static final Tenant ACME = new Tenant("acme", new byte[0]);

    private static LocalKvPool pool(Ignite node, String name) {
        return ((ClusterKvPool) Mooncake.of(node).pool(name)).local();
    }

    private static void awaitQuota(Ignite node, String pool, TenantQuota quota) {
        TestGrid.await(
                "the quota on " + node.name(),
                () -> pool(node, pool).use(ACME).quota().equals(quota));
    }

    /** A cluster that has just come up takes no rows for a moment. */
    private static void set(Ignite node, TenantQuota quota) {
        TestGrid.await("quota set", () -> {
            Mooncake.of(node).quota("acme", quota, PATIENCE);
            return true;
        });
    }

    @Test
    void quota_setOnce_isInForceOnEveryNodeThatIsThereOrComes() {
        try (TestGrid grid = new TestGrid()) {
            Ignite first = grid.start("first");
            Ignite second = grid.start("second");
            long stride = LocalKvPool.blockStrideBytes(pool(first, "tiny").identity());
            TenantQuota quota = new TenantQuota(4 * stride, 8 * stride);

            set(first, quota);

            awaitQuota(first, "tiny", quota);
            awaitQuota(second, "tiny", quota);
            assertThat(Mooncake.of(second).quotas()).isEqualTo(Map.of("acme", quota));
            for (int seed = 0; seed < 8; seed++) {
                TestBlocks.store(pool(second, "tiny").forTenant(ACME), TestBlocks.prompt(seed, 20));
            }
            assertThat(pool(second, "tiny").use(ACME).dramBytes()).isPositive().isLessThanOrEqualTo(4 * stride);

            Ignite third = grid.start(
                    "third", grid.provider().setPools(List.of(TestGrid.pool("tiny"), TestGrid.pool("more"))));
            awaitQuota(third, "tiny", new TenantQuota(2 * stride, 4 * stride));
            awaitQuota(third, "more", new TenantQuota(2 * stride, 4 * stride));

            set(third, TenantQuota.UNLIMITED);
            for (Ignite node : List.of(first, second, third)) {
                awaitQuota(node, "tiny", TenantQuota.UNLIMITED);
            }
            assertThat(Mooncake.of(third).quotas()).isEmpty();
            assertThatThrownBy(() -> Mooncake.of(first).quota("", quota, PATIENCE))
                    .isInstanceOf(MooncakeException.class)
                    .hasMessageContaining("tenant name");
            assertThatThrownBy(() -> Mooncake.of(first).quota("acme", quota, Duration.ZERO))
                    .hasMessageContaining("timeout");
        }
    }
}
