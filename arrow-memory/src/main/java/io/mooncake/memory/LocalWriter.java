// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory;

import io.mooncake.base.Deadline;
import io.mooncake.base.MooncakeException;
import io.mooncake.base.MooncakeException.Code;
import io.mooncake.memory.BlockStore.Published;
import io.mooncake.memory.block.BlockSlab;
import io.mooncake.memory.block.ChainKeys;
import io.mooncake.memory.index.ChainIndex;
import java.util.Arrays;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.BooleanSupplier;
import org.apache.arrow.memory.ArrowBuf;
import org.jspecify.annotations.Nullable;

/** The writer of {@link LocalKvPool}. Slots it holds are in state filling, so nobody else sees them, and go back on close. */
final class LocalWriter implements BlockWriter {
    static final String KIND = "writer";

    /** Instead of a slot: the pool has the block already, and this writer holds it. */
    private static final int THERE = -3;

    private final LocalKvPool pool;
    private final BlockStore store;
    private final TenantAccount account;
    private final int[] tokens;
    private final int blocks;
    private final int firstBlock;
    private final @Nullable PromptChain known;
    private final @Nullable Deadline deadline;
    /** Keys of all blocks from {@code firstBlock} on, made with the first. */
    private BlockKey @Nullable [] chain;

    /** Key of the last published block, or of the prefix. */
    private BlockKey parent;
    /** Index of the first pending block: those before it are published. */
    private int firstPending;

    private int[] pending = new int[4];
    private int pendingCount;
    /** Of the pending blocks: a block that is found by others does not change. */
    private BorrowedViews views = new BorrowedViews(KIND);

    private boolean broken;
    /** Slot of the next block, or THERE; NONE or OVER_QUOTA until there is one, REFUSED for good. */
    private int reserved = BlockSlab.NONE;
    /** Whether memory was asked for the next block. */
    private boolean asked;
    /** Published slots, leased until close: a chain longer than the pool must not evict its own beginning to store its end. */
    private int[] held = new int[4];

    private int heldCount;
    private boolean closed;
    /** Who called last; null when it was taken from one who will not call again. Who closes a writer of another's thread has to be its user before. */
    private final AtomicReference<@Nullable Thread> user = new AtomicReference<>(Thread.currentThread());

    private final BooleanSupplier follows = this::parentIsThere;

    /**
     * @param known keys of a prompt under the same root, which may have other tokens from {@code firstBlock} on; null: none
     * @param deadline until when to wait for room; null: not at all
     */
    LocalWriter(
            LocalKvPool pool,
            String tenant,
            BlockKey parent,
            int firstBlock,
            int[] tokens,
            @Nullable PromptChain known,
            @Nullable Deadline deadline) {
        this.deadline = deadline;
        this.pool = pool;
        this.store = pool.store();
        account = store.accounts.of(tenant);
        this.parent = parent;
        this.firstBlock = firstBlock;
        this.known = known;
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
        if (blockIndex() >= blocks || broken) {
            return false;
        }
        if (reserved == BlockSlab.NONE || reserved == BlockStore.OVER_QUOTA) {
            reserved = reserve();
            asked = true;
        }
        return reserved >= 0 || reserved == THERE;
    }

    @Override
    public WriterStop stop() {
        if (broken) {
            return WriterStop.HOLE;
        }
        if (blockIndex() >= blocks) {
            return WriterStop.COMPLETE;
        }
        return switch (reserved) {
            case BlockStore.REFUSED -> WriterStop.NOT_ADMITTED;
            case BlockStore.OVER_QUOTA -> WriterStop.QUOTA;
            case BlockSlab.NONE -> asked ? WriterStop.NO_MEMORY : WriterStop.NONE;
            default -> WriterStop.NONE;
        };
    }

    /** The policy knows a block by its key, so that is made before there is memory; a writer that waits for memory makes it once. */
    private int reserve() {
        if (pendingCount == pending.length) {
            pending = Arrays.copyOf(pending, 2 * pendingCount);
        }
        BlockKey key = key(blockIndex());
        int there = store.leaseByKey(key);
        if (there != BlockSlab.NONE) {
            // Nothing has to go for it, and the policy is not to judge it again.
            hold(there);
            return THERE;
        }
        return store.allocateFor(key.word0(), account, deadline);
    }

