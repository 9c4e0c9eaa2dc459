// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer;

/**
 * A guard whose truth can also be read by peers that map the memory. For each range there is a word, 8 bytes, little-endian, that holds the
 * range's generation as long as it is current.
 *
 * <p>Publication: the owner changes the word before it changes a byte of the range, with a store-store barrier between. So a reader that
 * copies, fences, and then finds the generation of its lease has copied nothing newer.
 */
public interface PublishedGuard extends RegionGuard {
    /** Returned where no word is published. */
    long NOWHERE = Long.MIN_VALUE;

    /**
     * Where the word of {@code offset..offset+length} lies: bytes from the start of the region, a multiple of 8 from the start of the file
     * that backs it and anywhere in that file, or {@link #NOWHERE}. Must not allocate or block.
     */
    long generationOffset(long offset, long length);
}
