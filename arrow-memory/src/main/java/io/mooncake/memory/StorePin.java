// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory;

import io.mooncake.memory.block.BlockDescriptor;
import java.nio.ByteBuffer;
import java.util.concurrent.atomic.AtomicBoolean;

/** The pin of {@link LocalKvPool}: one reference on its slot until closed. */
final class StorePin implements PinnedBlock {
    static final String KIND = "pin";

    private final LocalKvPool pool;
    private final BlockStore store;
    private final int slot;
    private final BlockKey key;
    private final BlockKey parent;
    private final int depth;
    private final long generation;
    private final int[] layerChecksums;
    private final int[] tokens;
    private final AtomicBoolean closed = new AtomicBoolean();

    /** Takes over one reference on {@code slot}. */
    StorePin(LocalKvPool pool, int slot) {
        this.pool = pool;
        this.store = pool.store();
        this.slot = slot;
        ByteBuffer header = store.header(slot);
        key = BlockDescriptor.key(header);
        parent = BlockDescriptor.parent(header);
        depth = BlockDescriptor.depth(header);
        generation = store.slab.generation(slot);
        layerChecksums = BlockDescriptor.layerCrcs(header, store.layout);
        tokens = BlockDescriptor.tokens(header, store.layout);
        store.pinned(slot, 1);
    }

    @Override
    public BlockKey key() {
        return key;
    }

    @Override
    public BlockKey parent() {
        return parent;
    }

    @Override
    public int depth() {
        return depth;
    }

    @Override
    public long generation() {
        return generation;
    }

    @Override
    public long offset() {
        return store.slab.payloadOffset(slot);
    }

    @Override
    public int length() {
        return store.layout.payloadBytes();
    }

    @Override
    public long address() {
        return store.slab.payloadAddress(slot);
    }

    @Override
    public int[] layerChecksums() {
        return layerChecksums.clone();
    }

    @Override
    public int[] tokens() {
        return tokens.clone();
    }

    int slot() {
        return slot;
    }

    boolean open() {
        return !closed.get();
    }

    @Override
    public void close() {
        if (closed.compareAndSet(false, true)) {
            store.pinned(slot, -1);
            store.release(slot);
            pool.handles().close(this);
        }
    }
}
