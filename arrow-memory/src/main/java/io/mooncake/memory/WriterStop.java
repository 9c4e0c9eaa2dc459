// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory;

/** Why a {@link BlockWriter} has no next block. */
public enum WriterStop {
    /** It has one, or was not asked yet. */
    NONE,
    /** All full blocks of the prompt were handed out. */
    COMPLETE,
    /** All memory is held by leases, pins and writers. May be better when asked again. */
    NO_MEMORY,
    /** The tenant's quota is used up by blocks that are held. May be better when asked again. */
    QUOTA,
    /** The policy found the block not worth the place of another. */
    NOT_ADMITTED,
    /** The block before was not stored, or was removed: what follows would have a hole before it. */
    HOLE
}
