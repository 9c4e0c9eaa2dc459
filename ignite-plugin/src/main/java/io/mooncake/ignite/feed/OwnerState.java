// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.feed;

/**
 * How an owner is, as its heartbeats say.
 *
 * @param draining whether it leaves soon: nothing new should be sent to it
 * @param fenced whether it doubts that it is still a member
 * @param capacityBlocks blocks that fit, over its pools
 * @param freeBlocks blocks free now
 * @param storedPerSecond blocks stored in the last second
 * @param ageMillis time since it started
 */
public record OwnerState(
        boolean draining, boolean fenced, long capacityBlocks, long freeBlocks, long storedPerSecond, long ageMillis) {
    /** Nothing known. */
    public static final OwnerState UNKNOWN = new OwnerState(false, false, 0, 0, 0, 0);
}
