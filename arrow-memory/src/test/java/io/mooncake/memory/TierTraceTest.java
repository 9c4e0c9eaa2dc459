// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory;

import static io.mooncake.memory.Pools.identity;
import static io.mooncake.memory.Pools.pool;
import static io.mooncake.memory.Pools.soon;
import static org.assertj.core.api.Assertions.assertThat;

import io.mooncake.memory.PoolTraceTest.Line;
import java.io.IOException;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

/** A recorded trace through a pool and an SSD of which there is only the catalogue: what it is worth to choose by worth. */
final class TierTraceTest {
    /** An SSD that takes no time. */
    private static final class Ssd implements BlockListener {
        private final Map<BlockKey, StoredBlock> blocks = new HashMap<>();
        private final int places;
        private final boolean selective;
        final TierCatalog catalog;
        int written;
        int refused;

        Ssd(LocalKvPool pool, int places, boolean byWorth, AtomicLong clock) {
            this.places = places;
            selective = byWorth;
            TierLeaves.Worth worth = byWorth ? pool.store()::worth : (key, lastUse) -> 0;
            catalog = new TierCatalog(this::write, List.of(), worth, clock::get, key -> false, new TenantAccount(""));
            pool.addListener(this);
            pool.addListener(catalog);
        }

        @Override
        public void onStored(StoredBlock block) {
            blocks.put(block.key(), block);
        }

        @Override
        public void onRemoved(BlockKey key, long generation) {}

        private void write(BlockKey key) {
            StoredBlock block = blocks.get(key);
            boolean full = catalog.ssdBlocks() >= places;
            if (full && selective && !catalog.admits(block)) {
                refused++;
                return;
            }
            if (full) {
                blocks.remove(catalog.takeVictim(gone -> {}));
            }
            catalog.written(block, () -> true);
            written++;
        }
    }

    /** Share of blocks found in a row in either tier. */
    private static double replay(List<Line> lines, int blocks, int ssdBlocks, boolean byWorth) {
        AtomicLong clock = new AtomicLong();
        int[] hits = new int[lines.size()];
        try (LocalKvPool pool = pool(identity(ReuseMode.EXACT), blocks, "return-index", clock::get)) {
            pool.store().admitAll();
            Ssd ssd = new Ssd(pool, ssdBlocks, byWorth, clock);
            for (int i = 0; i < hits.length; i++) {
                Line line = lines.get(i);
                clock.set(line.millis() * 1_000_000 + i);
                List<BlockKey> keys = pool.chain(Tenant.DEFAULT, line.tokens());
                try (PrefixLease hit = pool.acquire(line.tokens(), soon())) {
                    hits[i] = hit.blockCount();
                    while (hits[i] < keys.size()
                            && (pool.contains(keys.get(hits[i])) || ssd.catalog.onSsd(keys.get(hits[i])))) {
                        hits[i]++;
                    }
                    hit.answered(line.outputTokens());
                    // What the SSD would have brought up gets its place in memory like what is computed.
                    try (BlockWriter writer = pool.extend(hit, line.tokens())) {
                        while (writer.hasNext()) {
                            writer.next();
                        }
                        writer.publish();
                    }
                }
            }
            System.out.printf(
                    "memory %d, SSD %d, by %s: %.4f, second half %.4f; %d written, %d refused%n",
                    blocks,
                    ssdBlocks,
                    byWorth ? "worth" : "time",
                    PoolTraceTest.share(lines, hits, 0),
                    PoolTraceTest.share(lines, hits, hits.length / 2),
                    ssd.written,
                    ssd.refused);
        }
        return PoolTraceTest.share(lines, hits, 0);
    }

    @Test
    void replay_conversations_findsMoreByWorthThanByTime() throws IOException {
        List<Line> lines = PoolTraceTest.trace("mooncake_conversation_trace.jsonl", Seeds.count(1_500, 1_000_000));
        assertThat(replay(lines, 500, 2_500, true)).isGreaterThan(1.05 * replay(lines, 500, 2_500, false));
        if (Boolean.getBoolean("mooncake.long")) {
            for (int[] sizes : new int[][] {{1_000, 5_000}, {1_000, 10_000}, {2_000, 20_000}}) {
                assertThat(replay(lines, sizes[0], sizes[1], true))
                        .isGreaterThanOrEqualTo(replay(lines, sizes[0], sizes[1], false));
            }
        }
    }
}
