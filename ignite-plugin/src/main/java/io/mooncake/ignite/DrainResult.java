// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite;

import java.time.Duration;

/**
 * What became of the blocks of a node that is to leave.
 *
 * @param moved blocks that only this node had and others have now
 * @param left blocks that only this node still has; they go with it
 * @param bytes payload bytes of the moved ones
 * @param took time it took
 */
public record DrainResult(long moved, long left, long bytes, Duration took) {}
