// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory;

/** Why reuse ended where it did. Every prompt that is not reused to its end has exactly one, and each is counted. */
public enum MissReason {
    /** Nothing was missed: everything that may be reused was. */
    NONE,
    /** The next block is in no index: never computed, or evicted everywhere. */
    NOT_CACHED,
    /** The caller switched look-up off. */
    LOOKUP_DISABLED,
    /** The conversation's text tokenises to other ids than those generated. */
    RETOKENISED,
    /** No room for the fetched block: all blocks leased. */
    NO_MEMORY,
    /** The deadline passed while fetching. */
    DEADLINE,
    /** The holder does not answer or is gone. */
    PEER_UNREACHABLE,
    /** The holder no longer has the block its event announced. */
    LEASE_REFUSED,
    /** The lease ran out before the copy was verified. */
    LEASE_EXPIRED,
    /** The memory was reused under another generation. */
    STALE_GENERATION,
    /** The entry is of a dead incarnation of its node. */
    STALE_INCARNATION,
    /** The copy fails its checksum. */
    CHECKSUM,
    /** The bytes are of another block or identity. */
    IDENTITY,
    /** This node's SSD has the block and did not give it: an error of the device's, or the tier is out. */
    SSD_FAILED,
    /** The next block was there, and left for others wherever it was. */
    EVICTED,
    /** The next block was there, and was removed. */
    REMOVED,
    /** The next block was on nodes that left the cluster. */
    NODE_LOST
}
