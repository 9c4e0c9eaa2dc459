// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.node;

import static org.assertj.core.api.Assertions.assertThat;

import io.mooncake.ignite.ScrubReport;
import io.mooncake.ignite.TestGrid;
import io.mooncake.ignite.conductor.Blocks;
import io.mooncake.ignite.pool.LocalPools;
import io.mooncake.memory.BlockKey;
import io.mooncake.memory.LocalKvPool;
import io.mooncake.memory.PinnedBlock;
import io.mooncake.memory.RemovalCause;
import io.mooncake.memory.Tenant;
import java.util.List;
import java.util.Objects;
import org.apache.arrow.memory.util.MemoryUtil;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class ScrubTest {
    private final int[] tokens = Blocks.prompt(1, 1, 0, 3);
    private LocalPools pools;
    private LocalKvPool pool;

    @BeforeEach
    void open() {
        pools = new LocalPools(
                1 << 20, null, false, "lru", List.of(TestGrid.pool("tiny").toDefinition()));
        pool = Objects.requireNonNull(pools.byName().get("tiny"));
        Blocks.store(pool, tokens);
    }

    @AfterEach
    void close() {
        pools.close();
    }

    private BlockKey damage(int index) {
        BlockKey key = pool.chain(Tenant.DEFAULT, tokens).get(index);
        try (PinnedBlock block = Objects.requireNonNull(pool.pin(key))) {
            MemoryUtil.putByte(block.address(), (byte) ~MemoryUtil.getByte(block.address()));
        }
        return key;
    }

    @Test
    void run_blockAndItsFollowerDamaged_bothAreNamed() {
        BlockKey middle = damage(1);
        BlockKey last = damage(2);

        ScrubReport report = new Scrub(pool).run();

        assertThat(report.checked()).isEqualTo(3);
        assertThat(report.dropped()).containsExactlyInAnyOrder(middle, last);
        assertThat(report.kept()).isEmpty();
        assertThat(Blocks.reuse(pool, tokens)).isEqualTo(16);
    }

    @Test
    void drop_blockWasStoredAnewMeanwhile_staysWithWhatFollows() {
        BlockKey middle = damage(1);
        Scrub scrub = new Scrub(pool);
        scrub.look();
        pool.remove(middle, RemovalCause.REMOVED);
        Blocks.store(pool, tokens);

        ScrubReport report = scrub.drop();

        assertThat(report.dropped()).isEmpty();
        assertThat(Blocks.reuse(pool, tokens)).isEqualTo(48);
        assertThat(new Scrub(pool).run().dropped()).isEmpty();
    }

    @Test
    void drop_blockWentMeanwhile_isNotCounted() {
        BlockKey last = damage(2);
        Scrub scrub = new Scrub(pool);
        scrub.look();
        pool.remove(last, RemovalCause.REMOVED);

        assertThat(scrub.drop().dropped()).isEmpty();
    }
}
