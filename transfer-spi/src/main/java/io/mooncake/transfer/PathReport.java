// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer;

/**
 * How transfers to one life of a peer go, and why.
 *
 * @param reads the way of reads; those of memory that the peer does not share go by the network always
 * @param writes the way of writes; those out of memory that this engine does not share go by the network always
 * @param over devices or addresses of the way over the network, for people; empty when there is nothing to tell
 * @param reason why it is not a better way, one part a way that was turned down; empty when it is the best one that the engine's protocol
 *     allows
 */
public record PathReport(Kind reads, Kind writes, String over, String reason) {
    /** A way to move bytes, the best one first. */
    public enum Kind {
        /** A copy within this process: the peer is this engine itself. */
        LOCAL,
        /** A copy between this process and mapped memory of the peer's. */
        SHARED_MEMORY,
        /** One-sided verbs over the devices of both ends. */
        RDMA,
        /** Connections of the data port. */
        TCP
    }

    /** A report without devices. */
    public PathReport(Kind reads, Kind writes, String reason) {
        this(reads, writes, "", reason);
    }
}
