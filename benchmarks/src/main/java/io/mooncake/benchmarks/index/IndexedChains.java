// SPDX-License-Identifier: Apache-2.0
package io.mooncake.benchmarks.index;

import io.mooncake.ignite.feed.BlockEvent;
import io.mooncake.ignite.feed.EventCursor;
import io.mooncake.ignite.feed.HolderSink;
import io.mooncake.ignite.index.PoolIndex;
import io.mooncake.memory.BlockKey;
import io.mooncake.memory.KvDataType;
import io.mooncake.memory.KvIdentity;
import io.mooncake.memory.ReuseMode;
import io.mooncake.memory.Tenant;
import io.mooncake.memory.block.ChainKeys;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.UUID;

/**
 * An index filled by eight owners with chains of blocks of 16 random tokens; some chains are kept to be looked up. An owner announces a chain in
 * its order, as owners do.
 */
final class IndexedChains {
    static final int BLOCK_TOKENS = 16;
    static final int OWNERS = 8;
    /** Blocks of a chain. */
    static final int LENGTH = 512;

    private static final int KEPT = 256;
    private static final BlockKey ROOT = new BlockKey(0, 0, 0, 0);
    private static final int[] NO_TOKENS = {};
    static final KvIdentity IDENTITY = new KvIdentity(
            "1".repeat(64),
            "2".repeat(64),
            "",
            "bench",
            "rope(base=10000,dims=64,style=halves)",
            ReuseMode.EXACT,
            KvDataType.F16,
            1,
            1,
            64,
            BLOCK_TOKENS,
            1,
            0);

    /** @param words four longs a block */
    record Chain(int owner, int[] tokens, long[] words) {}

    final PoolIndex index;
    final List<UUID> owners = new ArrayList<>();
    final List<HolderSink.Copy> copies = new ArrayList<>();
    final List<Chain> kept = new ArrayList<>();
    /** Seconds that the owners' announcements took, the making of their keys left out. */
    final double storeSeconds;

    private final long seed;

    /** Chains until {@code entries} blocks are there. */
    IndexedChains(int entries, long seed) {
        this.seed = seed;
        int chains = Math.max(OWNERS, entries / LENGTH);
        index = new PoolIndex(IDENTITY, Math.max(entries, chains * LENGTH));
        for (int i = 0; i < OWNERS; i++) {
            owners.add(new UUID(7, i));
            copies.add(index.sink(owners.get(i)).begin());
            copies.get(i).show();
        }
        long nanos = 0;
        int step = Math.max(1, chains / KEPT);
        for (int i = 0; i < chains; i++) {
            int[] tokens = tokens(i);
            BlockKey[] keys = keys(tokens);
            long start = System.nanoTime();
            store(copies.get(i % OWNERS), keys);
            nanos += System.nanoTime() - start;
            if (i % step == 0 && kept.size() < KEPT) {
                kept.add(new Chain(i % OWNERS, tokens, PoolIndex.words(List.of(keys), 0)));
            }
        }
        storeSeconds = nanos / 1e9;
    }

    /** Tokens of chain {@code number}, one more than its blocks take, so that all of them may be reused. */
    int[] tokens(int number) {
        return new SplittableRandom(seed + number)
                .ints(LENGTH * BLOCK_TOKENS + 1, 0, 100_000)
                .toArray();
    }

    private static BlockKey[] keys(int[] tokens) {
        BlockKey root = ChainKeys.root(IDENTITY, Tenant.DEFAULT.salt());
        return new ChainKeys().chain(root, tokens, 0, BLOCK_TOKENS, LENGTH);
    }

    private static void store(HolderSink.Copy copy, BlockKey[] keys) {
        EventCursor cursor = new EventCursor();
        for (int i = 0; i < keys.length; i++) {
            BlockKey parent = i == 0 ? ROOT : keys[i - 1];
            cursor.set(BlockEvent.stored(keys[i], parent, i, NO_TOKENS));
            copy.apply(cursor);
        }
    }
}
