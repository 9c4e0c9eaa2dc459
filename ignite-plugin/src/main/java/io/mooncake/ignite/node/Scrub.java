// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.node;

import io.mooncake.ignite.ScrubReport;
import io.mooncake.memory.BlockKey;
import io.mooncake.memory.BlockOutcome;
import io.mooncake.memory.HeldBlock;
import io.mooncake.memory.LocalKvPool;
import io.mooncake.memory.PinnedBlock;
import io.mooncake.memory.RemovalCause;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;

/**
 * Compares every block in a pool's memory with its checksums, a block at a time, and takes the damaged ones away, with those that follow them. A block
 * stays where it is while it is read; no lock is held, and the policy hears of no use. What the SSD has is checked by its store.
 */
final class Scrub {
    private static final int PAGE = 256;

    private final LocalKvPool pool;
    private final List<Damaged> bad = new ArrayList<>();
    private long checked;
    private long bytes;

    Scrub(LocalKvPool pool) {
        this.pool = pool;
    }

    /** A damaged block, as it was seen. */
    private record Damaged(BlockKey key, int depth, long generation) {}

    ScrubReport run() {
        look();
        return drop();
    }

    /** Finds what is damaged. */
    void look() {
        for (int at = 0; at != LocalKvPool.WALK_END; ) {
            at = pool.forEachSlot(at, PAGE, this::check);
        }
    }

    /** Takes it away, where it is the same block still. */
    ScrubReport drop() {
        List<BlockKey> dropped = new ArrayList<>();
        List<BlockKey> kept = new ArrayList<>();
        // The last of a chain first: with a block go those that follow it.
        bad.sort(Comparator.comparingInt(Damaged::depth).reversed());
        for (Damaged block : bad) {
            if (!isThere(block)) {
                continue;
            }
            BlockOutcome outcome = pool.remove(block.key(), RemovalCause.LOST);
            if (outcome == BlockOutcome.PINNED) {
                kept.add(block.key());
            } else if (outcome == BlockOutcome.DONE) {
                dropped.add(block.key());
            }
        }
        return new ScrubReport(pool.name(), checked, bytes, dropped, kept);
    }

    /** Whether it did not go meanwhile, or go and come anew, intact. */
    private boolean isThere(Damaged block) {
        try (PinnedBlock now = pool.pin(block.key())) {
            return now != null && now.generation() == block.generation();
        }
    }

    private void check(HeldBlock block) {
        checked++;
        bytes += block.bytes();
        if (!block.isIntact()) {
            bad.add(new Damaged(block.key(), block.depth(), block.generation()));
        }
    }
}
