// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory;

/** Where a node holds a block: the tiers that have it now. */
public enum HeldIn {
    /** In memory alone: the SSD has not got it yet, refused it or lost it, or there is none. */
    DRAM,
    /** In both: a hit costs no I/O, and a restart does not lose it. */
    DRAM_AND_SSD,
    /** On the SSD alone: a hit brings it up. */
    SSD
}
