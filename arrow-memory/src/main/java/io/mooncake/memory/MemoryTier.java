// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory;

/** A kind of memory with its own cost, the fastest first. */
public enum MemoryTier {
    /** Memory of a GPU; no CPU may touch its addresses. */
    GPU,
    /** Memory of the host. */
    DRAM,
    /** A file; it has no addresses. */
    SSD
}
