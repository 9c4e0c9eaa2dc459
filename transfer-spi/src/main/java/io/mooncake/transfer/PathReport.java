// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer;

/**
 * How transfers to one life of a peer go, and why.
 *
 * @param reads the way of reads; those of memory that the peer does not share go by TCP always
 * @param writes the way of writes
 * @param reason why it is not shared memory; empty when reads use it
 */
public record PathReport(Kind reads, Kind writes, String reason) {
    /** A way to move bytes. */
    public enum Kind {
        TCP,
        SHARED_MEMORY
    }
}
