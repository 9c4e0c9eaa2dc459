// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory;

import io.mooncake.base.MooncakeException;
import io.mooncake.base.MooncakeException.Code;
import io.mooncake.memory.block.BlockSlab;
import io.mooncake.memory.block.ChainKeys;
import io.mooncake.memory.index.PrefixIndex.Insert;
import java.util.Arrays;
import org.apache.arrow.memory.ArrowBuf;

/** The writer of {@link LocalKvPool}. Slots it holds are in state filling, so nobody else sees them, and go back on close. */
final class LocalWriter implements BlockWriter {
    static final String KIND = "writer";

    private final LocalKvPool pool;
    private final BlockStore store;
    private final String tenant;
    private final int[] tokens;
    private final int blocks;
    private final ChainKeys keys = new ChainKeys();
    private BlockKey parent;
    /** Index of the first pending block: those before it are published. */
    private int firstPending;

    private int[] pending = new int[4];
    private int pendingCount;
    private int reserved = BlockSlab.NONE;
    /** Published slots, leased until close: a chain longer than the pool must not evict its own beginning to store its end. */
    private int[] held = new int[4];

    private int heldCount;
    private boolean closed;

    LocalWriter(LocalKvPool pool, String tenant, BlockKey parent, int firstBlock, int[] tokens) {
        this.pool = pool;
        this.store = pool.store();
        this.tenant = tenant;
        this.parent = parent;
        this.firstPending = firstBlock;
        this.blocks = tokens.length / store.layout.blockTokens();
        // A copy: keys are made from it at publish, and a caller may reuse its array.
        this.tokens = Arrays.copyOf(tokens, blocks * store.layout.blockTokens());
    }

    @Override
    public int blockIndex() {
        return firstPending + pendingCount;
    }

    @Override
    public boolean hasNext() {
        requireOpen();
        if (blockIndex() >= blocks) {
            return false;
        }
        if (reserved == BlockSlab.NONE) {
            reserved = store.allocate();
        }
        return reserved != BlockSlab.NONE;
    }

    @Override
    public ArrowBuf next() {
        if (!hasNext()) {
            throw new MooncakeException(
                    Code.ILLEGAL_STATE, "writer: no block " + blockIndex() + " (expected: hasNext() is true)");
        }
        if (pendingCount == pending.length) {
            pending = Arrays.copyOf(pending, 2 * pendingCount);
        }
        int slot = reserved;
        reserved = BlockSlab.NONE;
        pending[pendingCount++] = slot;
        return ArrowViews.of(store.slab.payloadAddress(slot), store.layout.payloadBytes());
    }

    @Override
    public int publish() {
        requireOpen();
        pool.handles().requireOpen();
        int blockTokens = store.layout.blockTokens();
        int published = 0;
        int count = pendingCount;
        pendingCount = 0;
        for (int i = 0; i < count; i++, firstPending++) {
            int offset = firstPending * blockTokens;
            BlockKey key = keys.next(parent, tokens, offset, blockTokens);
            int slot = pending[i];
            Insert outcome =
                    store.publish(slot, store.checksums(slot), key, parent, firstPending, tokens, offset, tenant);
            switch (outcome) {
                case ADDED -> {
                    hold(slot);
                    published++;
                }
                case EXISTS -> {
                    hold(store.leaseByKey(key));
                    published++;
                }
                case FULL, CONFLICT -> {} // not stored; those behind it wait for it as orphans
            }
            parent = key;
        }
        return published;
    }

    private void hold(int slot) {
        if (slot != BlockSlab.NONE) {
            if (heldCount == held.length) {
                held = Arrays.copyOf(held, 2 * heldCount);
            }
            held[heldCount++] = slot;
        }
    }

    private void requireOpen() {
        if (closed) {
            throw new MooncakeException(Code.ILLEGAL_STATE, "writer: closed (expected: open)");
        }
    }

    @Override
    public void close() {
        if (!closed) {
            closed = true;
            for (int i = 0; i < pendingCount; i++) {
                store.abandon(pending[i]);
            }
            if (reserved != BlockSlab.NONE) {
                store.abandon(reserved);
            }
            for (int i = 0; i < heldCount; i++) {
                store.release(held[i]);
            }
            pool.handles().close(this);
        }
    }
}
