// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory;

import io.mooncake.base.MooncakeException;
import io.mooncake.base.MooncakeException.Code;
import io.mooncake.memory.block.BlockSlab;
import io.mooncake.memory.index.ChainIndex;
import io.mooncake.memory.index.PrefixMatch;
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
    private final PrefixMatch found = new PrefixMatch();
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
        store.index.match(root, tokens, reusable, found);
        int blocks = found.blocks();
        if (leaseWhole(blocks) && pool.identity().mode() == ReuseMode.FAST) {
            int part = found.partialTokens();
            if (part > partialTokens && store.lease(found.id(blocks))) {
                dropPartial();
                partialSlot = ChainIndex.slot(found.id(blocks));
                partialTokens = part;
            }
        }
    }

    /** Leases what is found up to {@code blocks}; false when one went in between: the match ends there. */
    private boolean leaseWhole(int blocks) {
        if (blocks > slots.length) {
            slots = Arrays.copyOf(slots, blocks);
        }
        int before = whole;
        // Those that are leased already are still there.
        while (whole < blocks && store.lease(found.id(whole))) {
            slots[whole] = ChainIndex.slot(found.id(whole));
            whole++;
        }
        if (whole > before) {
            dropPartial();
            lastKey = store.index.key(slots[whole - 1]);
        }
        return whole == blocks;
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
                names[i] = store.index.name(slots[i]);
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
            keys.add(store.index.key(slots[i]));
        }
        keys.addAll(chain.all());
        return keys;
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