    private BlockKey key(int block) {
        BlockKey[] keys = chain;
        if (keys == null) {
            int blockTokens = store.layout.blockTokens();
            keys = known == null
                    ? new ChainKeys().chain(parent, tokens, firstBlock * blockTokens, blockTokens, blocks - firstBlock)
                    : known.keysOf(tokens, firstBlock, blocks, parent);
            chain = keys;
        }
        return keys[block - firstBlock];
    }

    @Override
    public ArrowBuf next() {
        if (!hasNext()) {
            throw new MooncakeException(
                    Code.ILLEGAL_STATE, "writer: no block " + blockIndex() + " (expected: hasNext() is true)");
        }
        int slot = reserved;
        reserved = BlockSlab.NONE;
        asked = false;
        pending[pendingCount++] = slot;
        long address = slot == THERE ? store.waste() : store.slab.payloadAddress(slot);
        return views.of(address, store.layout.payloadBytes());
    }

    @Override
    public int publish() {
        requireOpen();
        pool.handles().requireOpen();
        views.end();
        views = new BorrowedViews(KIND);
        int published = 0;
        int done = 0;
        try {
            while (done < pendingCount) {
                int slot = pending[done];
                if (slot == THERE) {
                    parent = key(firstPending);
                    published += broken ? 0 : 1;
                } else if (broken) {
                    store.abandon(slot);
                } else {
                    published += publish(slot, key(firstPending));
                }
                done++;
                firstPending++;
            }
        } finally {
            // What is left after a failure goes back with the writer.
            System.arraycopy(pending, done, pending, 0, pendingCount - done);
            pendingCount -= done;
        }
        return published;
    }

    private int publish(int slot, BlockKey key) {
        int offset = firstPending * store.layout.blockTokens();
        Published made = store.publish(slot, store.checksums(slot), key, parent, firstPending, tokens, offset, follows);
        parent = key;
        if (made.slot() == BlockSlab.NONE) {
            // Not stored: what comes behind would have a hole before it.
            broken = true;
            return 0;
        }
        hold(made.slot());
        return 1;
    }

    /** Under the pool's change lock: what was removed meanwhile is followed by nothing. */
    private boolean parentIsThere() {
        return firstPending == 0 || store.index.find(parent) != ChainIndex.ABSENT;
    }

    private void hold(int slot) {
        if (heldCount == held.length) {
            held = Arrays.copyOf(held, 2 * heldCount);
        }
        held[heldCount++] = slot;
    }

    private void requireOpen() {
        if (closed || !use()) {
            throw new MooncakeException(Code.ILLEGAL_STATE, "writer: closed (expected: open)");
        }
    }

    /** Makes the calling thread the one that is asked whether it lives; false when the writer was reclaimed. */
    private boolean use() {
        Thread me = Thread.currentThread();
        Thread was = user.get();
        return was == me || was != null && user.compareAndSet(was, me);
    }

    /** Who called last; null when it was reclaimed. */
    @Nullable
    Thread user() {
        return user.get();
    }

    /** Closes it in place of {@code ended}, a thread that lives no more; false when another one has called since. */
    boolean reclaim(Thread ended) {
        boolean taken = user.compareAndSet(ended, null);
        if (taken) {
            end();
        }
        return taken;
    }

    @Override
    public void close() {
        if (use()) {
            end();
        }
    }

    private void end() {
        if (!closed) {
            closed = true;
            pool.writers().remove(this);
            views.end();
            for (int i = 0; i < pendingCount; i++) {
                if (pending[i] != THERE) {
                    store.abandon(pending[i]);
                }
            }
            if (reserved >= 0) {
                store.abandon(reserved);
            }
            for (int i = 0; i < heldCount; i++) {
                store.release(held[i]);
            }
            pool.handles().close(this);
        }
    }
}
