// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.rdma;

import io.mooncake.base.MooncakeException;

/**
 * A region of a peer as its devices know it: where it begins, and the keys that read it. Immutable; keys end when the owner has a range
 * back by force, or when the registration ends, and then the device refuses them.
 */
final class PeerRegion {
    private final int id;
    private final long address;
    private final long length;
    private final long pieceBytes;
    private final int rails;
    private final int[] keys;

    /**
     * @param address of its first byte, in the owner's process
     * @param pieceBytes of one registration; the last one of the region may be shorter
     * @param keys of each of {@code rails} devices in order, one a piece
     */
    PeerRegion(int id, long address, long length, long pieceBytes, int rails, int[] keys) {
        this.id = id;
        this.address = address;
        this.length = length;
        this.pieceBytes = pieceBytes;
        this.rails = rails;
        this.keys = keys;
    }

    int id() {
        return id;
    }

    long address() {
        return address;
    }

    long length() {
        return length;
    }

    long pieceBytes() {
        return pieceBytes;
    }

    int rails() {
        return rails;
    }

    int[] keys() {
        return keys;
    }

    /** Pieces of a region of {@code length} bytes. */
    static long pieces(long length, long pieceBytes) {
        return (length - 1) / pieceBytes + 1;
    }

    /** Whether a range lies inside; safe against wrap-around. */
    boolean contains(long offset, long bytes) {
        return offset >= 0 && bytes >= 1 && bytes <= length && offset <= length - bytes;
    }

    long bytesInPiece(long offset) {
        return pieceBytes - offset % pieceBytes;
    }

    /** The key of a device of the owner for the piece around {@code offset}. */
    int key(int rail, long offset) {
        if (rail >= rails) {
            throw new MooncakeException(
                    MooncakeException.Code.CORRUPT, "rail: " + rail + " (expected: below " + rails + ")");
        }
        return keys[keys.length / rails * rail + (int) (offset / pieceBytes)];
    }
}
