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
import io.mooncake.memory.block.ChainKeys;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.UUID;

/** An index in FAST mode: blocks of 64 tokens, 64 children each of many parents, which have their first half in common. */
final class IndexedParts {
    private static final int BLOCK_TOKENS = 64;
    private static final int SIBLINGS = 64;
    private static final int COMMON = BLOCK_TOKENS / 2;
    private static final int PARENTS = 1_024;
    private static final KvIdentity IDENTITY = new KvIdentity(
            "1".repeat(64),
            "2".repeat(64),
            "",
            "bench",
            "rope(base=10000,dims=64,style=halves)",
            ReuseMode.FAST,
            KvDataType.F16,
            1,
            1,
            64,
            BLOCK_TOKENS,
            1,
            0);

    private final PoolIndex index =
            new PoolIndex(IDENTITY, PARENTS * SIBLINGS, (long) PARENTS * SIBLINGS * BLOCK_TOKENS, () -> {});
    private final List<int[]> prompts = new ArrayList<>();

    IndexedParts(long seed) {
        SplittableRandom random = new SplittableRandom(seed);
        ChainKeys keys = new ChainKeys();
        HolderSink.Copy copy = index.sink(new UUID(7, 7)).begin();
        copy.show();
        EventCursor cursor = new EventCursor();
        for (int parent = 0; parent < PARENTS; parent++) {
            int[] beginning = random.ints(COMMON, 0, 100_000).toArray();
            for (int sibling = 0; sibling < SIBLINGS; sibling++) {
                int[] tokens = random.ints(BLOCK_TOKENS, 0, 100_000).toArray();
                System.arraycopy(beginning, 0, tokens, 0, COMMON);
                cursor.set(BlockEvent.stored(
                        keys.next(parent(parent), tokens, 0, BLOCK_TOKENS), parent(parent), 1, tokens));
                copy.apply(cursor);
                if (sibling == SIBLINGS / 2) {
                    // All but the last token of it, and one more, which is computed.
                    prompts.add(tokens);
                }
            }
        }
    }

    private static BlockKey parent(int number) {
        return new BlockKey(number * 0x9E37_79B9_7F4A_7C15L, number, 1, 2);
    }

    /** Look-ups. */
    int count() {
        return prompts.size();
    }

    /** Looks for the part of a block. @throws IllegalStateException when another one is found */
    void find(int number) {
        PoolIndex.Partial found = index.partial(parent(number), prompts.get(number), 0);
        if (found == null || found.tokens() != BLOCK_TOKENS - 1) {
            throw new IllegalStateException("found " + found + " (expected: " + (BLOCK_TOKENS - 1) + " tokens)");
        }
    }
}
