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

    @Test
    void leaseAndRelease_ofGeneration_countAsThoseWithout() {
        assertThat(states.lease(0, 2)).as("of another generation").isFalse();
        for (int held = 0; held < 3; held++) {
            assertThat(states.references(0)).isEqualTo(held);
            assertThat(states.lease(0, 1)).isTrue();
        }
        assertThat(states.pin(0, 1)).isTrue();
        assertThat(states.release(0, 2)).as("of another generation").isNull();
        assertThat(states.release(0, 1)).isEqualTo(Release.HELD);
        assertThat(states.release(0, 1)).isEqualTo(Release.HELD);
        assertThat(states.release(0, 1)).as("pinned, not held").isEqualTo(Release.IDLE);
        assertThatThrownBy(() -> states.release(0, 1))
                .hasMessage(
                        "slot 0: sealed, 0 references, 1 hard pins, generation 1 (expected: a reference that is held)");
        assertThat(states.lease(0, 1)).as("pinned").isTrue();
        states.release(0, 1);
        states.unpin(0);
        states.lease(0, 1);
        states.startMove(0, 1);
        assertThat(states.lease(0, 1)).as("moving").isTrue();
        assertThat(states.release(0, 1)).isEqualTo(Release.HELD);
        states.finishMove(0);
        assertThat(states.lease(0, 1)).as("evicting").isFalse();
        assertThat(states.release(0, 1)).isEqualTo(Release.DRAINED);
        assertThat(states.free(0)).isEqualTo(2);
        assertThat(states.lease(0, 1)).as("freed").isFalse();
        assertThat(states.release(0, 1)).isNull();
    }

    @Test
    void lease_ofGeneration_isRefusedAtTheMost() {
        for (int i = 0; i < BlockStates.MAX_REFERENCES; i++) {
            assertThat(states.lease(0, 1)).isTrue();
        }
        assertThat(states.lease(0, 1)).isFalse();
        assertThat(states.references(0)).isEqualTo(BlockStates.MAX_REFERENCES);
        assertThat(states.release(0, 1)).isEqualTo(Release.HELD);
    }

    @Test
    void tryFill_anyGuess_fillsWhatIsFree() {
        assertThat(states.tryFill(0, 1)).as("sealed").isEqualTo(BlockStates.NOT_FREE);
        states.startEviction(0);
        assertThat(states.free(0)).isEqualTo(2);
        for (long guess : new long[] {0, 1, 2, 3, -1L >>> 24}) {
            long generation = states.generation(0);
            assertThat(states.tryFill(0, guess)).as("guess %d", guess).isEqualTo(generation);
            assertThat(states.tryFill(0, generation)).as("filling").isEqualTo(BlockStates.NOT_FREE);
            assertThat(states.freeFilling(0, generation + 1, false))
                    .as("another generation")
                    .isFalse();
            assertThat(states.freeFilling(0, generation, false)).isTrue();
        }
    }

    @Test
    void freeFilling_carriedSoftPin_goesWithTheBlock() {
        BlockStates other = BlockStatesStress.sealed(1);
        other.softPin(0, 1_000_001);
        states.startEviction(0);
        states.free(0);
        states.tryFill(0);
        states.carrySoftPin(other, 0, 0);
        assertThat(states.isSoftPinned(0, 0)).isTrue();
        assertThat(states.freeFilling(0, 1, false)).as("another's").isFalse();
        assertThat(states.isSoftPinned(0, 0)).as("another's").isTrue();
        assertThat(states.freeFilling(0, 2, false)).isTrue();
        assertThat(states.isSoftPinned(0, 0)).isFalse();
    }
}
