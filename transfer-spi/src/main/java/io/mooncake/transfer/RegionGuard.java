// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer;

/** Tells whether a range of a region still is what a handle was issued for. Asked by the owner's data plane on every access; must not allocate or block. */
@FunctionalInterface
public interface RegionGuard {
    /** Whether all of {@code offset..offset+length} is of {@code generation} now. */
    boolean current(long offset, long length, long generation);
}
