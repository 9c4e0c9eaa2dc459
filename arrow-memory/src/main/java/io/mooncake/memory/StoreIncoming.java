// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory;

import io.mooncake.base.MooncakeException;
import io.mooncake.base.MooncakeException.Code;
import io.mooncake.memory.BlockStore.Published;
import io.mooncake.memory.block.BlockSlab;
import io.mooncake.memory.block.ChainKeys;
import java.util.Arrays;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/** The incoming block of {@link LocalKvPool}: a slot in state filling until commit, a reference on the key's block until close. */
final class StoreIncoming implements IncomingBlock {
    static final String KIND = "incoming block";

    private enum State {
        FILLING,
        LEASED,
        EMPTY,
        CLOSED
    }

    private final LocalKvPool pool;
    private final BlockStore store;
    private final BlockKey key;
    private final BlockKey parent;
    private final int depth;
    private final int[] tokens;
    private final long address;
    private final long offset;
    private final BooleanSupplier wanted;
    private int slot;
    private State state = State.FILLING;

    /** @param wanted asked under the pool's change lock when it is to be stored */
    StoreIncoming(
            LocalKvPool pool,
            int slot,
            BlockKey key,
            BlockKey parent,
            int depth,
            int[] tokens,
            BooleanSupplier wanted) {
        this.pool = pool;
        this.store = pool.store();
        this.slot = slot;
        this.key = key;
        this.parent = parent;
        this.depth = depth;
        this.tokens = tokens.clone();
        this.wanted = wanted;
        this.address = store.slab.payloadAddress(slot);
        this.offset = store.slab.payloadOffset(slot);
    }

    @Override
    public BlockKey key() {
        return key;
    }

    @Override
    public long address() {
        return address;
    }

    @Override
    public int length() {
        return store.layout.payloadBytes();
    }

    @Override
    public long offset() {
        return offset;
    }

    @Override
    public Outcome commit(int[] layerChecksums) {
        return publish(layerChecksums);
    }

    @Override
    public Outcome seal() {
        return publish(null);
    }

    private Outcome publish(int @Nullable [] layerChecksums) {
        if (state != State.FILLING) {
            throw new MooncakeException(Code.ILLEGAL_STATE, "incoming block: " + state + " (expected: FILLING)");
        }
        int blockTokens = store.layout.blockTokens();
        if (pool.checks().identity()
                && !new ChainKeys().next(parent, tokens, 0, blockTokens).equals(key)) {
            return dropAs(Outcome.WRONG_IDENTITY);
        }
        int[] crcs = store.checksums(slot);
        if (layerChecksums != null && pool.checks().checksums() && !Arrays.equals(crcs, layerChecksums)) {
            return dropAs(Outcome.WRONG_CHECKSUM);
        }
        Published made = store.publish(slot, crcs, key, parent, depth, tokens, 0, wanted);
        return switch (made.outcome()) {
            case ADDED -> {
                state = State.LEASED;
                yield Outcome.STORED;
            }
            case EXISTS -> {
                slot = made.slot();
                state = slot == BlockSlab.NONE ? State.EMPTY : State.LEASED;
                yield Outcome.KEPT_EXISTING;
            }
            case CONFLICT -> {
                state = State.EMPTY;
                yield Outcome.WRONG_IDENTITY;
            }
            case FULL -> {
                state = State.EMPTY;
                yield Outcome.INDEX_FULL;
            }
        };
    }

    private Outcome dropAs(Outcome outcome) {
        store.abandon(slot);
        state = State.EMPTY;
        return outcome;
    }

    @Override
    public void abandon() {
        close();
    }

    @Override
    public void close() {
        State was = state;
        if (was != State.CLOSED) {
            state = State.CLOSED;
            if (was == State.FILLING) {
                store.abandon(slot);
            } else if (was == State.LEASED) {
                store.release(slot);
            }
            pool.handles().close(this);
        }
    }
}
