// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory;

/**
 * A block that only the SSD has.
 *
 * @param block what the catalogue knows of it
 * @param bytes payload bytes
 */
record RecordBlock(StoredBlock block, long bytes) implements HeldBlock {
    @Override
    public BlockKey key() {
        return block.key();
    }

    @Override
    public BlockKey parent() {
        return block.parent();
    }

    @Override
    public int depth() {
        return block.depth();
    }

    @Override
    public int tokenCount() {
        return block.tokens().length;
    }

    @Override
    public int[] tokens() {
        return block.tokens().clone();
    }

    @Override
    public String tenant() {
        return block.tenant();
    }

    @Override
    public long generation() {
        return block.generation();
    }

    @Override
    public HeldIn where() {
        return HeldIn.SSD;
    }

    @Override
    public long hits() {
        return 0;
    }

    @Override
    public long idleNanos() {
        return 0;
    }

    @Override
    public int leases() {
        return 0;
    }

    @Override
    public boolean isIntact() {
        return true;
    }

    @Override
    public boolean isPinnedHard() {
        return false;
    }

    @Override
    public boolean isPinnedSoft() {
        return false;
    }
}
