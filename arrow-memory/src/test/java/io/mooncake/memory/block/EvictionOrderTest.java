// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory.block;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.mooncake.memory.BlockLayout;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The order touches no memory, so any addresses will do. */
@Timeout(value = 20, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class EvictionOrderTest {
    private static final BlockLayout LAYOUT = new BlockLayout(1, 1, 1, 1, 1);
    private static final long STRIDE = BlockDescriptor.strideBytes(LAYOUT);

    private final BlockSlab slab = new BlockSlab(0, 0, 3 * STRIDE, LAYOUT);
    private final EvictionOrder order = new EvictionOrder(slab);

    private int sealed(int time) {
        int slot = slab.allocate();
        slab.seal(slot);
        order.touch(slot, time);
        return slot;
    }

    private void release(int slot) {
        if (slab.release(slot)) {
            order.released(slot);
        }
    }

    @Test
    void poll_leavesPinnedOrMoving_arePassedOverAndTriedAgain() {
        int pinned = sealed(1);
        int moving = sealed(2);
        int idle = sealed(3);
        for (int slot : new int[] {pinned, moving, idle}) {
            order.add(slot);
            release(slot);
        }
        assertThat(slab.states().pin(pinned, slab.generation(pinned))).isTrue();
        assertThat(slab.states().startMove(moving, slab.generation(moving))).isTrue();
        assertThat(order.poll(slot -> true)).isEqualTo(idle);
        assertThat(order.poll(slot -> true)).isEqualTo(BlockSlab.NONE);
        slab.states().cancelMove(moving);
        assertThat(order.poll(slot -> true)).isEqualTo(moving);
        slab.states().unpin(pinned);
        assertThat(order.poll(slot -> true)).isEqualTo(pinned);
        assertThat(order.poll(slot -> true)).isEqualTo(BlockSlab.NONE);
    }

    @Test
    void poll_oldestInnerBlockIsPinned_takesTheNext() {
        int pinned = sealed(1);
        int idle = sealed(2);
        release(pinned);
        release(idle);
        assertThat(slab.states().pin(pinned, slab.generation(pinned))).isTrue();
        assertThat(order.poll(slot -> false)).isEqualTo(idle);
        assertThat(order.poll(slot -> false)).isEqualTo(BlockSlab.NONE);
    }

    @Test
    void slab_withoutRoomForABlock_isRefusedByName() {
        assertThatThrownBy(() -> new BlockSlab(0, 0, STRIDE - 1, LAYOUT))
                .hasMessage("slab bytes: " + (STRIDE - 1) + " (expected: at least " + STRIDE + ", one block)");
    }
}
