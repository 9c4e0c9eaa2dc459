// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer;

import java.util.List;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * What an owner of memory implements so that peers can lease what lies in it. Keys are opaque to the engine.
 *
 * <p>Threading: called on control threads, several at a time; must not block on the network.
 */
public interface LeaseSource {
    /**
     * Pins what each key names. A pinned range neither moves nor changes until its {@link Pin} is closed; the engine closes it when the
     * peer releases the lease, when the lease expires by the owner's clock plus margin, and when the peer's incarnation ends.
     *
     * @param peer incarnation of the asking engine
     * @param namespace what the keys belong to, for example a pool's name
     * @param keys opaque keys
     * @return one element a key: the pin, or null when the owner does not hold it
     */
    List<@Nullable Pin> pin(UUID peer, String namespace, List<byte[]> keys);

    /**
     * A range held in place.
     *
     * <p>Checksums are CRC32C over consecutive segments of {@code segmentLength} bytes that start at {@code offset}; they belong to this
     * holder and generation. They are the expectation that the reader verifies its private copy against.
     */
    interface Pin extends AutoCloseable {
        /** Region id as returned by {@link TransferEngine#registerMemory}. */
        int region();

        /** Generation of the range; it changes whenever the memory is reused. */
        long generation();

        /** Bytes from the start of the region. */
        long offset();

        /** Bytes. */
        int length();

        /** Bytes a checksum covers; {@code length} is a multiple of it. */
        int segmentLength();

        /** CRC32C a segment, {@code length / segmentLength} of them. */
        int[] checksums();

        /** Opaque bytes for the reader, at most 64 KiB: what the bytes are (digest, parent, tokens). */
        byte[] description();

        @Override
        void close();
    }
}
