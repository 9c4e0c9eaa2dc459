// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory;

/** Why a block is not held any more. */
public enum RemovalCause {
    /** Another block needed its place. */
    EVICTED,
    /** Somebody asked for it: {@link LocalKvPool#remove}. */
    REMOVED,
    /** Its bytes were damaged, or the device that had them is out. */
    LOST,
    /** Its tenant's quota was used up, by a better block of the same tenant. */
    QUOTA
}
