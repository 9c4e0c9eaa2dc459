// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory;

/**
 * A sealed block held in place until closed: it neither moves, changes nor goes. Made for peers that read it from outside.
 *
 * <p>Ownership: the caller owes one {@link #close()}, which is idempotent. The record-like accessors stay valid after close, the bytes at
 * {@link #address()} do not. Threading: safe for all threads.
 */
public interface PinnedBlock extends AutoCloseable {
    /** Chain digest. */
    BlockKey key();

    /** Digest of the block before it, or the tenant's root. */
    BlockKey parent();

    /** Index in the chain. */
    int depth();

    /** Generation of the memory; changes whenever it is reused. */
    long generation();

    /** Bytes from the start of the region to the payload. */
    long offset();

    /** Payload bytes. */
    int length();

    /** Address of the payload; borrowed. */
    long address();

    /** CRC32C a layer, each over {@code layout().layerBytes()} bytes; a copy. */
    int[] layerChecksums();

    /** The block's own token ids; a copy. */
    int[] tokens();

    @Override
    void close();
}
