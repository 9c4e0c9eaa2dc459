// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory;

/**
 * One block as a walk shows it ({@link LocalKvPool#forEachSlot}, {@link SsdTier#forEachHeld}). Borrowed: good in the visitor's call only, by its
 * thread; what it gives stays good. Key, parent, depth, tokens, tenant and generation belong together; counts are those of the moment.
 */
public interface HeldBlock {
    /** Chain digest. */
    BlockKey key();

    /** Digest of the block before it, or the tenant's root. */
    BlockKey parent();

    /** Index in the chain. */
    int depth();

    /** Its own tokens, a number of the pool's. */
    int tokenCount();

    /** A copy of them. */
    int[] tokens();

    /** Name of the tenant that stored it; empty where only the SSD knows the block, from an earlier life. */
    String tenant();

    /** As it was stored under. */
    long generation();

    /** The tiers that have it; a pool without its SSD says DRAM. */
    HeldIn where();

    /** Payload bytes. */
    long bytes();

    /** Times it was leased by a look-up since memory has it. */
    long hits();

    /** Nanoseconds since it was last leased or stored, or since a lease ended; 0 where memory does not have it. */
    long idleNanos();

    /** References held on it now, peers' pins included, the walk's own not. */
    int leases();

    /** Whether its header, and every layer in memory, give their checksums; reads the whole block. What only the SSD has is not looked at: true. */
    boolean isIntact();

    /** Whether a hard pin holds it. */
    boolean isPinnedHard();

    /** Whether a soft pin holds it now. */
    boolean isPinnedSoft();
}
