// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite;

import java.time.Duration;

/**
 * How blocks are put.
 *
 * @param replicas copies wanted, this node's included: 1 to the number of nodes that hold the pool
 * @param timeout most time for all of it, at least 1 ms
 */
public record PutOptions(int replicas, Duration timeout) {
    /** One copy, here, within two seconds. */
    public static final PutOptions LOCAL = new PutOptions(1, Duration.ofSeconds(2));
}
