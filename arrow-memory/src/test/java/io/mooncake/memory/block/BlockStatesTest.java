// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory.block;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.mooncake.base.MooncakeException;
import io.mooncake.base.MooncakeException.Code;
import io.mooncake.memory.block.BlockStates.Release;
import org.junit.jupiter.api.Test;

class BlockStatesTest {
    private final BlockStates states = BlockStatesStress.sealed(0);

    @Test
    void startMove_leasedBlock_readersGoOnAndTheLastOneDrains() {
        assertThat(states.lease(0, 1)).isTrue();
        assertThat(states.startMove(0, 1)).isTrue();
        assertThat(states.startMove(0, 1)).as("one mover").isFalse();
        assertThat(states.startEviction(0)).isFalse();
        assertThat(states.lease(0, 1)).as("moving").isTrue();
        assertThat(states.release(0)).isEqualTo(Release.HELD);
        assertThat(states.finishMove(0)).isEqualTo(Release.HELD);
        assertThat(states.lease(0, 1)).as("moved").isFalse();
        assertThatThrownBy(() -> states.free(0))
                .as("held by a reader")
                .isInstanceOf(MooncakeException.class)
                .hasMessage("slot 0: evicting, 1 references, 0 hard pins, generation 1 (expected: filling, or "
                        + "evicting without references)");
        assertThat(states.release(0)).isEqualTo(Release.DRAINED);
        states.free(0);
        assertThat(states.generation(0)).isEqualTo(2);
    }

    @Test
    void cancelMove_blockStaysWithItsReaders() {
        states.lease(0);
        states.startMove(0, 1);
        states.cancelMove(0);
        assertThat(states.references(0)).isEqualTo(1);
        assertThat(states.release(0)).isEqualTo(Release.IDLE);
        assertThat(states.startEviction(0)).isTrue();
        states.cancelEviction(0);
        assertThat(states.isReadable(0, 1)).isTrue();
    }

    @Test
    void pin_hard_keepsFromEvictionAndMoves() {
        assertThat(states.pin(0, 2)).as("another generation").isFalse();
        for (int i = 0; i < BlockStates.MAX_HARD_PINS; i++) {
            assertThat(states.pin(0, 1)).isTrue();
        }
        assertThat(states.pin(0, 1)).as("one too many").isFalse();
        assertThat(states.hardPins(0)).isEqualTo(31);
        assertThat(states.references(0)).isZero();
        assertThat(states.startEviction(0)).isFalse();
        assertThat(states.startMove(0, 1)).isFalse();
        assertThat(states.reopen(0, 1, 0)).isFalse();
        for (int i = 0; i < BlockStates.MAX_HARD_PINS; i++) {
            states.unpin(0);
        }
        assertThatThrownBy(() -> states.unpin(0)).hasMessageContaining("expected: a hard pin");
        assertThat(states.startMove(0, 1)).isTrue();
    }

    @Test
    void softPin_untilItsTime_keepsFromEvictionByTime() {
        assertThatThrownBy(() -> states.softPin(0, 100)).hasMessageContaining("expected: a reference that is held");
        states.lease(0);
        assertThat(states.softPin(0, 1001)).isTrue();
        assertThat(states.softPin(0, 501)).as("never shortened").isTrue();
        states.release(0);
        assertThat(states.startEviction(0, 1000)).isFalse();
        assertThat(states.reopen(0, 1, 1000)).isFalse();
        assertThat(states.startEviction(0, 1001)).isTrue();
        states.recycle(0);
        states.seal(0, 0);
        assertThat(states.isSoftPinned(0, 1000)).as("ends with its block").isFalse();
    }

    @Test
    void softPin_whileMoving_isRefusedAndCarriedBefore() {
        states.lease(0);
        states.softPin(0, 1001);
        states.startMove(0, 1);
        BlockStates target = new BlockStates(1);
        target.carrySoftPin(states, 0, 0);
        assertThat(states.softPin(0, 3001)).isFalse();
        assertThat(target.isSoftPinned(0, 1000)).isTrue();
        assertThat(target.isSoftPinned(0, 1001)).isFalse();
    }

    @Test
    void softPin_overrun_keepsOrderAcrossTheClocksWrap() {
        states.lease(0);
        long late = Long.MAX_VALUE - 10;
        states.softPin(0, late + 100); // the clock has wrapped by then
        states.release(0);
        assertThat(states.startEviction(0, late)).isFalse();
        assertThat(states.startEviction(0, late + 200)).isTrue();
    }

    @Test
    void reopen_unused_isTheWriteLockUnderTheNextGeneration() {
        assertThat(states.reopen(0, 2, 0)).as("another generation").isFalse();
        states.lease(0);
        assertThat(states.reopen(0, 1, 0)).as("read").isFalse();
        states.release(0);
        assertThat(states.reopen(0, 1, 0)).isTrue();
        assertThat(states.lease(0)).isFalse();
        assertThat(states.isFilling(0, 2)).isTrue();
        states.seal(0, 0);
        assertThat(states.lease(0, 1)).as("a handle from before").isFalse();
        assertThat(states.lease(0, 2)).isTrue();
    }

    @Test
    void lease_asOftenAsItGoes_refusesOneMore() {
        for (int i = 0; i < BlockStates.MAX_REFERENCES; i++) {
            assertThat(states.lease(0)).isTrue();
        }
        assertThat(states.lease(0)).isFalse();
        assertThat(states.lease(0, 1)).isFalse();
        assertThat(states.hardPins(0)).isZero();
    }

    @Test
    void free_twice_isRefusedWithBothStates() {
        states.startEviction(0);
        states.free(0);
        assertThatThrownBy(() -> states.free(0))
                .isInstanceOfSatisfying(
                        MooncakeException.class, e -> assertThat(e.code()).isEqualTo(Code.ILLEGAL_STATE))
                .hasMessageContaining("slot 0: free, 0 references");
        assertThatThrownBy(() -> states.seal(0, 1)).hasMessageContaining("expected: filling");
        assertThatThrownBy(() -> states.release(0)).hasMessageContaining("expected: a reference that is held");
        assertThatThrownBy(() -> states.finishMove(0)).hasMessageContaining("expected: moving");
    }
}
