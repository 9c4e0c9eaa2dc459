// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.node;

import io.mooncake.ignite.ScrubReport;
import io.mooncake.memory.BlockKey;
import io.mooncake.memory.BlockOutcome;
import io.mooncake.memory.HeldBlock;
import io.mooncake.memory.LocalKvPool;
import io.mooncake.memory.RemovalCause;
import java.util.ArrayList;
import java.util.List;

/**
 * Compares every block in a pool's memory with its checksums, a block at a time, and takes the damaged ones away, with those that follow them. A block
 * stays where it is while it is read; no lock is held, and the policy hears of no use. What the SSD has is checked by its store.
 */
final class Scrub {
    private static final int PAGE = 256;

    private final LocalKvPool pool;
    private final List<BlockKey> bad = new ArrayList<>();
    private long checked;
    private long bytes;

    Scrub(LocalKvPool pool) {
        this.pool = pool;
    }

    ScrubReport run() {
        for (int at = 0; at != LocalKvPool.WALK_END; ) {
            at = pool.forEachSlot(at, PAGE, this::check);
        }
        List<BlockKey> dropped = new ArrayList<>();
        List<BlockKey> kept = new ArrayList<>();
        for (BlockKey key : bad) {
            // One that followed another damaged one has gone with it.
            (pool.remove(key, RemovalCause.LOST) == BlockOutcome.PINNED ? kept : dropped).add(key);
        }
        return new ScrubReport(pool.name(), checked, bytes, dropped, kept);
    }

    private void check(HeldBlock block) {
        checked++;
        bytes += block.bytes();
        if (!block.isIntact()) {
            bad.add(block.key());
        }
    }
}
