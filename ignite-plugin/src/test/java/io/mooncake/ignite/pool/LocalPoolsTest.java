// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.pool;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.mooncake.base.MooncakeException;
import io.mooncake.ignite.TestBlocks;
import io.mooncake.ignite.TestGrid;
import io.mooncake.memory.BlockKey;
import io.mooncake.memory.LocalKvPool;
import io.mooncake.memory.Tenant;
import java.util.AbstractList;
import java.util.List;
import java.util.UUID;
import org.junit.jupiter.api.Test;

class LocalPoolsTest {
    @Test
    void pin_poolClosesBetweenTwoKeys_nothingStaysPinned() {
        try (LocalPools pools =
                new LocalPools(1 << 20, true, List.of(TestGrid.pool("tiny").toDefinition()))) {
            LocalKvPool pool = pools.byName().get("tiny");
            int[] tokens = TestBlocks.prompt(1, 40);
            TestBlocks.store(pool, tokens);
            List<BlockKey> chain = pool.chain(Tenant.DEFAULT, tokens);
            List<byte[]> keys = new AbstractList<>() {
                @Override
                public byte[] get(int index) {
                    if (index == 1) {
                        pool.close();
                    }
                    return chain.get(index).toBytes();
                }

                @Override
                public int size() {
                    return chain.size();
                }
            };

            assertThatThrownBy(() -> pools.pin(UUID.randomUUID(), "tiny", keys)).isInstanceOf(MooncakeException.class);

            assertThat(pool.stats().openLeases()).isZero();
        }
    }
}
