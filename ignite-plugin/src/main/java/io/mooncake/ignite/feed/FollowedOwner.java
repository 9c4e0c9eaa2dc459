// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.feed;

/**
 * How well an owner is heard.
 *
 * @param current whether everything that it is known to have said is in the index
 * @param silentNanos nanoseconds since something came from it
 * @param silent whether that is long enough to be warned of
 * @param repairs gaps that were asked for again
 * @param snapshots snapshots begun
 * @param badFrames frames dropped as malformed
 * @param version of the feed that is spoken with it
 */
public record FollowedOwner(
        boolean current, long silentNanos, boolean silent, long repairs, long snapshots, long badFrames, int version) {}
