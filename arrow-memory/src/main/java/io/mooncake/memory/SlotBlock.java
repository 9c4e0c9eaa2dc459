// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory;

import io.mooncake.memory.block.BlockDescriptor;
import java.nio.ByteBuffer;
import java.util.Arrays;

/** The block in a slot on which the walk holds one reference, so that nothing of it changes. One object a walk. */
final class SlotBlock implements HeldBlock {
    private final BlockStore store;
    private final long now;
    private int slot;
    private HeldIn where = HeldIn.DRAM;
    private ByteBuffer header;

    SlotBlock(BlockStore store) {
        this.store = store;
        now = store.nanoClock.getAsLong();
        header = store.header(0);
    }

    /** Shows the block in {@code slot} from now on. */
    SlotBlock of(int slot, HeldIn where) {
        this.slot = slot;
        this.where = where;
        header = store.header(slot);
        return this;
    }

    @Override
    public BlockKey key() {
        return BlockDescriptor.key(header);
    }

    @Override
    public BlockKey parent() {
        return BlockDescriptor.parent(header);
    }

    @Override
    public int depth() {
        return BlockDescriptor.depth(header);
    }

    @Override
    public int tokenCount() {
        return store.layout.blockTokens();
    }

    @Override
    public int[] tokens() {
        return BlockDescriptor.tokens(header, store.layout);
    }

    @Override
    public String tenant() {
        return store.tenant(slot);
    }

    @Override
    public long generation() {
        return store.slab.generation(slot);
    }

    @Override
    public HeldIn where() {
        return where;
    }

    @Override
    public long bytes() {
        return store.layout.payloadBytes();
    }

    @Override
    public long hits() {
        return store.hits(slot);
    }

    @Override
    public long idleNanos() {
        return Math.max(0, now - store.policy().lastUse(slot));
    }

    @Override
    public int leases() {
        return store.slab.references(slot) - 1;
    }

    @Override
    public boolean isIntact() {
        return BlockDescriptor.problem(header, store.layout) == null
                && Arrays.equals(store.checksums(slot), BlockDescriptor.layerCrcs(header, store.layout));
    }

    @Override
    public boolean isPinnedHard() {
        return store.slab.states().hardPins(slot) > 0;
    }

    @Override
    public boolean isPinnedSoft() {
        return store.slab.states().isSoftPinned(slot, now);
    }
}
