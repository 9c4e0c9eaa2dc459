// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory;

import io.mooncake.memory.block.BlockDescriptor;
import io.mooncake.memory.ssd.SsdOutcome;
import io.mooncake.memory.ssd.SsdTicket;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.concurrent.atomic.AtomicReference;

/**
 * One record on its way from the SSD into a slot of the pool. The slot belongs to the device until the read is over, however late that is:
 * whoever gives up before leaves it to the read to give the slot back.
 *
 * <p>Ownership: the caller owes one of {@link #take} and {@link #giveUp}. Threading: one caller, and the store's thread in {@link #done}.
 */
final class TierLoad extends SsdTicket {
    private static final String KIND = "read from the SSD";

    private enum State {
        /** The device may write into the slot. */
        READING,
        /** It does not any more. */
        OVER,
        /** The slot goes back when the read is over, or has gone. */
        LEFT,
        /** The slot is a block's by now. */
        TAKEN
    }

    private final LocalKvPool pool;
    private final int slot;
    private final AtomicReference<State> state = new AtomicReference<>(State.READING);

    /** Takes over {@code slot}, which is being filled. */
    TierLoad(LocalKvPool pool, int slot) {
        this.pool = pool;
        this.slot = slot;
        pool.handles().open(this, KIND);
    }

    /** Where the record goes: header and payload. */
    long recordAddress() {
        return pool.store().slab.headerAddress(slot);
    }

    @Override
    protected void done(SsdOutcome how) {
        if (!state.compareAndSet(State.READING, State.OVER) && state.get() == State.LEFT) {
            giveBack();
        }
    }

    /** Ends it without the block. */
    void giveUp() {
        if (!state.compareAndSet(State.READING, State.LEFT)) {
            state.set(State.LEFT);
            giveBack();
        }
    }

    private void giveBack() {
        pool.store().abandon(slot);
        pool.handles().close(this);
    }

    /**
     * Turns what was loaded into a block of the pool, if it is the block {@code key}: header, identity and the checksum of each layer are
     * verified again. Only after the outcome LOADED. It is not stored, whatever is answered, when {@code transit} was removed meanwhile.
     *
     * @param arrived gets what the caller owes a close, and by which the block stays
     */
    IncomingBlock.Outcome take(BlockKey key, TierTransits.Transit transit, List<IncomingBlock> arrived) {
        BlockStore store = pool.store();
        ByteBuffer header = store.header(slot);
        if (BlockDescriptor.problem(header, store.layout) != null
                || !BlockDescriptor.key(header).equals(key)) {
            giveUp();
            return IncomingBlock.Outcome.WRONG_IDENTITY;
        }
        StoreIncoming incoming = new StoreIncoming(
                pool,
                slot,
                key,
                BlockDescriptor.parent(header),
                BlockDescriptor.depth(header),
                BlockDescriptor.tokens(header, store.layout),
                () -> !transit.removed());
        state.set(State.TAKEN);
        pool.handles().move(this, incoming, StoreIncoming.KIND);
        arrived.add(incoming);
        return incoming.commit(BlockDescriptor.layerCrcs(header, store.layout));
    }
}
