// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer;

/** Why the owner of memory refused a request of its data plane. */
public enum RefusalCause {
    /** The capability is not what was issued to this peer over these values. */
    FORGED(true),
    /** The handle's time was over. */
    EXPIRED(false),
    /** The range is of another generation by now. */
    STALE(false),
    /** The range lies outside of the region or of the handle. */
    RANGE(true),
    /** No such region, or its registration has ended. */
    REGION(false),
    /** A write under a handle that only reads. */
    RIGHTS(true),
    /** The driver of the GPU that the memory lies on failed. */
    DEVICE(false),
    /** A frame out of its order, as one that is sent again; it ends the connection. */
    REPLAY(true),
    /** A frame that is none; it ends the connection. */
    MALFORMED(true);

    private final boolean serious;

    RefusalCause(boolean serious) {
        this.serious = serious;
    }

    /** Whether no honest peer brings it about. */
    public boolean serious() {
        return serious;
    }
}
