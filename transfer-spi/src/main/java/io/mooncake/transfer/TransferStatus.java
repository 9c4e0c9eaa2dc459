// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer;

/** How one request of a batch ended. Anything but COMPLETED means that the target bytes must not be used. */
public enum TransferStatus {
    COMPLETED,
    /** The deadline passed; the buffer was held back until no byte could arrive any more. */
    TIMEOUT,
    CANCELED,
    /** The owner says that the range is of another generation now. */
    STALE_GENERATION,
    /** The peer at that address is another incarnation. */
    STALE_INCARNATION,
    /** The lease ended before the copy was verified. */
    LEASE_EXPIRED,
    /** The copy fails its checksum. */
    CHECKSUM,
    /** The owner refused the capability or range. */
    REFUSED,
    /** Connection refused or lost. */
    PEER_UNREACHABLE,
    /** The driver of a GPU that the bytes come from or go to failed, here or at the owner; the log of that side names the error. */
    DEVICE_FAILED
}
