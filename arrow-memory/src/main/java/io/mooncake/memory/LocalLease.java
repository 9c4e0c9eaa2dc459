// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory;

import io.mooncake.base.MooncakeException;
import io.mooncake.base.MooncakeException.Code;
import io.mooncake.memory.policy.Request;
import java.util.concurrent.atomic.AtomicBoolean;
import org.apache.arrow.memory.ArrowBuf;
import org.jspecify.annotations.Nullable;

/** The lease of {@link LocalKvPool}: one reference on each of its slots until closed. */
final class LocalLease implements PrefixLease {
    static final String KIND = "lease";

    private final LocalKvPool pool;
    private final BlockStore store;
    private final BlockKey root;
    private final int[] slots;
    private final @Nullable Request request;
    private final @Nullable PromptChain chain;
    private final BlockKey lastWholeKey;
    private final int matchedTokens;
    private final int localTokens;
    private final MissReason missReason;
    private final BorrowedViews views = new BorrowedViews(KIND);
    private final AtomicBoolean closed = new AtomicBoolean();

    /**
     * Takes over one reference on each slot, and one open handle.
     *
     * @param request what the policy was told of it; null: nothing
     * @param chain keys of the prompt that were made for it; null: none
     */
    LocalLease(
            LocalKvPool pool,
            BlockKey root,
            int[] slots,
            @Nullable Request request,
            @Nullable PromptChain chain,
            BlockKey lastWholeKey,
            int matchedTokens,
            int localTokens,
            MissReason missReason) {
        this.pool = pool;
        this.store = pool.store();
        this.root = root;
        this.slots = slots;
        this.request = request;
        this.chain = chain;
        this.lastWholeKey = lastWholeKey;
        this.matchedTokens = matchedTokens;
        this.localTokens = localTokens;
        this.missReason = missReason;
    }

    @Override
    public int matchedTokens() {
        return matchedTokens;
    }

    @Override
    public int localTokens() {
        return localTokens;
    }

    @Override
    public int remoteTokens() {
        return matchedTokens - localTokens;
    }

    @Override
    public MissReason missReason() {
        return missReason;
    }

    @Override
    public int blockCount() {
        return slots.length;
    }

    @Override
    public ArrowBuf block(int index) {
        requireOpen();
        checkIndex(index);
        return views.of(store.slab.payloadAddress(slots[index]), store.layout.payloadBytes())
                .writerIndex(store.layout.payloadBytes());
    }

    @Override
    public int blockTokens(int index) {
        checkIndex(index);
        int blockTokens = store.layout.blockTokens();
        return Math.min(blockTokens, matchedTokens - index * blockTokens);
    }

    @Override
    public void answered(int outputTokens) {
        if (outputTokens < 0) {
            throw MooncakeException.invalid("outputTokens", outputTokens, "at least 0");
        }
        if (request != null) {
            store.announce(request.afterEnd(outputTokens));
        }
    }

    private void checkIndex(int index) {
        if (index < 0 || index >= slots.length) {
            throw MooncakeException.invalid("block index", index, "0.." + (slots.length - 1));
        }
    }

    void requireOpen() {
        if (closed.get()) {
            throw new MooncakeException(Code.ILLEGAL_STATE, "lease: closed (expected: open)");
        }
    }

    LocalKvPool pool() {
        return pool;
    }

    BlockKey root() {
        return root;
    }

    @Nullable
    PromptChain chain() {
        return chain;
    }

    int wholeBlocks() {
        return matchedTokens / store.layout.blockTokens();
    }

    BlockKey lastWholeKey() {
        return lastWholeKey;
    }

    int slot(int index) {
        return slots[index];
    }

    @Override
    public void close() {
        if (closed.compareAndSet(false, true)) {
            views.end();
            long now = store.nanoClock.getAsLong();
            for (int slot : slots) {
                store.leaseEnded(slot, now);
                store.release(slot);
            }
            pool.handles().close(this);
        }
    }
}
