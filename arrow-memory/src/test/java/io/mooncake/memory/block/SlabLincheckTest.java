// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory.block;

import io.mooncake.base.MooncakeException;
import io.mooncake.memory.BlockLayout;
import io.mooncake.memory.Seeds;
import org.jetbrains.lincheck.datastructures.ModelCheckingOptions;
import org.jetbrains.lincheck.datastructures.Operation;
import org.jetbrains.lincheck.datastructures.StressOptions;
import org.junit.jupiter.api.Test;

/**
 * All calls on one slot, in random scenarios on two and three threads: whatever the interleaving, the answers are those of some order of the
 * calls one after the other (Lincheck). One slot, since which of several free slots a thread gets is its own affair.
 */
public class SlabLincheckTest {
    private static final BlockLayout LAYOUT = new BlockLayout(1, 1, 1, 1, 1);

    private final BlockSlab slab = new BlockSlab(0, 0, BlockDescriptor.strideBytes(LAYOUT), LAYOUT);
    private final BlockStates states = slab.states();

    @Operation
    public int allocate() {
        return slab.allocate();
    }

    @Operation
    public boolean seal() {
        return done(() -> slab.seal(0));
    }

    @Operation
    public boolean lease() {
        return slab.lease(0);
    }

    @Operation
    public String release() {
        try {
            return "last: " + slab.release(0);
        } catch (MooncakeException e) {
            return "refused";
        }
    }

    /** As a token's holder does: by the generation that it had a moment ago. */
    @Operation
    public boolean leaseOfGeneration() {
        return states.lease(0, states.generation(0));
    }

    @Operation
    public String releaseOfGeneration() {
        try {
            BlockStates.Release left = states.release(0, states.generation(0));
            // Of another generation now: there was a moment without references.
            return left == null ? "refused" : "last: " + (left == BlockStates.Release.IDLE);
        } catch (MooncakeException e) {
            return "refused";
        }
    }

    @Operation
    public boolean evict() {
        return slab.startEviction(0);
    }

    @Operation
    public boolean recycle() {
        return done(() -> slab.recycle(0));
    }

    @Operation
    public boolean free() {
        return done(() -> slab.free(0));
    }

    @Operation
    public boolean startMove() {
        return states.startMove(0, states.generation(0));
    }

    @Operation
    public boolean cancelMove() {
        return done(() -> states.cancelMove(0));
    }

    private static boolean done(Runnable transition) {
        try {
            transition.run();
            return true;
        } catch (MooncakeException e) {
            return false;
        }
    }

    @Test
    void calls_modelChecked_areLinearizable() {
        new ModelCheckingOptions()
                .iterations(Seeds.count(4, 100))
                .invocationsPerIteration(Seeds.count(100, 10_000))
                .threads(2)
                .actorsPerThread(4)
                .check(SlabLincheckTest.class);
    }

    @Test
    void calls_underStress_areLinearizable() {
        new StressOptions()
                .iterations(Seeds.count(5, 100))
                .invocationsPerIteration(Seeds.count(200, 10_000))
                .threads(3)
                .actorsPerThread(3)
                .check(SlabLincheckTest.class);
    }
}
