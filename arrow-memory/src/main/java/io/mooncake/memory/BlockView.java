// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory;

/**
 * One block as operators see it; a snapshot.
 *
 * @param block what it is
 * @param tier where it lies, {@code DRAM} or {@code SSD}
 * @param bytes payload bytes
 * @param hits times it was leased by a look-up
 * @param lastAccessAgeNanos nanoseconds since it was last leased or stored, or since a lease on it ended, by the pool's policy
 * @param leases references held on it now, peers' pins included
 * @param pinned whether a pin holds it: a peer's, a hard or a soft one
 */
public record BlockView(
        StoredBlock block, String tier, long bytes, long hits, long lastAccessAgeNanos, int leases, boolean pinned) {}
