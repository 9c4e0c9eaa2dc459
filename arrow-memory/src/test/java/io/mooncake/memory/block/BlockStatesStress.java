// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory.block;

import static org.openjdk.jcstress.annotations.Expect.ACCEPTABLE;
import static org.openjdk.jcstress.annotations.Expect.FORBIDDEN;

import io.mooncake.memory.BlockLayout;
import io.mooncake.memory.block.BlockStates.Release;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.II_Result;
import org.openjdk.jcstress.infra.results.ZZ_Result;

/** The transitions of a slot under jcstress, each with what must never be seen. {@code BlockStatesStressTest} runs them. */
public final class BlockStatesStress {
    private BlockStatesStress() {}

    /** One slot, sealed, of generation 1, with {@code references}. */
    static BlockStates sealed(int references) {
        BlockStates states = new BlockStates(1);
        states.appear(0);
        states.tryFill(0);
        states.seal(0, references);
        return states;
    }

    @JCStressTest
    @Outcome(id = "true, false", expect = ACCEPTABLE, desc = "leased, stays")
    @Outcome(id = "false, true", expect = ACCEPTABLE, desc = "goes, not leased")
    @Outcome(id = "true, true", expect = FORBIDDEN, desc = "leased while it goes")
    @Outcome(expect = FORBIDDEN)
    @State
    public static class LeaseOrEvict {
        private final BlockStates states = sealed(0);

        @Actor
        public void reader(ZZ_Result r) {
            r.r1 = states.lease(0, 1);
        }

        @Actor
        public void evictor(ZZ_Result r) {
            r.r2 = states.startEviction(0);
        }
    }

    @JCStressTest
    @Outcome(id = "true, false", expect = ACCEPTABLE, desc = "pinned, stays")
    @Outcome(id = "false, true", expect = ACCEPTABLE, desc = "moves, not pinned")
    @Outcome(id = "true, true", expect = FORBIDDEN, desc = "pinned while it moves")
    @Outcome(expect = FORBIDDEN)
    @State
    public static class PinOrMove {
        private final BlockStates states = sealed(0);

        @Actor
        public void owner(ZZ_Result r) {
            r.r1 = states.pin(0, 1);
        }

        @Actor
        public void mover(ZZ_Result r) {
            r.r2 = states.startMove(0, 1);
        }
    }

    @JCStressTest
    @Outcome(id = "true, false", expect = ACCEPTABLE, desc = "the pin was extended in time")
    @Outcome(id = "false, true", expect = ACCEPTABLE, desc = "gone before")
    @Outcome(id = "true, true", expect = FORBIDDEN, desc = "evicted in spite of an extended pin")
    @Outcome(expect = FORBIDDEN)
    @State
    public static class ExtendSoftPinOrEvict {
        private final BlockStates states = sealed(1);

        public ExtendSoftPinOrEvict() {
            states.softPin(0, 50);
            states.release(0);
        }

        @Actor
        public void owner(ZZ_Result r) {
            if (states.lease(0, 1)) {
                r.r1 = states.softPin(0, 200);
                states.release(0);
            }
        }

        @Actor
        public void evictor(ZZ_Result r) {
            r.r2 = states.startEviction(0, 100);
        }
    }

    @JCStressTest
    @Outcome(id = "true, false", expect = ACCEPTABLE, desc = "the reader holds the old place and frees it later")
    @Outcome(id = "false, true", expect = ACCEPTABLE, desc = "the mover frees it, the reader looks again")
    @Outcome(id = "true, true", expect = FORBIDDEN, desc = "freed under a reader")
    @Outcome(id = "false, false", expect = FORBIDDEN, desc = "freed by nobody")
    @State
    public static class LeaseOrFinishMove {
        private final BlockStates states = sealed(0);

        public LeaseOrFinishMove() {
            states.startMove(0, 1);
        }

        @Actor
        public void reader(ZZ_Result r) {
            r.r1 = states.lease(0, 1);
        }

        @Actor
        public void mover(ZZ_Result r) {
            r.r2 = states.finishMove(0) == Release.DRAINED;
        }
    }

    /** A reader leaves while the mover finishes, who reads too: one of them frees the place, whoever is last. */
    @JCStressTest
    @Outcome(id = "1, 0", expect = ACCEPTABLE, desc = "freed once")
    @Outcome(expect = FORBIDDEN, desc = "freed by nobody, or twice")
    @State
    public static class DrainOnce {
        private final BlockStates states = sealed(2);
        private int drainedByReader;
        private int drainedByMover;

        public DrainOnce() {
            states.startMove(0, 1);
        }

        @Actor
        public void reader() {
            drainedByReader = states.release(0, 1) == Release.DRAINED ? 1 : 0;
        }

        @Actor
        public void mover() {
            int drained = states.finishMove(0) == Release.DRAINED ? 1 : 0;
            drainedByMover = drained + (states.release(0) == Release.DRAINED ? 1 : 0);
        }

        @Arbiter
        public void count(II_Result r) {
            r.r1 = drainedByReader + drainedByMover;
            r.r2 = states.references(0);
        }
    }

