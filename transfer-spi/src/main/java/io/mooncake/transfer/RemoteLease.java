// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer;

import org.jspecify.annotations.Nullable;

/**
 * What a peer granted: a pin on its side for each key it holds. The reader counts the term from before it sent the request and stops
 * before it ends.
 *
 * <p>Ownership: the reader owes a {@link #close()}, which tells the owner; closing is idempotent and never blocks. Threading: any.
 */
public interface RemoteLease extends AutoCloseable {
    /** The owner. */
    PeerAddress peer();

    /** Keys asked for; elements that were refused are null in {@link #element}. */
    int size();

    /** What was granted for key {@code index}, or null when the owner does not hold it. */
    @Nullable
    Element element(int index);

    /** Whether key {@code index} was left out because the owner's reply was full: it holds it, and a further request may bring it. */
    boolean deferred(int index);

    /** Whether the reader may no longer rely on it. */
    boolean expired();

    @Override
    void close();

    /**
     * One granted range.
     *
     * @param handle for {@link TransferEngine#read}
     * @param segmentLength bytes a checksum covers
     * @param checksums CRC32C a segment; the expectation
     * @param description opaque bytes from the owner
     * @param generationOffset where the owner publishes the generation: bytes from the start of the region, or
     *     {@link PublishedGuard#NOWHERE}
     */
    record Element(
            RemoteHandle handle, int segmentLength, int[] checksums, byte[] description, long generationOffset) {}
}
