// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory.policy;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.BitSet;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Blocks that nobody leases and that can't go all the same, since they are pinned for a time or just moving. */
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
final class StuckBlocksTest {
    private static final int BLOCKS = 64;

    /** Blocks without leases; leaves or inner ones, and those that are stuck. */
    private static final class Pool implements Candidates {
        final BitSet gone = new BitSet();
        final BitSet stuck = new BitSet();
        final BitSet inner = new BitSet();
        int tries;

        @Override
        public boolean isLeaf(int slot) {
            return !gone.get(slot) && !inner.get(slot);
        }

        @Override
        public int references(int slot) {
            return 0;
        }

        @Override
        public boolean startEviction(int slot) {
            tries++;
            if (stuck.get(slot)) {
                return false;
            }
            assertThat(gone.get(slot)).isFalse();
            gone.set(slot);
            return true;
        }
    }

    private final Pool pool = new Pool();

    private EvictionPolicy full(String name) {
        EvictionPolicy policy = Policies.byName(name, BLOCKS, new ManualClock());
        for (int slot = 0; slot < BLOCKS; slot++) {
            policy.touch(slot, slot);
            policy.announce(Request.of(new long[] {slot}));
            policy.stored(slot, slot, slot, !pool.inner.get(slot));
        }
        return policy;
    }

    static Stream<String> policies() {
        return Policies.names().stream();
    }

    @ParameterizedTest
    @MethodSource("policies")
    void evict_leavesThatCannotGo_triesEachOnceAndAgainLater(String name) {
        pool.stuck.set(0, BLOCKS - 1);
        EvictionPolicy policy = full(name);
        assertThat(policy.evict(pool)).isEqualTo(BLOCKS - 1);
        pool.tries = 0;
        assertThat(policy.evict(pool)).isEqualTo(EvictionPolicy.NONE);
        assertThat(pool.tries).isLessThanOrEqualTo(BLOCKS);
        pool.stuck.clear();
        for (int i = 0; i < BLOCKS - 1; i++) {
            assertThat(policy.evict(pool)).isNotEqualTo(EvictionPolicy.NONE);
        }
        assertThat(policy.evict(pool)).isEqualTo(EvictionPolicy.NONE);
        assertThat(pool.gone.cardinality()).isEqualTo(BLOCKS);
    }

    @ParameterizedTest
    @MethodSource("policies")
    void evict_innerBlocksBesideStuckLeaves_stay(String name) {
        pool.inner.set(0, BLOCKS - 1);
        pool.stuck.set(BLOCKS - 1);
        EvictionPolicy policy = full(name);
        assertThat(policy.evict(pool)).isEqualTo(EvictionPolicy.NONE);
        pool.stuck.clear();
        assertThat(policy.evict(pool)).isEqualTo(BLOCKS - 1);
        assertThat(policy.evict(pool)).isEqualTo(EvictionPolicy.NONE);
        pool.inner.clear(3);
        policy.leaf(3);
        assertThat(policy.evict(pool)).isEqualTo(3);
        assertThat(policy.evict(pool)).isEqualTo(EvictionPolicy.NONE);
    }

    @Test
    void announce_manyLongChains_holdsNoMoreThanItsBound() {
        EvictionPolicy policy = Policies.byName(ReturnIndexPolicy.NAME, BLOCKS, new ManualClock());
        long before = HeapSize.of(policy);
        for (int i = 0; i < 1_000; i++) {
            policy.announce(Request.of(new long[8_192]));
        }
        assertThat(HeapSize.of(policy) - before).isLessThan(200_000);
        assertThatThrownBy(() -> Request.of(null)).hasMessageContaining("blocks: null");
    }

    @ParameterizedTest
    @MethodSource("policies")
    void stored_oneNameInTwoSlots_bothGoOnce(String name) {
        EvictionPolicy policy = Policies.byName(name, BLOCKS, new ManualClock());
        for (int slot = 0; slot < BLOCKS; slot++) {
            policy.touch(slot, slot);
            policy.stored(slot, slot % 2, slot % 2, true);
            policy.announce(Request.of(new long[] {slot % 2}));
        }
        for (int i = 0; i < BLOCKS; i++) {
            assertThat(policy.evict(pool)).isNotEqualTo(EvictionPolicy.NONE);
        }
        assertThat(pool.gone.cardinality()).isEqualTo(BLOCKS);
        assertThat(policy.evict(pool)).isEqualTo(EvictionPolicy.NONE);
    }
}