    /** The bytes of a block, here two ints, are copied from slot 0 to slot 1; the old ones are overwritten as soon as they may be. */
    @JCStressTest
    @Outcome(id = "7, 7", expect = ACCEPTABLE, desc = "the block's bytes")
    @Outcome(expect = FORBIDDEN, desc = "other bytes, or torn ones")
    @State
    public static class ReadDuringMove {
        private final BlockStates states = new BlockStates(2);
        private final int[] low = new int[2];
        private final int[] high = new int[2];
        private volatile int place;

        public ReadDuringMove() {
            states.appear(0);
            states.appear(1);
            states.tryFill(0);
            low[0] = 7;
            high[0] = 7;
            states.seal(0, 0);
            states.tryFill(1);
        }

        @Actor
        public void reader(II_Result r) {
            int at;
            do {
                at = place;
            } while (!states.lease(at, 1));
            r.r1 = low[at];
            r.r2 = high[at];
            if (states.release(at) == Release.DRAINED) {
                reuse(at);
            }
        }

        @Actor
        public void mover() {
            states.startMove(0, 1);
            low[1] = low[0];
            high[1] = high[0];
            states.seal(1, 0);
            place = 1;
            if (states.finishMove(0) == Release.DRAINED) {
                reuse(0);
            }
        }

        private void reuse(int slot) {
            states.recycle(slot);
            low[slot] = -1;
            high[slot] = -1;
        }
    }

    /** A writer seals a slot that a reader waits for. */
    @JCStressTest
    @Outcome(id = "0, 0", expect = ACCEPTABLE, desc = "not sealed yet")
    @Outcome(id = "7, 7", expect = ACCEPTABLE, desc = "what was written before it was sealed")
    @Outcome(expect = FORBIDDEN, desc = "sealed, but not written")
    @State
    public static class SealPublishes {
        private final BlockStates states = new BlockStates(1);
        private int low;
        private int high;

        public SealPublishes() {
            states.appear(0);
            states.tryFill(0);
        }

        @Actor
        public void writer() {
            low = 7;
            high = 7;
            states.seal(0, 0);
        }

        @Actor
        public void reader(II_Result r) {
            if (states.lease(0, 1)) {
                r.r1 = low;
                r.r2 = high;
            }
        }
    }

    /** One opens the block for writing, one reads it. */
    @JCStressTest
    @Outcome(id = "true, false", expect = ACCEPTABLE, desc = "read lock")
    @Outcome(id = "false, true", expect = ACCEPTABLE, desc = "write lock")
    @Outcome(expect = FORBIDDEN, desc = "both, or neither")
    @State
    public static class LeaseOrReopen {
        private final BlockStates states = sealed(0);

        @Actor
        public void reader(ZZ_Result r) {
            r.r1 = states.lease(0, 1);
        }

        @Actor
        public void writer(ZZ_Result r) {
            r.r2 = states.reopen(0, 1, 0);
        }
    }

    /** A soft pin is set, and its lease ended, while somebody opens the block for writing. */
    @JCStressTest
    @Outcome(id = "true, false", expect = ACCEPTABLE, desc = "pinned, not opened")
    @Outcome(id = "false, true", expect = ACCEPTABLE, desc = "opened before")
    @Outcome(id = "true, true", expect = FORBIDDEN, desc = "opened in spite of the pin")
    @Outcome(expect = FORBIDDEN)
    @State
    public static class SoftPinOrReopen {
        private final BlockStates states = sealed(1);

        public SoftPinOrReopen() {
            states.softPin(0, 50);
            states.release(0);
        }

        @Actor
        public void owner(ZZ_Result r) {
            if (states.lease(0, 1)) {
                r.r1 = states.softPin(0, 200);
                states.release(0);
            }
        }

        @Actor
        public void writer(ZZ_Result r) {
            r.r2 = states.reopen(0, 1, 100);
        }
    }

    /** A slot is freed while another thread searches: it gets the slot, or it is there afterwards; it is never lost and never given twice. */
    @JCStressTest
    @Outcome(id = "0, -1", expect = ACCEPTABLE, desc = "found by the search")
    @Outcome(id = "-1, 0", expect = ACCEPTABLE, desc = "found after it")
    @Outcome(id = "-1, -1", expect = FORBIDDEN, desc = "lost")
    @Outcome(id = "0, 0", expect = FORBIDDEN, desc = "given twice")
    @State
    public static class FreeOrAllocate {
        private static final BlockLayout LAYOUT = new BlockLayout(1, 1, 1, 1, 1);
        private final BlockSlab slab = new BlockSlab(0, 0, BlockDescriptor.strideBytes(LAYOUT), LAYOUT);

        public FreeOrAllocate() {
            slab.allocate();
        }

        @Actor
        public void holder() {
            slab.free(0);
        }

        @Actor
        public void taker(II_Result r) {
            r.r1 = slab.allocate();
        }

        @Arbiter
        public void later(II_Result r) {
            r.r2 = slab.allocate();
        }
    }
}
