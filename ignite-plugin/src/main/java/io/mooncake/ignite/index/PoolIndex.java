// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.index;

import io.mooncake.ignite.feed.BlockEvent;
import io.mooncake.ignite.feed.HolderSink;
import io.mooncake.memory.BlockKey;
import io.mooncake.memory.KvIdentity;
import io.mooncake.memory.Tenant;
import io.mooncake.memory.block.ChainKeys;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicReferenceArray;
import org.jspecify.annotations.Nullable;

/**
 * Who holds which blocks of one pool: the holders' copies, written by the feed's followers, and look-ups by key.
 *
 * <p>Threading: safe for all threads.
 */
public final class PoolIndex {
    private static final int MAX_SLOTS = 4096;

    private final KvIdentity identity;
    private final HolderTable table = new HolderTable();
    private final AtomicReferenceArray<@Nullable UUID> owners = new AtomicReferenceArray<>(MAX_SLOTS);

    public PoolIndex(KvIdentity identity) {
        this.identity = identity;
    }

    /** What the pool's blocks mean. */
    public KvIdentity identity() {
        return identity;
    }

    /** Where the follower of {@code nodeId} writes. */
    public HolderSink sink(UUID nodeId) {
        return () -> new SlotCopy(nodeId);
    }

    /** Keys of the whole blocks of {@code tokens} that may be reused, in order. */
    public List<BlockKey> keys(Tenant tenant, int[] tokens) {
        BlockKey root = ChainKeys.root(identity, tenant.salt());
        return Arrays.asList(
                new ChainKeys().chain(root, tokens, 0, identity.blockTokens(), reusableBlocks(tokens.length)));
    }

    /** Holders of {@code keys[from]} and how many blocks from there each has without a gap, longest first. */
    public List<Run> runs(List<BlockKey> keys, int from) {
        int[] counts = table.match(keys, from);
        List<Run> runs = new ArrayList<>();
        for (int slot = 0; slot < counts.length; slot++) {
            UUID owner = counts[slot] > 0 ? owners.get(slot) : null;
            if (owner != null) {
                runs.add(new Run(owner, counts[slot]));
            }
        }
        runs.sort(Comparator.comparingInt(Run::blocks).reversed().thenComparing(Run::nodeId));
        return runs;
    }

    /** Other nodes that hold {@code key}. */
    public int holderCount(BlockKey key) {
        return table.holderCount(key);
    }

    /** Pairs of block and holder. */
    public long entries() {
        return table.pairs();
    }

    private int reusableBlocks(int promptTokens) {
        // At least the last token is computed, in both modes.
        return Math.max(0, promptTokens - 1) / identity.blockTokens();
    }

    /**
     * Blocks that one node holds in a row.
     *
     * @param nodeId the holder
     * @param blocks at least 1
     */
    public record Run(UUID nodeId, int blocks) {}

    private final class SlotCopy implements HolderSink.Copy {
        private final int slot = table.open();
        private boolean dropped;

        SlotCopy(UUID nodeId) {
            owners.set(slot, nodeId);
        }

        @Override
        public synchronized void store(BlockEvent event) {
            if (!dropped) {
                table.store(slot, event.key());
            }
        }

        @Override
        public synchronized void remove(BlockEvent event) {
            if (!dropped) {
                table.remove(slot, event.key());
            }
        }

        @Override
        public synchronized void show() {
            if (!dropped) {
                table.show(slot);
            }
        }

        @Override
        public synchronized void drop() {
            if (!dropped) {
                dropped = true;
                owners.set(slot, null);
                table.drop(slot);
            }
        }
    }
}
