// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory;

import io.mooncake.base.MooncakeException;
import io.mooncake.base.MooncakeException.Code;
import io.mooncake.memory.block.BlockSlab;
import io.mooncake.memory.index.IndexMatch;
import io.mooncake.memory.policy.Request;
import java.util.Arrays;
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
    /** First words of the keys of {@code slots[0..whole)}. */
    private long[] names = new long[16];

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

    private void addWhole(int slot, BlockKey key) {
        dropPartial();
        if (whole == slots.length) {
            slots = Arrays.copyOf(slots, 2 * whole);
            names = Arrays.copyOf(names, 2 * whole);
        }
        names[whole] = key.word0();
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
        long now = store.nanoClock.getAsLong();
        for (int slot : held) {
            store.hit(slot, now);
        }
        MissReason counted = complete() ? MissReason.NONE : reason;
        pool.countLookup(tokens.length, localTokens, matched - localTokens, counted);
        LocalLease lease = new LocalLease(pool, root, held, announce(), lastKey, matched, localTokens, counted);
        pool.handles().move(this, lease, LocalLease.KIND);
        return lease;
    }

    /** Tells the policy of the request, where it learns from requests; names of blocks that are not here take a hash each. */
    private @Nullable Request announce() {
        if (!store.policy().learns()) {
            return null;
        }
        // A prompt longer than the pool can't be kept whole, and its end needs no name.
        long[] blocks = PromptNames.of(names, whole, lastKey, tokens, store.layout.blockTokens(), store.slab.slots());
        Request request = new Request(
                blocks, Request.Moment.BEGIN, tokens.length, Request.UNKNOWN, hints.turn(), hints.blockCost());
        store.announce(request);
        return request;
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
