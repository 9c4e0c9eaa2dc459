// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory;

import io.mooncake.base.MooncakeException;
import io.mooncake.base.MooncakeException.Code;
import io.mooncake.memory.block.BlockDescriptor;
import io.mooncake.memory.block.BlockSlab;
import io.mooncake.memory.index.IndexMatch;
import io.mooncake.memory.policy.Request;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The match of {@link LocalKvPool}. Invariant: each of {@code slots[0..whole)} is leased once, and so is {@code partialSlot} when there is
 * one.
 */
final class StoreMatch implements LocalMatch {
    static final String KIND = "match";

    private final LocalKvPool pool;
    private final BlockStore store;
    private final BlockKey root;
    private final int[] tokens;
    private final RequestHints hints;
    private final int reusable;
    private final IndexMatch found = new IndexMatch();
    private int[] slots = new int[16];
    /** Keys from the block on that was the first to be missing; made for who asks. */
    private @Nullable PromptChain rest;

    /** What the policy was told, and when; null: nothing. */
    private @Nullable Request request;

    private long begunNanos;
    private boolean begun;
    private int whole;
    private BlockKey lastKey;
    private int partialSlot = BlockSlab.NONE;
    private int partialTokens;
    private boolean ended;

    StoreMatch(LocalKvPool pool, BlockKey root, int[] tokens, RequestHints hints) {
        this.pool = pool;
        this.store = pool.store();
        this.root = root;
        this.tokens = tokens;
        this.hints = hints;
        this.reusable = pool.reusableTokens(tokens.length);
        this.lastKey = root;
    }

    @Override
    public int matchedTokens() {
        return whole * store.layout.blockTokens() + partialTokens;
    }

    @Override
    public int reusableTokens() {
        return reusable;
    }

    @Override
    public int wholeBlocks() {
        return whole;
    }

    @Override
    public BlockKey lastKey() {
        return lastKey;
    }

    @Override
    public void extendLocally() {
        requireOpen();
        int from = whole * store.layout.blockTokens();
        boolean partial = pool.identity().mode() == ReuseMode.FAST;
        store.index.match(lastKey, tokens, from, reusable, partial, found);
        for (int i = 0; i < found.blocks(); i++) {
            BlockKey key = found.key(i);
            int slot = (int) found.value(i);
            if (!store.lease(slot, key)) {
                return; // it went in between: the match ends here
            }
            addWhole(slot, key);
        }
        int slot = found.partialTokens() > partialTokens ? (int) found.value(found.blocks()) : BlockSlab.NONE;
        if (slot != BlockSlab.NONE && store.lease(slot, found.key(found.blocks()))) {
            dropPartial();
            partialSlot = slot;
            partialTokens = found.partialTokens();
        }
    }

    /**
     * The look-up is of a request: tells the policy, where it learns from requests. After the first {@link #extendLocally}, and before anything is
     * brought for it: what is stored then is the request's own, and no return to it.
     */
    void begin() {
        begun = true;
        begunNanos = store.nanoClock.getAsLong();
        if (store.policy().learns()) {
            // A prompt longer than the pool can't be kept whole, and its end needs no name.
            int blocks = (tokens.length - 1) / store.layout.blockTokens() + 1;
            long[] names = new long[Math.min(blocks, store.slab.slots())];
            for (int i = 0; i < Math.min(whole, names.length); i++) {
                names[i] = found.key(i).word0();
            }
            if (whole < names.length) {
                rest().names(names);
            }
            Request begins = Request.of(names).withPromptTokens(tokens.length).withTurn(hints.turn());
            request = begins.withBlockCost(hints.blockCost());
            store.announce(request);
        }
    }

    private PromptChain rest() {
        PromptChain chain = rest;
        if (chain == null) {
            chain = new PromptChain(lastKey, whole, tokens, store.layout.blockTokens());
            rest = chain;
        }
        return chain;
    }

    @Override
    public List<BlockKey> chain() {
        requireOpen();
        PromptChain chain = rest();
        List<BlockKey> keys = new ArrayList<>(tokens.length / store.layout.blockTokens());
        for (int i = 0; i < chain.first(); i++) {
            keys.add(BlockDescriptor.key(store.header(slots[i])));
        }
        keys.addAll(chain.all());
        return keys;
    }

    private void addWhole(int slot, BlockKey key) {
        dropPartial();
        if (whole == slots.length) {
            slots = Arrays.copyOf(slots, 2 * whole);
        }
        slots[whole++] = slot;
        lastKey = key;
    }

    private void dropPartial() {
        if (partialSlot != BlockSlab.NONE) {
            store.release(partialSlot);
            partialSlot = BlockSlab.NONE;
            partialTokens = 0;
        }
    }

    @Override
    public PrefixLease toLease(int localTokens, MissReason reason) {
        requireOpen();
        if (!begun) {
            throw new MooncakeException(Code.ILLEGAL_STATE, "match: of no request (expected: one of a look-up)");
        }
        int matched = matchedTokens();
        if (localTokens < 0 || localTokens > matched) {
            throw MooncakeException.invalid("localTokens", localTokens, "0.." + matched);
        }
        ended = true;
        int blocks = partialSlot == BlockSlab.NONE ? whole : whole + 1;
        int[] held = Arrays.copyOf(slots, blocks);
        if (blocks > whole) {
            held[whole] = partialSlot;
        }
        for (int slot : held) {
            store.hit(slot, begunNanos); // a later time would be another use, and what was fetched would return at once
        }
        MissReason counted = complete() ? MissReason.NONE : reason;
        pool.countLookup(tokens.length, localTokens, matched - localTokens, counted);
        LocalLease lease = new LocalLease(pool, root, held, request, rest, lastKey, matched, localTokens, counted);
        pool.handles().move(this, lease, LocalLease.KIND);
        return lease;
    }

    private void requireOpen() {
        if (ended) {
            throw new MooncakeException(Code.ILLEGAL_STATE, "match: ended (expected: open)");
        }
    }

    @Override
    public void close() {
        if (!ended) {
            ended = true;
            dropPartial();
            for (int i = 0; i < whole; i++) {
                store.release(slots[i]);
            }
            pool.handles().close(this);
        }
    }
}
