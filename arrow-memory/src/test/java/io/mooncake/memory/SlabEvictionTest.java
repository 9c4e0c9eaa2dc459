// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.mooncake.memory.block.BlockDescriptor;
import io.mooncake.memory.block.BlockSlab;
import io.mooncake.memory.policy.Candidates;
import io.mooncake.memory.policy.EvictionPolicy;
import io.mooncake.memory.policy.Policies;
import java.util.BitSet;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Policies over the real states of slots. They touch no memory, so any addresses will do. */
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class SlabEvictionTest {
    private static final BlockLayout LAYOUT = new BlockLayout(1, 1, 1, 1, 1);
    private static final long STRIDE = BlockDescriptor.strideBytes(LAYOUT);
    private static final int SLOTS = 4;

    private final BlockSlab slab = new BlockSlab(0, 0, SLOTS * STRIDE, LAYOUT);
    private final BitSet followed = new BitSet();
    private final Candidates candidates = new SlabCandidates(slab, followed::get, () -> 0);
    private EvictionPolicy policy = Policies.lru(SLOTS);

    static Stream<String> policies() {
        return Policies.names().stream();
    }

    private int stored(int time) {
        int slot = slab.allocate();
        policy.touch(slot, time);
        slab.seal(slot);
        policy.stored(slot, slot, slot, !followed.get(slot));
        return slot;
    }

    private void release(int slot) {
        if (slab.release(slot)) {
            policy.released(slot);
        }
    }

    @ParameterizedTest
    @MethodSource("policies")
    void evict_leavesPinnedOrMoving_arePassedOverAndTriedAgain(String name) {
        policy = Policies.byName(name, SLOTS, System::nanoTime);
        int pinned = stored(1);
        int moving = stored(2);
        int idle = stored(3);
        for (int slot : new int[] {pinned, moving, idle}) {
            release(slot);
        }
        assertThat(slab.states().pin(pinned, slab.generation(pinned))).isTrue();
        assertThat(slab.states().startMove(moving, slab.generation(moving))).isTrue();
        assertThat(policy.evict(candidates)).isEqualTo(idle);
        assertThat(policy.evict(candidates)).isEqualTo(EvictionPolicy.NONE);
        slab.states().cancelMove(moving);
        assertThat(policy.evict(candidates)).isEqualTo(moving);
        slab.states().unpin(pinned);
        assertThat(policy.evict(candidates)).isEqualTo(pinned);
        assertThat(policy.evict(candidates)).isEqualTo(EvictionPolicy.NONE);
    }

    @Test
    void evict_leavesByLastUse_neverInnerOrLeasedOnes() {
        followed.set(0);
        for (int i = 0; i < SLOTS; i++) {
            stored(100 + i);
        }
        for (int slot = 0; slot < SLOTS; slot++) {
            release(slot);
        }
        policy.touch(1, 500);
        slab.lease(2);
        assertThat(policy.evict(candidates)).as("0 is older, but followed").isEqualTo(3);
        assertThat(policy.evict(candidates)).isEqualTo(1);
        assertThat(policy.evict(candidates)).as("no leaf can go").isEqualTo(EvictionPolicy.NONE);
        release(2);
        assertThat(policy.evict(candidates)).as("parked until released").isEqualTo(2);
        assertThat(policy.evict(candidates)).isEqualTo(EvictionPolicy.NONE);
        followed.clear(0);
        policy.leaf(0);
        assertThat(policy.evict(candidates)).isEqualTo(0);
    }

    @Test
    void evict_leafReleasedAfterItWasSkipped_goesBeforeNewerOnes() {
        int older = stored(100);
        int newer = stored(101);
        release(newer);
        assertThat(policy.evict(candidates))
                .as("the other is older, but leased")
                .isEqualTo(newer);
        slab.recycle(newer);
        policy.touch(newer, 500);
        slab.seal(newer);
        policy.stored(newer, newer, newer, true);
        release(newer);
        release(older);
        assertThat(policy.evict(candidates)).isEqualTo(older);
    }

    @Test
    void slab_withoutRoomForABlock_isRefusedByName() {
        assertThatThrownBy(() -> new BlockSlab(0, 0, STRIDE - 1, LAYOUT))
                .hasMessage("slab bytes: " + (STRIDE - 1) + " (expected: at least " + STRIDE + ", one block)");
    }
}
